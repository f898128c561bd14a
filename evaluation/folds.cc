// SPDX-License-Identifier: Apache-2.0
#include "evaluation/folds.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace heft {

absl::Status ForEachFold(const Dataset& dataset, int folds, uint64_t seed,
                         const std::function<absl::Status(int, const Dataset&)>& task) {
  HEFT_ASSIGN_OR_RETURN(std::vector<std::vector<Split>> splits,
                        IdentityFolds(dataset.labels, folds, seed));
  Dataset data = dataset;
  data.split_was_derived = false;
  for (int fold = 0; fold < folds; ++fold) {
    data.split = std::move(splits[fold]);
    HEFT_RETURN_IF_ERROR(task(fold, data));
  }
  return absl::OkStatus();
}

int FoldComparison::Find(std::string_view id) const {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].system.id == id) return static_cast<int>(i);
  }
  return -1;
}

void FoldTable::Add(const ScoredSystem& system, LabelledScores scores) {
  auto entry = std::find_if(entries_.begin(), entries_.end(),
                            [&](const Entry& e) { return e.system.id == system.id; });
  if (entry == entries_.end()) entry = entries_.insert(entry, Entry{system, {}});
  entry->folds.push_back(std::move(scores));
}

absl::StatusOr<FoldComparison> FoldTable::Compare(
    const BootstrapOptions& options,
    const std::function<bool(std::size_t, std::size_t)>& progress) const {
  FoldComparison result;
  SystemComparison comparison(options);
  for (const Entry& entry : entries_) {
    if (progress && !progress(result.rows.size(), entries_.size())) {
      return absl::CancelledError("interrupted");
    }
    if (entry.folds.size() != entries_[0].folds.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", entry.system.label, "\" was scored in ", entry.folds.size(),
                       " folds, \"", entries_[0].system.label, "\" in ", entries_[0].folds.size()));
    }
    HEFT_ASSIGN_OR_RETURN(VerificationEstimate estimate, comparison.Add(entry.folds));
    result.rows.push_back({entry.system, std::move(estimate)});
  }
  result.differences.resize(entries_.size());
  result.fnmr_differences.resize(entries_.size());
  for (std::size_t a = 0; a < entries_.size(); ++a) {
    for (std::size_t b = 0; b < entries_.size(); ++b) {
      result.differences[a].push_back(comparison.Difference(a, b));
      result.fnmr_differences[a].push_back(comparison.FnmrDifference(a, b));
    }
  }
  if (progress) progress(entries_.size(), entries_.size());
  return result;
}

}  // namespace heft
