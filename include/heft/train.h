// SPDX-License-Identifier: Apache-2.0
// Training a model from feature vectors of people who agreed to it: no cryptography and no keys.
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

// LearnEpoch: AUROCs after an epoch; epoch 0 is the start.
struct LearnEpoch {
  int epoch = 0;
  double train_auroc = 0, val_auroc = 0;
};

// LearnOptions: docs/learning.md explains them, docs/recipe.md lists the defaults.
struct LearnOptions {
  // Fused dimension, a power of two, 2 to kMaxGamma; 0: chosen from 16 to 256 on people left out
  // (docs/learning.md; the paper's recipe: 32). Templates, keys and the time of a match grow with
  // it.
  int gamma = 0;
  // "learned"; "pca": principal components, for vectors without labels; "none": the concatenation,
  // padded with zeros to a power of two, without training vectors. Empty: learned, or one of the
  // others if it is better on people left out.
  std::string method = {};
  std::string recipe = "generalising";  // or "paper", the HEFT paper's
  int degree = 0;  // of the polynomial of the normalisation, 2 or 3; 0: the recipe's, 3 (paper 2)
  std::string fit =
      {};  // "minimax", "least_squares"; empty: the recipe's own, minimax (paper the other)
  std::string profile = "standard";  // or "flooded"
  double lambda = 0.25;              // weight of the pairs' term, in [0, 1]
  double margin = 0.5;               // of the triplets' hinge, in [0, 2]
  bool grid_search = false;  // tries the published grid of lambda and margin; without a checkpoint
  int epochs = 0;            // 0: the recipe's, at most 60 (paper 1000)
  int patience = 0;          // epochs without a better validation AUROC; 0: the recipe's
  double learning_rate = 0;  // at most 10; 0: the recipe's
  double weight_decay = 1e-4;  // of the optimiser, in [0, 1]
  double shrinkage = -1;       // of the within-class covariance, in [0, 1]; below 0: chosen
  double drop_modality = 0;    // probability of training without one, in [0, 0.9]
  // Of the start, one for each modality, 1e-3 to 1e3; empty: chosen on people left out, equal for
  // "none".
  std::vector<double> modality_weights = {};
  uint64_t seed = 1;
  // Also learns Model::exact_projection, for comparison in reports.
  bool with_exact = false;
  // Fits thresholds that keep their rates also for wolves: probes chosen to be accepted by as many
  // people as possible (docs/evaluation.md). They reject more genuine claims.
  bool against_wolves = false;
  // File to which the state is saved after every epoch, and from which training continues if it
  // exists. The exact projection's file is CHECKPOINT.exact. Empty: none.
  std::string checkpoint = {};
  // If not null, receives every epoch, at the cost of measuring the training people.
  std::vector<LearnEpoch>* curve = nullptr;
};

// Learn: trains on the people of the splits "train" and "val"; where an epoch helps the latter, all
// choose their number. Thresholds, calibration and searches are cross-fitted: people are divided
// into parts, and models of the other parts score the parts left out. With at most 4,000 samples
// and no epochs, each model leaves out two of ten parts, so all people are compared. Otherwise it
// leaves out one of five. The test split is not used. The result depends on data, options and seed,
// not on the number of threads. Model::training_summary describes the training and its flaws:
// "threshold_warning", and "fusion"."warning" if fusion is no better than one modality.
// kInvalidArgument for options out of range, fewer than two identities in either split or none with
// a second sample; kFailedPrecondition for a checkpoint of other options; kCancelled.
HEFT_EXPORT absl::StatusOr<Model> Learn(const TrainingData& data, const LearnOptions& options = {},
                                        const Monitor& monitor = {});

// DescribeTraining: a summary of a model's training_summary; its "fusion" compares fusion with one
// modality. Warnings: too few people for thresholds, a fusion that is worse. kFailedPrecondition
// for a model that Learn did not train.
HEFT_EXPORT absl::StatusOr<Described> DescribeTraining(const Model& model);

// LearnFolds: divides the people into `folds` parts, 3 or more, and trains one model for each part
// from the other parts, for cross-validation (heft/evaluate.h). Ignores the data's own split;
// `fold_seed` draws the parts. Learn's errors; without checkpoint and curve.
HEFT_EXPORT absl::StatusOr<std::vector<Model>> LearnFolds(const TrainingData& data,
                                                          const LearnOptions& options, int folds,
                                                          uint64_t fold_seed,
                                                          const Monitor& monitor = {});

}  // namespace heft

#endif  // HEFT_TRAIN_H_
