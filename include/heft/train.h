// SPDX-License-Identifier: Apache-2.0
// Training a model from feature vectors of people who agreed to it: no cryptography and no keys.
// Link heft::heft.
#ifndef HEFT_TRAIN_H_
#define HEFT_TRAIN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/base.h"
#include "heft/dataset.h"
#include "heft/decisions.h"
#include "heft/files.h"
#include "heft/model.h"

namespace heft {

// Fits: polynomials near 1/sqrt(s), for a model whose projection comes from another program. Its
// squared norms |P x|^2 must lie in the interval, so scale P until their median is near 1. Training
// does all this itself. Safe from any thread. Link heft::server.
//
//   auto approximation = heft::FitMinimax(3, {.lo = 0.4, .hi = 2.2});
//   if (approximation.ok()) model.approximation = *approximation;

// kMaxFitDegree: the largest degree of a fit. Models use degree 2 or 3.
inline constexpr int kMaxFitDegree = 31;

// kPaperInterval: the interval of the HEFT paper (appendix, practical considerations).
inline constexpr Interval kPaperInterval{0.05, 3.0};

// FitKind: the minimised error: the largest relative error, or the mean square of the absolute
// error.
enum class FitKind { kMinimax, kLeastSquares };

// FitKindName, ParseFitKind: "minimax" and "least_squares". kInvalidArgument for other words.
HEFT_EXPORT std::string FitKindName(FitKind kind);
HEFT_EXPORT absl::StatusOr<FitKind> ParseFitKind(std::string_view name);

// FitMinimax: the polynomial of `degree` (1 to 31) that minimises max |f(s) sqrt(s) - 1| over the
// interval. Remez's multiple exchange in the Chebyshev basis, weight sqrt(s), extended precision.
// The error curve alternates degree + 2 times, which is necessary and sufficient because the
// functions sqrt(s) T_k form a Haar system (E. W. Cheney, Introduction to Approximation Theory, ch.
// 3). kInvalidArgument for a degree or interval out of range.
HEFT_EXPORT absl::StatusOr<Approximation> FitMinimax(int degree, const Interval& interval);

// FitLeastSquares: minimises the integral of (f(s) - 1/sqrt(s))^2 over the interval, with equal
// weight for all s as in the paper's fits. QR in the Chebyshev basis. Errors as above.
HEFT_EXPORT absl::StatusOr<Approximation> FitLeastSquares(int degree, const Interval& interval);

// Fit: calls the function of `kind`.
HEFT_EXPORT absl::StatusOr<Approximation> Fit(FitKind kind, int degree, const Interval& interval);

// LearnEpoch: AUROCs after an epoch; epoch 0 is the start.
struct LearnEpoch {
  int epoch = 0;           // number of the epoch, from 0
  double train_auroc = 0;  // AUROC of the people for training
  double val_auroc = 0;    // AUROC of the people for validation
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

// Calibrates a model: thresholds, searches and likelihood ratios from people who did not train its
// projection. For a model without decision tables (heft train --method none), or with users who
// differ from the people of its training. No cryptography and no keys. Link heft::heft.

// Calibrate: returns `model` with decision tables fitted to the scores of `data`, one for each set
// of modalities that a probe may have. They replace the model's tables. Model::Id() stays the same,
// so galleries and keys remain valid; Model::DecisionId() changes. The training summary gets a
// member "calibration" (docs/decisions.md).
//
// `data` must have all modalities of the model. Rows marked "train" or "val" by split.txt or
// FromRows' `split` are left out if the others have kFewestCalibrated people with two samples. The
// people of the rows that remain must not have trained the projection, because scores of training
// people are too good. `seed` draws the resampled people of the intervals. The result depends only
// on model, data and seed.
//
// kInvalidArgument: a modality is missing or has another dimension, or there are too few people.
// kFailedPrecondition: the training summary shows that some of the people trained the projection.
// kCancelled.
//
// `against_wolves`: as LearnOptions::against_wolves. Wolves, and the information that scores and
// decisions reveal about a template, are measured on these people in five parts: the attacker knows
// four.
HEFT_EXPORT absl::StatusOr<Model> Calibrate(const Model& model, const TrainingData& data,
                                            uint64_t seed = 1, const Monitor& monitor = {},
                                            bool against_wolves = false);

// DescribeCalibration: the people behind the decision tables of a calibrated model, and the
// thresholds for FMR 1e-2, 1e-3 and 1e-4. Warnings: too few comparisons, samples outside the
// interval of the normalisation. kFailedPrecondition for a model without calibration.
HEFT_EXPORT absl::StatusOr<Described> DescribeCalibration(const Model& model);

}  // namespace heft

#endif  // HEFT_TRAIN_H_
