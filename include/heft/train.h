// SPDX-License-Identifier: Apache-2.0
// Learning a model from feature vectors of people who agreed to it: no cryptography and no keys.
// Link heft::heft.
#ifndef HEFT_TRAIN_H_
#define HEFT_TRAIN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/dataset.h"
#include "heft/described.h"
#include "heft/export.h"
#include "heft/model.h"
#include "heft/progress.h"

namespace heft {

// LearnEpoch: how a training stood after an epoch; 0 is its start.
struct LearnEpoch {
  int epoch = 0;
  double train_auroc = 0, val_auroc = 0;
};

// LearnOptions: docs/design.md says what they do.
struct LearnOptions {
  // Fused dimension, a power of two, 2 to kMaxGamma; 0: chosen on people left out, of 16 to 256
  // (docs/learning.md; the paper's recipe: 32). Templates, keys and a match grow with it.
  int gamma = 0;
  // "learned"; "pca": principal components, for vectors without labels; "none": the concatenation,
  // padded with zeros to a power of two, for no vectors to learn from. Empty: learned, or one of
  // the others where that is better on people left out.
  std::string method;
  std::string recipe = "generalising";  // or "paper", the HEFT paper's
  int degree = 0;  // of the polynomial that normalises, 2 or 3; 0: the recipe's own, 3 (paper 2)
  std::string
      fit;  // "minimax", "least_squares"; empty: the recipe's own, minimax (paper the other)
  std::string profile = "thin";  // or "flooded", "compact", "compact-pq"
  double lambda = 0.25;          // weight of the pairs' term, in [0, 1]
  double margin = 0.5;           // of the triplets' hinge, in [0, 2]
  bool grid_search = false;      // tries the published grid of the two; without a checkpoint
  int epochs = 0;                // 0: the recipe's own, at most 60 (paper 1000)
  int patience = 0;              // epochs without a better validation AUROC; 0: the recipe's own
  double learning_rate = 0;      // at most 10; 0: the recipe's own
  double weight_decay = 1e-4;    // of the optimiser, in [0, 1]
  double shrinkage = -1;         // of the within-class covariance, in [0, 1]; below 0: chosen
  double drop_modality = 0;      // probability of training without one, in [0, 0.9]
  // Of the start, one a modality, 1e-3 to 1e3; empty: chosen on people left out, equal with "none".
  std::vector<double> modality_weights;
  uint64_t seed = 1;
  // Also learns Model::exact_projection, for comparison in reports.
  bool with_exact = false;
  // Thresholds keep their rates not only for strangers but for wolves: probes chosen to be accepted
  // by as many people as possible (docs/evaluation.md). They reject more genuine claims.
  bool against_wolves = false;
  // File to save the state to after every epoch, and to go on from where it is there; that of the
  // exact projection is called CHECKPOINT.exact. Empty: none.
  std::string checkpoint;
  // Where not null, receives every epoch, at the cost of measuring the training people.
  std::vector<LearnEpoch>* curve = nullptr;
};

// Learn trains on the people for training and validation; validation people choose the number of
// epochs. Thresholds, calibration and searches are cross-fitted: these people are dealt into parts,
// and models of the other parts score those left out. With at most 4,000 samples and no epochs a
// model leaves out two of ten parts, so all people are compared. Otherwise it leaves out one of
// five. The test split takes part in nothing. The result depends on data, options and seed,
// not on the number of threads. Model::training_summary tells how it went, and what is wrong with
// it: "threshold_warning", and "fusion"."warning" where fusion is no better than one modality.
// kInvalidArgument for options out of range, fewer than two identities in either split or none with
// a second sample; kFailedPrecondition for a checkpoint of other options; kCancelled.
HEFT_EXPORT absl::StatusOr<Model> Learn(const TrainingData& data, const LearnOptions& options = {},
                                        const Monitor& monitor = {});

// DescribeTraining: how it went, of a model's training_summary; its "fusion" is what fusing is
// worth beside one modality. Warnings: too few people for thresholds, a fusion that loses.
// kFailedPrecondition for a model that Learn has not made.
HEFT_EXPORT absl::StatusOr<Described> DescribeTraining(const Model& model);

// LearnFolds: a model for each of `folds` parts of the people, 3 or more, learned from the others,
// for cross-validation (heft/evaluate.h). The data's own split is not looked at; `fold_seed` deals.
// Learn's errors; without checkpoint and curve.
HEFT_EXPORT absl::StatusOr<std::vector<Model>> LearnFolds(const TrainingData& data,
                                                          const LearnOptions& options, int folds,
                                                          uint64_t fold_seed,
                                                          const Monitor& monitor = {});

}  // namespace heft

#endif  // HEFT_TRAIN_H_
