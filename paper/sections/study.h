// SPDX-License-Identifier: Apache-2.0
// Study: what all sections share: the data, and how much of it is used.
#ifndef HEFT_PAPER_SECTIONS_STUDY_H_
#define HEFT_PAPER_SECTIONS_STUDY_H_

#include <string>

#include "base/progress.h"
#include "base/status.h"
#include "features/dataset.h"
#include "heft/model.h"
#include "learning/train.h"

namespace heft::paper {

// Effort: how much is done, so that the whole takes less than 30 minutes on 2 cores, or 2 with
// --quick.
struct Effort {
  int folds = 5;          // of table 2
  int other_folds = 3;    // of the other sections on recognition
  int test_rows = 160;    // of each fold's test split, for every system alike
  int train_rows = 1200;  // of each fold's training split, for the paper's recipe
  int val_rows = 300;     // of each fold's validation split
  int epochs = 100;       // of the paper's recipe
  int replicates = 500;   // of the bootstrap
  int repetitions = 10;   // of a timed operation
  int appendix_identities = 300;
  bool slow_methods = true;  // encrypted deep normalisations, N = 32768
};
Effort FullEffort();
Effort QuickEffort();

struct Study {
  const Monitor& monitor;
  Dataset data = {};
  std::string data_name = {}, data_description = {};
  bool synthetic = false;  // no data folder was given
  bool quick = false;
  uint64_t seed = 1;
  std::string exact_projection = {}, aware_projection = {};  // published matrices, empty or a file
  Effort effort = {};
};

// ThinSplit: `rows` at most of one split, four of each identity in turn as far as they have them;
// the other splits whole.
Dataset ThinSplit(const Dataset& dataset, Split split, int rows, uint64_t seed);

// ForTraining: what training takes of a fold: fewer validation samples and, for the paper's recipe,
// which compares all triplets, fewer training samples.
Dataset ForTraining(const Study& study, const Dataset& dataset, Recipe recipe);

// PaperTraining: the paper's recipe (Recipe::kPaper) with this effort; degree 2 by least squares.
TrainOptions PaperTraining(const Study& study);
// OurTraining: our recipe.
TrainOptions OurTraining(const Study& study);

// ModelOf: a model of a trained projection for the engine's methods.
Model ModelOf(const Dataset& dataset, const FeatureMatrix& projection,
              const Approximation& approximation, const std::string& profile);

// DataInterval: what the data need: discriminant projections of the training samples, from the 0.1%
// quantile of |z|^2 to the 99.9% quantile with a margin of 15%, the geometric middle at 1.
absl::StatusOr<Interval> DataInterval(const Study& study);

}  // namespace heft::paper

#endif  // HEFT_PAPER_SECTIONS_STUDY_H_
