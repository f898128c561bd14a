// SPDX-License-Identifier: Apache-2.0
#include "learning/cross_fit.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "learning/baselines.h"
#include "learning/learn.h"
#include "learning/parts.h"
#include "learning/recipe.h"

namespace heft {
namespace {

constexpr uint64_t kFoldsStream = 6, kStopStream = 7;  // of the seed

// The people for training and validation, with their unpaired samples.
Dataset DevelopmentPeople(const Dataset& dataset) {
  std::vector<int> rows;
  for (int row = 0; row < dataset.Rows(); ++row) {
    if (dataset.split[row] != Split::kTest) rows.push_back(row);
  }
  Dataset people = SelectRows(dataset, rows);
  people.unpaired = dataset.unpaired;
  return people;
}

// How many people have a second sample: without one nobody tells anything of genuine scores.
int PeopleWithTwo(std::span<const int> identities) {
  std::vector<int> samples(1 + *std::max_element(identities.begin(), identities.end()));
  for (int identity : identities) ++samples[identity];
  return static_cast<int>(std::ranges::count_if(samples, [](int n) { return n > 1; }));
}

// The split of a part: its people are tested, of the others one in recipe::kStoppingShare stops.
std::vector<Split> SplitOf(int part, std::span<const int> identities, std::span<const int> part_of,
                           uint64_t seed) {
  std::vector<int> others;  // samples of those not in the part, by a numbering of their own
  std::vector<int> number(part_of.size(), -1);
  int next = 0;
  for (int identity : identities) {
    if (part_of[identity] == part) continue;
    if (number[identity] < 0) number[identity] = next++;
    others.push_back(number[identity]);
  }
  Random random(seed, kStopStream + part);
  // Two at least: a comparison takes two.
  const std::vector<int> turn =
      DealPeople(others, std::min(recipe::kStoppingShare, next / 2), random);
  std::vector<Split> split;
  for (int identity : identities) {
    const bool stops = number[identity] >= 0 && turn[number[identity]] == 0;
    split.push_back(number[identity] < 0 ? Split::kTest
                    : stops              ? Split::kValidation
                                         : Split::kTrain);
  }
  return split;
}

// The validation people stand for a part of the result that is shipped.
CrossFit OfValidationPeople(Dataset people, const TrainResult& shipped) {
  CrossFit fit;
  fit.too_few = true;
  std::vector<Split> split = people.split;
  std::ranges::replace(split, Split::kValidation, Split::kTest);
  fit.splits.push_back(std::move(split));
  fit.results.push_back(shipped);
  fit.people = std::move(people);
  return fit;
}

}  // namespace

Dataset CrossFit::Part(size_t part) const {
  Dataset data = people;
  data.split = splits[part];
  return data;
}

absl::StatusOr<std::vector<LabelledScores>> CrossFit::Scores() const {
  std::vector<LabelledScores> sets;
  for (size_t part = 0; part < splits.size(); ++part) {
    HEFT_ASSIGN_OR_RETURN(LabelledScores scores,
                          LearnedScores(Part(part), Split::kTest, results[part].projection,
                                        {results[part].approximation, 1.0}));
    sets.push_back(std::move(scores));
  }
  return sets;
}

absl::StatusOr<CrossFit> FitAcross(const Monitor& monitor, const Dataset& dataset,
                                   const TrainOptions& options, const TrainResult& shipped,
                                   const std::string& name) {
  Dataset people = DevelopmentPeople(dataset);
  const std::vector<int> identities = IdentityNumbers(people.labels);
  const int parts = std::min(recipe::kParts, PeopleWithTwo(identities) / recipe::kFewestInPart);
  if (parts < 2) return OfValidationPeople(std::move(people), shipped);
  Random random(options.seed, kFoldsStream);
  const std::vector<int> part_of = DealPeople(identities, parts, random);
  CrossFit fit;
  fit.people = std::move(people);
  for (int part = 0; part < parts; ++part) {
    fit.splits.push_back(SplitOf(part, identities, part_of, options.seed));
    HEFT_ASSIGN_OR_RETURN(
        TrainResult result,
        TrainWithProgress(monitor, fit.Part(part), options,
                          absl::StrFormat("%spart %d of %d", name, part + 1, parts)));
    fit.results.push_back(std::move(result));
  }
  return fit;
}

}  // namespace heft
