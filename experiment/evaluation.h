// SPDX-License-Identifier: Apache-2.0
// What `heft evaluate` measures: every system on one split of a data set, with intervals, and what
// encryption changes.
#ifndef HEFT_EXPERIMENT_EVALUATION_H_
#define HEFT_EXPERIMENT_EVALUATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "evaluation/folds.h"
#include "evaluation/metrics.h"
#include "experiment/encrypted_scores.h"
#include "experiment/fusion_check.h"
#include "experiment/judgement.h"
#include "features/dataset.h"
#include "heft/evaluate.h"
#include "heft/model.h"

namespace heft::experiment {

// What the product promises of profile "standard": encrypted against plain scores with
// the same approximation.
inline constexpr std::string_view kPromisedProfiles[] = {"standard"};
inline constexpr double kPromisedAurocGap = 5e-4;
inline constexpr double kPromisedScoreGap = 2e-3;

struct EvaluationOptions {
  Split split = Split::kTest;  // measured on this split
  bool everybody = false;      // the people of all splits, as if all were in `split`
  uint64_t seed = 1;           // of the bootstrap
  int replicates = 1000;       // of the bootstrap
  bool scores = false;         // Evaluation::table
};

// SystemResult: one row of the table.
struct SystemResult : FoldRow {
  // AUROC of the encrypted system minus this one's, on the same replicates; none for itself.
  std::optional<Estimate> encrypted_minus_this;
  // The same of FNMR at FMR 1e-3: above 0 where the encrypted system is worse.
  std::optional<Estimate> encrypted_fnmr_minus_this;
  std::vector<RocPoint> roc;  // thinned for drawing
};

// UnavailableSystem: a row of the table without figures.
struct UnavailableSystem {
  ScoredSystem system;
  std::string reason;
};

// ScoreGap: encrypted minus plain, same projection and approximation.
struct ScoreGap {
  double auroc = 0;      // signed
  double max_score = 0;  // largest absolute difference over all n x n scores
  double rms_score = 0;
};

struct Evaluation {
  EvaluationOptions options;
  std::string data_folder;       // empty: none
  std::string data_name;         // last part of the folder's path
  std::string data_description;  // one sentence, may be empty
  int samples = 0;
  int identities = 0;
  int64_t genuine_pairs = 0;
  int64_t impostor_pairs = 0;
  bool split_was_derived = false;

  Model model;
  std::vector<SystemResult> systems;
  std::vector<UnavailableSystem> unavailable;
  ScoreGap gap;
  Judgement judgement;  // of the encrypted scores
  FusionCheck fusion;
  // EffectiveDimension of this split's templates (features/effective_dimension.h); none where they
  // are too few.
  std::optional<double> effective_dimension;
  std::vector<double> squared_norms;  // s of each sample under the model's projection
  // The same of samples that have one modality only, by modality; empty if there is but one.
  std::vector<std::vector<double>> partial_norms;
  int outside = 0;            // of them outside the approximation's interval
  ScoreSet plain, encrypted;  // of the FHE-aware projection, pair by pair
  ScoreTable table;           // the same with names, if asked for
  EncryptedRun run;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  // what a reader must know of some rows
  double seconds = 0;

  // SplitLabel: "test", "all", ...
  std::string SplitLabel() const;
  // Whether the gap keeps the promise; empty for a profile without one.
  std::optional<bool> KeepsPromise() const;

  // By id; never null for "fhe_aware_plain" and "fhe_aware_encrypted".
  const SystemResult* Find(std::string_view id) const;
};

// The last part of a folder's path, its name.
std::string FolderName(const std::string& directory);

// One sentence on a data folder: known data sets by name, otherwise the first line of its README.md
// without markup; empty if there is none.
std::string DescribeData(const std::string& directory);

// Scores and measures. kInvalidArgument where the data lack a modality of the model or have
// another dimension, or the split has no pairs; kCancelled when interrupted.
absl::StatusOr<Evaluation> Evaluate(const Monitor& monitor, Dataset dataset, const Model& model,
                                    const EvaluationOptions& options);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_EVALUATION_H_
