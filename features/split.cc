// SPDX-License-Identifier: Apache-2.0
#include "features/split.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "features/random.h"

namespace heft {
namespace {

// Identities 0 .. count-1 in a seeded order; the result is each identity's place in it.
std::vector<int> ShuffledPlaces(int count, uint64_t seed) {
  std::vector<int> order(count), places(count);
  for (int i = 0; i < count; ++i) order[i] = i;
  Random random(seed);
  random.Shuffle(order);
  for (int i = 0; i < count; ++i) places[order[i]] = i;
  return places;
}

int IdentityCount(std::span<const int> identities) {
  return identities.empty() ? 0 : 1 + *std::max_element(identities.begin(), identities.end());
}

}  // namespace

std::string SplitName(Split split) {
  switch (split) {
    case Split::kTrain:
      return "train";
    case Split::kValidation:
      return "val";
    case Split::kTest:
      return "test";
  }
  return "";
}

absl::StatusOr<Split> ParseSplit(std::string_view name) {
  for (Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
    if (name == SplitName(split)) return split;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown split '", std::string(name), "': use train, val or test"));
}

std::vector<int> IdentityNumbers(std::span<const std::string> labels) {
  std::unordered_map<std::string, int> numbers;
  std::vector<int> result;
  result.reserve(labels.size());
  for (const std::string& label : labels) {
    result.push_back(numbers.emplace(label, static_cast<int>(numbers.size())).first->second);
  }
  return result;
}

std::vector<int> RowsOf(std::span<const Split> splits, Split split) {
  std::vector<int> rows;
  for (std::size_t i = 0; i < splits.size(); ++i) {
    if (splits[i] == split) rows.push_back(static_cast<int>(i));
  }
  return rows;
}

absl::Status CheckIdentitySplit(std::span<const std::string> labels,
                                std::span<const Split> splits) {
  if (labels.size() != splits.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(labels.size(), " labels but ", splits.size(), " lines of split"));
  }
  std::unordered_map<std::string, Split> seen;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const Split first = seen.emplace(labels[i], splits[i]).first->second;
    if (first == splits[i]) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("identity '", labels[i], "' is both in ", SplitName(first), " and in ",
                     SplitName(splits[i]), " (row ", i, " from 0): split by identity"));
  }
  return absl::OkStatus();
}

std::vector<Split> DeriveIdentitySplit(std::span<const std::string> labels, uint64_t seed) {
  const std::vector<int> identities = IdentityNumbers(labels);
  const int count = IdentityCount(identities);
  const std::vector<int> places = ShuffledPlaces(count, seed);
  const int held_out = count >= 3 ? std::max(1, static_cast<int>(std::lround(0.2 * count))) : 0;
  std::vector<Split> splits;
  for (int identity : identities) {
    const int place = places[identity];
    splits.push_back(place < held_out       ? Split::kTest
                     : place < 2 * held_out ? Split::kValidation
                                            : Split::kTrain);
  }
  return splits;
}

absl::StatusOr<std::vector<std::vector<Split>>> IdentityFolds(std::span<const std::string> labels,
                                                              int folds, uint64_t seed) {
  const std::vector<int> identities = IdentityNumbers(labels);
  const int count = IdentityCount(identities);
  if (folds < 3 || folds > count) {
    return absl::InvalidArgumentError(
        absl::StrCat(folds, " folds of ", count, " identities: choose 3 to ", count));
  }
  const std::vector<int> places = ShuffledPlaces(count, seed);
  std::vector<std::vector<Split>> result(folds);
  for (int fold = 0; fold < folds; ++fold) {
    for (int identity : identities) {
      const int part = places[identity] % folds;
      result[fold].push_back(part == fold                 ? Split::kTest
                             : part == (fold + 1) % folds ? Split::kValidation
                                                          : Split::kTrain);
    }
  }
  return result;
}

}  // namespace heft
