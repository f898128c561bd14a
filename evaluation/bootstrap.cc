// SPDX-License-Identifier: Apache-2.0
#include "evaluation/bootstrap.h"

#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "evaluation/resample.h"
#include "evaluation/weighted_pairs.h"

namespace heft {
namespace {

using internal::WeightedPairs;

// One set of scores, ready for replicates.
struct ResampledSet {
  WeightedPairs pairs;
  VerificationMetrics point;
  size_t identity_count;
  int64_t genuine_pairs, impostor_pairs;
};

absl::StatusOr<ResampledSet> Prepare(const LabelledScores& set, const BootstrapOptions& options) {
  HEFT_ASSIGN_OR_RETURN(const ScoreSet all, PairScores(set.scores, set.identities));
  HEFT_ASSIGN_OR_RETURN(const VerificationMetrics point, Verify(all));
  const uint64_t stride = 1 + all.impostor.size() / options.max_pairs;
  const int n = set.identities.size();
  std::vector<double> scores;
  std::vector<int> a, b;
  uint64_t impostors = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = i + 1; j < n; ++j) {
      const bool genuine = set.identities[i] == set.identities[j];
      if (!genuine && impostors++ % stride != 0) continue;
      scores.push_back(set.scores(i, j));
      a.push_back(set.identities[i]);
      b.push_back(set.identities[j]);
    }
  }
  HEFT_ASSIGN_OR_RETURN(const size_t identities, internal::CountIdentities(set.identities));
  return ResampledSet{WeightedPairs(scores, a, b), point, identities,
                      static_cast<int64_t>(all.genuine.size()),
                      static_cast<int64_t>(all.impostor.size())};
}

absl::StatusOr<std::vector<ResampledSet>> PrepareAll(std::span<const LabelledScores> sets,
                                                     const BootstrapOptions& options) {
  HEFT_RETURN_IF_ERROR(internal::CheckOptions(options));
  if (sets.empty()) return absl::InvalidArgumentError("no scores to evaluate");
  std::vector<ResampledSet> prepared;
  for (const LabelledScores& set : sets) {
    HEFT_ASSIGN_OR_RETURN(ResampledSet one, Prepare(set, options));
    prepared.push_back(std::move(one));
  }
  return prepared;
}

// The weights of set `set` in replicate `replicate`, drawn anew in the rare case that they leave
// no genuine or no impostor pair; `measure` says whether its result is usable.
template <typename Measure>
void OneReplicate(const BootstrapOptions& options, std::size_t replicate, std::size_t set,
                  size_t identity_count, Measure measure) {
  Random random = internal::SetRandom(options, replicate, set);
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (measure(internal::DrawWeights(random, identity_count))) return;
  }
}

// Mean over sets of a metric, replicate by replicate.
using MetricField = double VerificationMetrics::*;
std::vector<double> Means(MetricField field,
                          const std::vector<std::vector<VerificationMetrics>>& replicates) {
  std::vector<double> means;
  for (const auto& replicate : replicates) {
    double mean = 0;
    for (const VerificationMetrics& metrics : replicate) mean += metrics.*field / replicate.size();
    means.push_back(mean);
  }
  return means;
}

Estimate Summarise(MetricField field, const std::vector<ResampledSet>& sets,
                   const std::vector<std::vector<VerificationMetrics>>& replicates,
                   double confidence) {
  double value = 0;
  for (const ResampledSet& set : sets) value += set.point.*field / sets.size();
  return internal::Percentiles(value, Means(field, replicates), confidence);
}

}  // namespace

bool Worse(const Estimate& error_difference) {
  return error_difference.value > 0 && error_difference.lo + error_difference.hi > 0;
}

bool SurelyWorse(const Estimate& error_difference) { return error_difference.lo > 0; }

absl::StatusOr<VerificationEstimate> SystemComparison::Add(std::span<const LabelledScores> sets) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<ResampledSet> prepared, PrepareAll(sets, options_));
  std::vector<std::vector<int>> identities;
  for (const LabelledScores& set : sets) identities.push_back(set.identities);
  if (!systems_.empty() && identities != identities_) {
    return absl::InvalidArgumentError("systems are compared on the same sets of samples");
  }
  std::vector<std::vector<VerificationMetrics>> replicates(
      options_.replicates, std::vector<VerificationMetrics>(sets.size()));
  ParallelFor(options_.replicates, [&](std::size_t replicate) {
    for (std::size_t set = 0; set < sets.size(); ++set) {
      OneReplicate(options_, replicate, set, prepared[set].identity_count,
                   [&](const std::vector<double>& weights) {
                     replicates[replicate][set] = prepared[set].pairs.Measure(weights);
                     return !std::isnan(replicates[replicate][set].auroc);
                   });
    }
  });
  VerificationEstimate estimate;
  auto summarise = [&](MetricField field) {
    return Summarise(field, prepared, replicates, options_.confidence);
  };
  estimate.auroc = summarise(&VerificationMetrics::auroc);
  estimate.eer = summarise(&VerificationMetrics::eer);
  estimate.tmr_1e2 = summarise(&VerificationMetrics::tmr_1e2);
  estimate.tmr_1e3 = summarise(&VerificationMetrics::tmr_1e3);
  double squares = 0;
  for (const ResampledSet& set : prepared) {
    estimate.auroc_by_set.push_back(set.point.auroc);
    estimate.genuine_pairs += set.genuine_pairs;
    estimate.impostor_pairs += set.impostor_pairs;
    squares += std::pow(set.point.auroc - estimate.auroc.value, 2);
  }
  if (sets.size() > 1) estimate.auroc_spread = std::sqrt(squares / (sets.size() - 1));
  identities_ = std::move(identities);
  systems_.push_back({{estimate.auroc.value, Means(&VerificationMetrics::auroc, replicates)},
                      {estimate.tmr_1e3.value, Means(&VerificationMetrics::tmr_1e3, replicates)}});
  return estimate;
}

Estimate SystemComparison::Minus(const Metric& a, const Metric& b) const {
  std::vector<double> differences = a.replicates;
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= b.replicates[i];
  return internal::Percentiles(a.value - b.value, std::move(differences), options_.confidence);
}

Estimate SystemComparison::Difference(std::size_t a, std::size_t b) const {
  return Minus(systems_[a].auroc, systems_[b].auroc);
}

Estimate SystemComparison::FnmrDifference(std::size_t a, std::size_t b) const {
  return Minus(systems_[b].tmr_1e3, systems_[a].tmr_1e3);
}

}  // namespace heft
