// SPDX-License-Identifier: Apache-2.0
#include "learning/decide.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "evaluation/bootstrap.h"
#include "evaluation/open_set.h"
#include "learning/fusion_gain.h"
#include "learning/projection.h"
#include "learning/recipe.h"

namespace heft {
namespace {

// Searches: for each number of templates that half of the people have.
absl::StatusOr<std::vector<SearchCalibration>> Searches(const std::vector<LabelledScores>& sets,
                                                        const BootstrapOptions& bootstrap) {
  std::vector<uint32_t> samples;  // of each person
  for (const LabelledScores& set : sets) {
    const size_t first = samples.size();
    for (int identity : set.identities) {
      samples.resize(std::max(samples.size(), first + identity + 1));
      ++samples[first + identity];
    }
  }
  std::vector<SearchCalibration> searches;
  if (samples.size() < kFewestPeople) return searches;
  std::ranges::sort(samples);
  for (uint32_t templates : recipe::kSearchTemplates) {
    if (samples[samples.size() / 2] < templates) break;
    HEFT_ASSIGN_OR_RETURN(SearchCalibration fit, FitSearches(sets, templates, bootstrap));
    searches.push_back(std::move(fit));
  }
  return searches;
}

bool ShareAVector(const Dataset& dataset, int a, int b) {
  return std::ranges::any_of(dataset.modalities, [&](const Modality& m) {
    return m.features.row(a) == m.features.row(b);
  });
}

}  // namespace

std::optional<double> SampleAgreement(const CrossFit& fit) {
  double sum = 0, pairs = 0;
  for (size_t part = 0; part < fit.splits.size(); ++part) {
    const std::vector<int> rows = RowsOf(fit.splits[part], Split::kTest);
    const absl::StatusOr<FeatureMatrix> features = Concatenate(fit.people, rows);
    if (!features.ok()) return std::nullopt;
    FeatureMatrix z = ProjectAll(fit.results[part].projection, *features);
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

absl::StatusOr<Decisions> Decide(const CrossFit& fit, uint64_t seed) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<LabelledScores> sets, fit.Scores());
  BootstrapOptions bootstrap;
  bootstrap.replicates = recipe::kDecisionReplicates;
  bootstrap.seed = seed;
  Decisions decisions;
  HEFT_ASSIGN_OR_RETURN(decisions.thresholds, CalibrateThresholds(sets, bootstrap));
  HEFT_ASSIGN_OR_RETURN(decisions.calibration, CalibrateScores(sets));
  if (!fit.too_few) {
    HEFT_ASSIGN_OR_RETURN(decisions.searches, Searches(sets, bootstrap));
  }
  if (fit.results[0].summary["options"]["recipe"] == RecipeName(Recipe::kGeneralising)) {
    decisions.sample_agreement = SampleAgreement(fit);
  }
  HEFT_ASSIGN_OR_RETURN(const FusionGain gain, MeasureFusionGain(fit, sets));
  Json parts = Json::array();
  for (const TrainResult& result : fit.results) {
    parts.push_back(Json{{"val_auroc", result.val_auroc},
                         {"best_epoch", result.best_epoch},
                         {"modality_weights", result.summary["modality_weights"]}});
  }
  int people = 0;
  for (const LabelledScores& set : sets) {
    people += 1 + *std::ranges::max_element(set.identities);
  }
  decisions.summary["cross_fit"] = {{"people", people},
                                    {"parts", std::move(parts)},
                                    {"genuine_pairs", decisions.thresholds.genuine_pairs},
                                    {"impostor_pairs", decisions.thresholds.impostor_pairs}};
  decisions.summary["fusion"] = gain.ToJson();
  std::string warning = decisions.thresholds.warning;
  if (fit.too_few) {
    warning = absl::StrCat(
        "too few people with two samples to fit decisions across parts (",
        2 * recipe::kFewestInPart, " are needed): thresholds and calibration rest on the ", people,
        " validation people, who have also stopped the training, and promise too much",
        warning.empty() ? "" : "; ", warning);
  }
  if (!warning.empty()) decisions.summary["threshold_warning"] = warning;
  return decisions;
}

}  // namespace heft
