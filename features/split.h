// SPDX-License-Identifier: Apache-2.0
// Splits of samples into training, validation and test, always by identity. An identity that was
// trained on says nothing about people that the system has never seen.
#ifndef HEFT_FEATURES_SPLIT_H_
#define HEFT_FEATURES_SPLIT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace heft {

enum class Split { kTrain, kValidation, kTest };

// "train", "val", "test".
std::string SplitName(Split split);
absl::StatusOr<Split> ParseSplit(std::string_view name);

// Numbers identities 0, 1, ... in order of first appearance.
std::vector<int> IdentityNumbers(std::span<const std::string> labels);

// Rows of `split`, in order.
std::vector<int> RowsOf(std::span<const Split> splits, Split split);

// kInvalidArgument if the sizes differ or an identity is in two splits.
absl::Status CheckIdentitySplit(std::span<const std::string> labels, std::span<const Split> splits);

// A seeded split of the identities, 60% training, 20% validation, 20% test, one entry a row. With
// three identities or more no split is empty.
std::vector<Split> DeriveIdentitySplit(std::span<const std::string> labels, uint64_t seed);

// IdentityFolds: `folds` splits for cross-validation. Identities are shuffled and dealt into
// `folds` parts; in fold k, part k is test, part k+1 (mod folds) validation, the rest training, so
// every identity is tested exactly once. kInvalidArgument unless 3 <= folds <= identities.
absl::StatusOr<std::vector<std::vector<Split>>> IdentityFolds(std::span<const std::string> labels,
                                                              int folds, uint64_t seed);

}  // namespace heft

#endif  // HEFT_FEATURES_SPLIT_H_
