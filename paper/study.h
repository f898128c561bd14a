// SPDX-License-Identifier: Apache-2.0
// What all sections of `heft reproduce` share: the data, and how much of it is used.
#ifndef HEFT_PAPER_STUDY_H_
#define HEFT_PAPER_STUDY_H_

#include <chrono>
#include <ctime>
#include <string>
#include <vector>

#include "base/human.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/status.h"
#include "features/dataset.h"
#include "heft/model.h"
#include "learning/train.h"
#include "paper/content.h"

namespace heft::paper {

// How much is done, so that the whole takes less than 30 minutes on 2 cores, or 2 with --quick.
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

// `rows` at most of one split, four of each identity in turn as far as they have them; the other
// splits whole.
Dataset ThinSplit(const Dataset& dataset, Split split, int rows, uint64_t seed);

// What training takes of a fold: fewer validation samples and, for the paper's recipe, which
// compares all triplets, fewer training samples.
Dataset ForTraining(const Study& study, const Dataset& dataset, Recipe recipe);

// The paper's recipe (Recipe::kPaper) with this effort; degree 2 by least squares.
TrainOptions PaperTraining(const Study& study);
// Ours.
TrainOptions OurTraining(const Study& study);

// A model of a trained projection for the engine's methods.
Model ModelOf(const Dataset& dataset, const FeatureMatrix& projection,
              const Approximation& approximation, const std::string& profile);

// The interval that the data need: discriminant projections of the training samples, from the 0.1%
// quantile of |z|^2 to the 99.9% quantile with a margin of 15%, the geometric middle at 1.
absl::StatusOr<Interval> DataInterval(const Study& study);

// Of the wall, for whole sections.
class Stopwatch {
 public:
  double Seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

// CPU time of this process, all threads together, for single operations: what else the machine does
// moves it little.
class CpuStopwatch {
 public:
  double Milliseconds() const { return Now() - start_; }

 private:
  static double Now() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
  }
  double start_ = Now();
};

// The middle of `values`; 0 of none.
double Median(std::vector<double> values);

}  // namespace heft::paper

#endif  // HEFT_PAPER_STUDY_H_
