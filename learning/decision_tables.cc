// SPDX-License-Identifier: Apache-2.0
#include "learning/decision_tables.h"

#include <algorithm>

#include "evaluation/open_set.h"
#include "evaluation/thresholds.h"
#include "learning/recipe.h"

namespace heft {
namespace {

constexpr size_t kMaxForAllSets = 4;

// Samples of each person of all sets, rising.
std::vector<uint32_t> SamplesOfPeople(const std::vector<LabelledScores>& sets) {
  std::vector<uint32_t> samples;
  for (const LabelledScores& set : sets) {
    const size_t first = samples.size();
    for (int identity : set.identities) {
      const size_t person = first + static_cast<size_t>(identity);
      samples.resize(std::max(samples.size(), person + 1));
      ++samples[person];
    }
  }
  std::ranges::sort(samples);
  return samples;
}

absl::StatusOr<std::vector<SearchCalibration>> CalibrateSearches(
    const std::vector<LabelledScores>& sets, const BootstrapOptions& bootstrap) {
  const std::vector<uint32_t> samples = SamplesOfPeople(sets);
  std::vector<SearchCalibration> searches;
  if (samples.size() < kFewestCalibrated) return searches;
  for (uint32_t templates : recipe::kSearchTemplates) {
    if (samples[samples.size() / 2] < templates) break;
    HEFT_ASSIGN_OR_RETURN(SearchCalibration fit, FitSearches(sets, templates, bootstrap));
    searches.push_back(std::move(fit));
  }
  return searches;
}

}  // namespace

absl::StatusOr<DecisionTable> FitDecisionTable(const ProbeScores& scores, uint64_t seed,
                                               bool searches) {
  if (scores.modalities == 0) {
    return absl::InvalidArgumentError("a decision table of probes without any modality");
  }
  BootstrapOptions bootstrap;
  bootstrap.replicates = recipe::kDecisionReplicates;
  bootstrap.seed = seed;
  DecisionTable table;
  table.modalities = scores.modalities;
  HEFT_ASSIGN_OR_RETURN(ThresholdTable curve, CalibrateThresholds(scores.sets, bootstrap));
  table.thresholds = std::move(curve.thresholds);
  HEFT_ASSIGN_OR_RETURN(table.calibration, CalibrateScores(scores.sets));
  if (searches) {
    HEFT_ASSIGN_OR_RETURN(table.searches, CalibrateSearches(scores.sets, bootstrap));
  }
  return table;
}

std::vector<uint32_t> ProbeSets(size_t modalities) {
  const uint32_t whole = (uint32_t{1} << modalities) - 1;
  std::vector<uint32_t> sets = {whole};
  if (modalities <= kMaxForAllSets) {
    for (uint32_t set = whole - 1; set > 0; --set) sets.push_back(set);
    return sets;
  }
  for (size_t m = 0; m < modalities; ++m) sets.push_back(whole & ~(uint32_t{1} << m));
  for (size_t m = 0; m < modalities; ++m) sets.push_back(uint32_t{1} << m);
  return sets;
}

std::vector<int> MissingModalities(uint32_t set, size_t modalities) {
  std::vector<int> missing;
  for (size_t m = 0; m < modalities; ++m) {
    if ((set >> m & 1) == 0) missing.push_back(static_cast<int>(m));
  }
  return missing;
}

}  // namespace heft
