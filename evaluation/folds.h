// SPDX-License-Identifier: Apache-2.0
// Cross-validation by identity: the loop over the folds, and the table of all systems' results in
// them.
#ifndef HEFT_EVALUATION_FOLDS_H_
#define HEFT_EVALUATION_FOLDS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "features/dataset.h"

namespace heft {

// ForEachFold: calls task(fold, data) for fold = 0 .. folds - 1, where `data` is `dataset` with the
// split of IdentityFolds(folds, seed); its own split is not looked at. Ends with the first error.
absl::Status ForEachFold(const Dataset& dataset, int folds, uint64_t seed,
                         const std::function<absl::Status(int, const Dataset&)>& task);

// ScoredSystem: one row of a table of systems.
struct ScoredSystem {
  std::string id;          // a key for programs: "face", "fhe_aware_encrypted"
  std::string label;       // for people
  int dimension = 0;       // of a template
  bool encrypted = false;  // scores computed by the encrypted engine
};

// FoldRow: means over the folds with intervals, and AUROC's standard deviation over them.
struct FoldRow {
  ScoredSystem system;
  VerificationEstimate estimate;
};

struct FoldComparison {
  std::vector<FoldRow> rows;
  // differences[a][b]: AUROC of row a minus that of row b on the same replicates, mean over folds.
  std::vector<std::vector<Estimate>> differences;
  std::vector<std::vector<Estimate>> fnmr_differences;  // the same of FNMR at FMR 1e-3

  // Index of the row with this id, -1 if there is none.
  int Find(std::string_view id) const;
};

// FoldTable: collects the scores of systems, fold by fold.
class FoldTable {
 public:
  // Scores of one more fold. A system is known by its id; all must be given in the same order of
  // folds.
  void Add(const ScoredSystem& system, LabelledScores scores);

  // Rows in the order of their first Add. `progress` (done, rows; may be empty) returns false to
  // stop, which gives kCancelled. kInvalidArgument where systems have not seen the same folds, and
  // for SystemComparison::Add's reasons.
  absl::StatusOr<FoldComparison> Compare(
      const BootstrapOptions& options = {},
      const std::function<bool(std::size_t, std::size_t)>& progress = {}) const;

 private:
  struct Entry {
    ScoredSystem system;
    std::vector<LabelledScores> folds;
  };
  std::vector<Entry> entries_;
};

}  // namespace heft

#endif  // HEFT_EVALUATION_FOLDS_H_
