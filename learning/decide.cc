// SPDX-License-Identifier: Apache-2.0
#include "learning/decide.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "evaluation/thresholds.h"
#include "learning/attacks.h"
#include "learning/baselines.h"
#include "learning/fusion_gain.h"
#include "learning/projection.h"
#include "learning/recipe.h"

namespace heft {
namespace {

bool ShareAVector(const Dataset& dataset, int a, int b) {
  return std::ranges::any_of(dataset.modalities, [&](const Modality& m) {
    return m.features.row(a) == m.features.row(b);
  });
}

}  // namespace

std::optional<double> SampleAgreement(const CrossFit& fit) {
  double sum = 0, pairs = 0;
  for (size_t fold = 0; fold < fit.splits.size(); ++fold) {
    const std::vector<int> rows = RowsOf(fit.splits[fold], Split::kTest);
    const absl::StatusOr<FeatureMatrix> features = Concatenate(fit.people, rows);
    if (!features.ok()) return std::nullopt;
    FeatureMatrix z = ProjectAll(fit.results[fold].projection, *features);
    z /= std::sqrt(z.rowwise().squaredNorm().mean());
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t j = i + 1; j < rows.size(); ++j) {
        if (fit.people.labels[rows[i]] != fit.people.labels[rows[j]]) continue;
        if (ShareAVector(fit.people, rows[i], rows[j])) continue;
        sum += z.row(i).dot(z.row(j));
        ++pairs;
      }
    }
  }
  if (pairs == 0 || !(sum > 0)) return std::nullopt;
  return std::min(sum / pairs, 1.0);
}

namespace {

// Whether all scores of a part are the same: its templates have nothing of these modalities.
bool TellsNothing(const ProbeScores& scores) {
  return std::ranges::any_of(scores.sets, [](const LabelledScores& set) {
    return set.scores.maxCoeff() - set.scores.minCoeff() < 1e-9;
  });
}

// What the thresholds of too few people rest on.
std::string FewText(const CrossFit& fit, int people) {
  if (fit.splits[0].size() == RowsOf(fit.splits[0], Split::kTest).size()) {
    return absl::StrCat("too few people with two samples to leave some out (",
                        2 * recipe::kFewestInPart,
                        " are needed): thresholds and calibration rest on ", people,
                        " people, who may also have trained the model");
  }
  return absl::StrCat(
      "too few people with two samples to fit decisions across parts (", 2 * recipe::kFewestInPart,
      " are needed): thresholds and calibration rest on ", "the ", people,
      " validation people, who also stopped the training, and ", "are too optimistic");
}

}  // namespace

absl::StatusOr<ProbeScores> ScoresOfSet(const CrossFit& fit, ProbeLength length, uint32_t set) {
  const std::vector<int> missing = MissingModalities(set, fit.people.modalities.size());
  const bool exact = length == ProbeLength::kExact;
  HEFT_ASSIGN_OR_RETURN(std::vector<LabelledScores> sets, fit.Collect([&](size_t fold) {
    const Normaliser approximate{fit.results[fold].approximation, 1.0};
    return PartialProbeScores(fit.Fold(fold), Split::kTest, fit.results[fold].projection,
                              exact ? Normaliser{} : approximate, missing, /*outside=*/nullptr,
                              exact ? &approximate : nullptr);
  }));
  return ProbeScores{set, std::move(sets)};
}

absl::StatusOr<Decisions> Decide(const CrossFit& fit, ProbeLength length, uint64_t seed,
                                 bool against_wolves) {
  Decisions decisions;
  HEFT_ASSIGN_OR_RETURN(const std::vector<AttackedFold> folds, AttackedFolds(fit));
  std::vector<LabelledScores> sets;  // of whole probes
  for (const uint32_t set : ProbeSets(fit.people.modalities.size())) {
    HEFT_ASSIGN_OR_RETURN(ProbeScores scores, ScoresOfSet(fit, length, set));
    if (TellsNothing(scores)) continue;  // no table, so no decision, for probes of this set
    HEFT_ASSIGN_OR_RETURN(DecisionTable table, FitDecisionTable(scores, seed, !fit.too_few));
    if (against_wolves) HEFT_RETURN_IF_ERROR(Harden(folds, scores, seed, &table));
    decisions.tables.push_back(std::move(table));
    if (sets.empty()) sets = std::move(scores.sets);
  }
  if (fit.results[0].summary["options"]["recipe"] == RecipeName(Recipe::kGeneralising)) {
    decisions.sample_agreement = SampleAgreement(fit);
  }
  HEFT_ASSIGN_OR_RETURN(const FusionGain gain, MeasureFusionGain(fit, sets));
  int people = 0;
  for (const LabelledScores& set : sets) {
    people += 1 + *std::ranges::max_element(set.identities);
  }
  HEFT_ASSIGN_OR_RETURN(const ScoreSet pooled, PoolScores(sets));
  decisions.summary["cross_fit"] = {{"people", people},
                                    {"models", fit.results.size()},
                                    {"genuine_pairs", pooled.genuine.size()},
                                    {"impostor_pairs", pooled.impostor.size()}};
  decisions.summary["fusion"] = gain.ToJson();
  if (!decisions.tables.empty()) {
    HEFT_ASSIGN_OR_RETURN(const Json attacks, AttacksOn(folds, decisions.tables[0], seed));
    decisions.summary.update(attacks);
  }
  if (against_wolves && !folds.empty()) decisions.summary["against_wolves"] = true;
  std::string warning = UnsupportedRates(pooled.impostor.size());
  if (fit.too_few) {
    warning = absl::StrCat(FewText(fit, people), warning.empty() ? "" : "; ", warning);
  }
  if (!warning.empty()) decisions.summary["threshold_warning"] = warning;
  return decisions;
}

}  // namespace heft
