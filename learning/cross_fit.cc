// SPDX-License-Identifier: Apache-2.0
#include "learning/cross_fit.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/progress.h"
#include "learning/baselines.h"
#include "learning/learn.h"
#include "learning/pairing.h"
#include "learning/parts.h"
#include "learning/recipe.h"

namespace heft {
namespace {

constexpr uint64_t kFoldsStream = 6, kStopStream = 7, kDropStream = 40;  // of the seed

// The split of a fold of the paper's recipe: a part is left out, and of the others one person in
// recipe::kStoppingShare stops.
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

// The split where all but two parts train; these may be the same.
std::vector<Split> AllOthers(int a, int b, std::span<const int> identities,
                             std::span<const int> part_of) {
  std::vector<Split> split;
  for (int identity : identities) {
    const bool left_out = part_of[identity] == a || part_of[identity] == b;
    split.push_back(left_out ? Split::kTest : Split::kTrain);
  }
  return split;
}

// The parts that each fold leaves out.
std::vector<std::pair<int, int>> Folds(int parts, bool across) {
  std::vector<std::pair<int, int>> folds;
  for (int a = 0; a < parts; ++a) {
    if (!across) folds.push_back({a, a});
    for (int b = a + 1; b < parts && across; ++b) folds.push_back({a, b});
  }
  return folds;
}

}  // namespace

int PeopleWithTwo(std::span<const int> identities) {
  if (identities.empty()) return 0;
  std::vector<int> samples(1 + *std::max_element(identities.begin(), identities.end()));
  for (int identity : identities) ++samples[identity];
  return static_cast<int>(std::ranges::count_if(samples, [](int n) { return n > 1; }));
}

Dataset CrossFit::Fold(size_t fold) const {
  Dataset data = people;
  data.split = splits[fold];
  return data;
}

absl::StatusOr<std::vector<LabelledScores>> CrossFit::Collect(const ScoreFold& score) const {
  std::vector<LabelledScores> sets;
  const int all = people.Rows();
  LabelledScores joined{FeatureMatrix(across ? all : 0, across ? all : 0), {}};
  // From the last fold on, so that the first one's scores stay.
  for (size_t k = splits.size(); k-- > 0;) {
    const size_t fold = across ? k : splits.size() - 1 - k;
    HEFT_ASSIGN_OR_RETURN(LabelledScores scores, score(fold));
    if (across) {
      const std::vector<int> rows = RowsOf(splits[fold], Split::kTest);
      joined.scores(rows, rows) = scores.scores;
    } else {
      sets.push_back(std::move(scores));
    }
  }
  if (!across) return sets;
  joined.identities = IdentityNumbers(people.labels);
  sets.push_back(std::move(joined));
  return sets;
}

absl::StatusOr<std::vector<LabelledScores>> CrossFit::Scores() const {
  return Collect([this](size_t fold) {
    return LearnedScores(Fold(fold), Split::kTest, results[fold].projection,
                         {results[fold].approximation, 1.0});
  });
}

Dataset DevelopmentPeople(const Dataset& dataset) {
  std::vector<int> rows;
  std::set<std::string> tested;
  for (int row = 0; row < dataset.Rows(); ++row) {
    if (dataset.split[row] == Split::kTest) {
      tested.insert(dataset.labels[row]);
    } else {
      rows.push_back(row);
    }
  }
  Dataset people = SelectRows(dataset, rows);
  // Unpaired samples of people without a paired row are further classes. Those of test people would
  // become such when their paired rows are gone.
  for (const UnpairedModality& unpaired : dataset.unpaired) {
    std::vector<int> kept;
    UnpairedModality own{{unpaired.modality.name, {}}, {}};
    for (size_t i = 0; i < unpaired.labels.size(); ++i) {
      if (tested.contains(unpaired.labels[i])) continue;
      kept.push_back(static_cast<int>(i));
      own.labels.push_back(unpaired.labels[i]);
    }
    own.modality.features = unpaired.modality.features(kept, Eigen::all);
    if (!kept.empty()) people.unpaired.push_back(std::move(own));
  }
  return people;
}

int CrossFitParts(const Dataset& people) {
  return std::min(recipe::kParts,
                  PeopleWithTwo(IdentityNumbers(people.labels)) / recipe::kFewestInPart);
}

absl::StatusOr<CrossFit> FitAcross(const Monitor& monitor, const Dataset& dataset,
                                   const TrainOptions& options, int epochs,
                                   const std::string& name) {
  CrossFit fit;
  fit.people = DevelopmentPeople(dataset);
  const std::vector<int> identities = IdentityNumbers(fit.people.labels);
  const bool paper = options.recipe == Recipe::kPaper;
  const int most = epochs == 0 ? recipe::kMaxAcross : recipe::kMaxAcrossTrained;
  fit.across = !paper && fit.people.Rows() <= most;
  const int parts = CrossFitParts(fit.people) * (fit.across ? 2 : 1);
  Random random(options.seed, kFoldsStream);
  const std::vector<int> part_of = DealPeople(identities, parts, random);
  const std::vector<std::pair<int, int>> folds = Folds(parts, fit.across);
  FurtherScatters further;  // whoever is left out
  TrainHooks hooks = StoppedBy(monitor);
  hooks.further = &further;
  const Progress progress(monitor, absl::StrCat(name, "cross-fitting"));
  for (const auto& [a, b] : folds) {
    fit.splits.push_back(paper ? SplitOf(a, identities, part_of, options.seed)
                               : AllOthers(a, b, identities, part_of));
    const size_t fold = fit.results.size();
    TrainResult result;
    if (paper) {
      HEFT_ASSIGN_OR_RETURN(
          result, TrainWithProgress(monitor, fit.Fold(fold), options,
                                    absl::StrFormat("%spart %d of %d", name, a + 1, parts)));
    } else {
      HEFT_RETURN_IF_ERROR(progress.Step(fold, folds.size()));
      HEFT_ASSIGN_OR_RETURN(result, TrainFully(fit.Fold(fold), options, epochs, hooks));
    }
    fit.results.push_back(std::move(result));
  }
  if (!paper) HEFT_RETURN_IF_ERROR(progress.Step(folds.size(), folds.size()));
  return fit;
}

absl::StatusOr<int> EpochsAcross(const Monitor& monitor, const Dataset& dataset,
                                 const TrainOptions& options, const std::string& name) {
  const Dataset people = DevelopmentPeople(dataset);
  const std::vector<int> identities = IdentityNumbers(people.labels);
  const int parts = CrossFitParts(people);
  Random random(options.seed, kFoldsStream);
  const std::vector<int> part_of = DealPeople(identities, parts, random);
  std::vector<std::vector<Split>> splits;
  for (int part = 0; part < parts; ++part) {
    std::vector<Split>& split = splits.emplace_back(AllOthers(part, part, identities, part_of));
    std::ranges::replace(split, Split::kTest, Split::kValidation);
  }
  const Progress progress(monitor, absl::StrCat(name, "judging epochs"));
  return ChooseEpochs(people, splits, options,
                      [&](int epoch, int epochs) { return progress.Step(epoch, epochs); });
}

CrossFit OfValidationPeople(const Dataset& dataset, const TrainResult& shipped) {
  CrossFit fit;
  fit.too_few = true;
  fit.people = DevelopmentPeople(dataset);
  std::vector<Split> split = fit.people.split;
  std::ranges::replace(split, Split::kValidation, Split::kTest);
  fit.splits.push_back(std::move(split));
  fit.results.push_back(shipped);
  return fit;
}

CrossFit OfAllPeople(const Dataset& people, const TrainResult& shipped) {
  return {people, {std::vector<Split>(people.labels.size(), Split::kTest)}, {shipped}, false, true};
}

absl::StatusOr<Eigen::VectorXd> HeldOutNorms(const CrossFit& fit, const TrainOptions& options) {
  std::vector<double> norms;
  std::vector<bool> seen(fit.people.labels.size());
  for (size_t fold = 0; fold < fit.splits.size(); ++fold) {
    std::vector<int> rows = RowsOf(fit.splits[fold], Split::kTest);
    std::erase_if(rows, [&](int row) { return seen[row]; });
    if (rows.empty()) continue;
    for (int row : rows) seen[row] = true;
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features, Concatenate(fit.people, rows));
    const Eigen::VectorXd own = SquaredNorms(fit.results[fold].projection, features);
    norms.insert(norms.end(), own.begin(), own.end());
    if (options.drop_modality <= 0) continue;
    HEFT_ASSIGN_OR_RETURN(const SamplePool pool, SamplePool::Make(fit.Fold(fold), Split::kTest));
    Random random(options.seed, kDropStream + fold);
    const Batch dropped = pool.Repair(random, options.max_batch, options.drop_modality);
    const Eigen::VectorXd shorter = SquaredNorms(fit.results[fold].projection, dropped.features);
    norms.insert(norms.end(), shorter.begin(), shorter.end());
  }
  return Eigen::Map<const Eigen::VectorXd>(norms.data(), static_cast<Eigen::Index>(norms.size()));
}

absl::Status SetIntervals(const Normaliser& normaliser, CrossFit& fit) {
  for (size_t fold = 0; fold < fit.splits.size(); ++fold) {
    HEFT_RETURN_IF_ERROR(SetInterval(normaliser, fit.Fold(fold), fit.results[fold]));
  }
  return absl::OkStatus();
}

}  // namespace heft
