// SPDX-License-Identifier: Apache-2.0
// Cross-validation by identity: every system in every fold, plain and computed by the encrypted
// engine, with intervals and paired differences.
#ifndef HEFT_EXPERIMENT_CROSS_VALIDATION_H_
#define HEFT_EXPERIMENT_CROSS_VALIDATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "evaluation/folds.h"
#include "experiment/fusion_check.h"
#include "experiment/judgement.h"
#include "features/dataset.h"
#include "heft/evaluate.h"
#include "heft/files.h"
#include "heft/model.h"
#include "learning/train.h"

namespace heft::experiment {

// FoldModels: a model for each fold, and which rows of the table it gives.
struct FoldModels {
  enum class Rows {
    kAll,     // LearnedSystems, and the encrypted ones
    kChoice,  // one: encrypted where the engine can evaluate the model, plain otherwise
    kPlain,   // one: plain
    kExact,   // one: plain, divided by the exact norm (deferred normalisation)
  };
  std::string id;     // put before the rows' ids, with a slash; empty: nothing
  std::string label;  // the same for people, with a colon; the whole label for one row
  Rows rows = Rows::kAll;
  std::vector<Model> models;
};

// What a row that was computed by the engine cost, medians over the folds.
struct FoldCost {
  std::string id;  // of the row
  double fuse_ms = 0, match_block_ms = 0;
  double template_bytes = 0, sample_bytes = 0, evaluation_keys_bytes = 0;
};

// Encrypted against plain scores of one model in all folds: same projection, same approximation.
struct FoldGap {
  std::string id;            // of the encrypted row
  double auroc = 0;          // mean over the folds, signed
  double max_score = 0;      // largest absolute difference of a score
  double outside_share = 0;  // of the test samples, outside the approximation's interval
};

// Share of a row's probes whose squared norm is outside the approximation's interval.
struct FoldOutside {
  std::string id;  // of the row
  double share = 0;
};

// FoldJudgement: what the models of a row decide on the test people of all folds, each model on
// those of its own.
struct FoldJudgement {
  std::string id;  // of the row
  Judgement judgement;
};

struct CrossValidation {
  FoldOptions options;
  std::string reference;  // what all others are compared with: a row's id; empty: the last row
  int samples = 0, identities = 0;
  int64_t genuine_pairs = 0, impostor_pairs = 0;  // of all test splits together
  FoldComparison table;
  std::vector<FoldCost> costs;
  std::vector<FoldGap> gaps;
  std::vector<FoldOutside> partial_outside;  // of probes that lack modalities
  std::vector<FoldJudgement> judgements;
  ScoreTable scores;               // if asked for
  FusionCheck fusion;              // of the row that others are compared with
  std::vector<std::string> notes;  // what a reader must know of some rows

  // Index of the row that others are compared with.
  int Reference() const;
};

// Scores the baselines and every set of models in every fold of `dataset` and compares them. Shows
// progress; kCancelled when interrupted, kInvalidArgument where models and folds differ in number
// or a model does not fit the data.
absl::StatusOr<CrossValidation> CrossValidate(const Monitor& monitor, const Dataset& dataset,
                                              const std::vector<FoldModels>& models,
                                              const FoldOptions& options,
                                              const std::string& reference = "");

// The choices that a model's owner has to make, each trained and measured in the same folds: fused
// dimension and approximation, and the modalities' weights.

// Fused dimensions 16, 32 and 64 (those that the data allow) with normalisation by degree 2, degree
// 3, minimax of degree 7, and exactly after decryption (deferred); then, at 32 dimensions and
// degree 3, weights of the last modality from 0.5 to 2 in the trained projection's start and in
// plain concatenation. Rows are encrypted where the engine can evaluate the model. CrossValidate's
// errors.
absl::StatusOr<CrossValidation> CompareChoices(const Monitor& monitor, const Dataset& dataset,
                                               const FoldOptions& options);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_CROSS_VALIDATION_H_
