// SPDX-License-Identifier: Apache-2.0
#include "evaluation/comparisons.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/threads.h"
#include "evaluation/resample.h"
#include "evaluation/weighted_pairs.h"

namespace heft {
namespace {

using internal::WeightedPairs;

struct Rates {
  double auroc = 0, fnmr_1e2 = 0, fnmr_1e3 = 0, eer = 0;
  // AddShare adds a set's rates to a mean over sets.
  void AddShare(const VerificationMetrics& metrics, double share) {
    auroc += share * metrics.auroc;
    fnmr_1e2 += share * (1 - metrics.tmr_1e2);
    fnmr_1e3 += share * (1 - metrics.tmr_1e3);
    eer += share * metrics.eer;
  }
};

// PreparedSet: one set of a system, and how many people it is of.
struct PreparedSet {
  WeightedPairs pairs;
  int people = 0;
  int64_t genuine = 0, impostor = 0;
};

absl::StatusOr<PreparedSet> Prepare(const Comparisons& set) {
  if (set.scores.size() != set.probe.size() || set.scores.size() != set.enrolled.size()) {
    return absl::InvalidArgumentError("a comparison is a score and two people");
  }
  PreparedSet out{WeightedPairs(set.scores, set.probe, set.enrolled), 0, 0, 0};
  for (size_t i = 0; i < set.scores.size(); ++i) {
    if (set.probe[i] < 0 || set.enrolled[i] < 0) {
      return absl::InvalidArgumentError("people must be numbered from 0");
    }
    out.people = std::max({out.people, set.probe[i] + 1, set.enrolled[i] + 1});
    ++(set.probe[i] == set.enrolled[i] ? out.genuine : out.impostor);
  }
  if (out.genuine > 0 && out.impostor > 0) return out;
  return absl::InvalidArgumentError(absl::StrCat(out.genuine, " genuine and ", out.impostor,
                                                 " impostor comparisons: some of both are needed"));
}

// A replicate's rates, mean over the sets. In the rare case that a set is left without comparisons
// of one kind, it is drawn anew.
Rates Replicate(const std::vector<PreparedSet>& sets, const BootstrapOptions& options,
                size_t replicate) {
  Rates mean;
  const double share = 1.0 / static_cast<double>(sets.size());
  for (size_t s = 0; s < sets.size(); ++s) {
    VerificationMetrics metrics;
    Random random = internal::SetRandom(options, replicate, s);
    for (int attempt = 0; attempt < 100; ++attempt) {
      metrics =
          sets[s].pairs.Measure(internal::DrawWeights(random, static_cast<size_t>(sets[s].people)));
      if (!std::isnan(metrics.auroc)) break;
    }
    mean.AddShare(metrics, share);
  }
  return mean;
}

struct System {
  std::vector<PreparedSet> sets;
  Rates point;
  std::vector<Rates> replicates;
};

absl::StatusOr<System> Measure(const std::vector<Comparisons>& sets,
                               const BootstrapOptions& options) {
  System out;
  for (const Comparisons& set : sets) {
    HEFT_ASSIGN_OR_RETURN(PreparedSet prepared, Prepare(set));
    out.sets.push_back(std::move(prepared));
  }
  const double share = 1.0 / static_cast<double>(sets.size());
  for (const PreparedSet& set : out.sets) {
    const std::vector<double> once(static_cast<size_t>(set.people), 1.0);
    out.point.AddShare(set.pairs.Measure(once), share);
  }
  out.replicates.resize(static_cast<size_t>(options.replicates));
  ParallelFor(out.replicates.size(),
              [&](size_t r) { out.replicates[r] = Replicate(out.sets, options, r); });
  return out;
}

}  // namespace

void Comparisons::Add(double score, int of, int with) {
  scores.push_back(score);
  probe.push_back(of);
  enrolled.push_back(with);
}

Comparisons ToComparisons(const LabelledScores& scores) {
  Comparisons out;
  const std::vector<int>& identities = scores.identities;
  for (size_t i = 0; i < identities.size(); ++i) {
    for (size_t j = i + 1; j < identities.size(); ++j) {
      out.Add(scores.scores(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)),
              identities[i], identities[j]);
    }
  }
  return out;
}

absl::StatusOr<ScoreSet> SplitKinds(const Comparisons& comparisons) {
  if (comparisons.scores.size() != comparisons.probe.size() ||
      comparisons.scores.size() != comparisons.enrolled.size()) {
    return absl::InvalidArgumentError("a comparison is a score and two people");
  }
  ScoreSet out;
  for (size_t i = 0; i < comparisons.scores.size(); ++i) {
    const bool genuine = comparisons.probe[i] == comparisons.enrolled[i];
    (genuine ? out.genuine : out.impostor).push_back(comparisons.scores[i]);
  }
  HEFT_RETURN_IF_ERROR(Verify(out).status());
  return out;
}

absl::StatusOr<std::vector<ComparisonEstimate>> MeasureComparisons(
    std::span<const std::vector<Comparisons>> systems, const BootstrapOptions& options) {
  HEFT_RETURN_IF_ERROR(internal::CheckOptions(options));
  std::vector<System> measured;
  for (const std::vector<Comparisons>& sets : systems) {
    if (sets.empty() || sets.size() != systems[0].size()) {
      return absl::InvalidArgumentError("systems are compared on the same sets, one at least");
    }
    HEFT_ASSIGN_OR_RETURN(System system, Measure(sets, options));
    measured.push_back(std::move(system));
    for (size_t s = 0; s < sets.size(); ++s) {
      if (measured.back().sets[s].people == measured[0].sets[s].people) continue;
      return absl::InvalidArgumentError("systems are compared on the same people");
    }
  }
  std::vector<ComparisonEstimate> out;
  for (const System& system : measured) {
    ComparisonEstimate& estimate = out.emplace_back();
    const auto summarise = [&](double Rates::*rate, bool change) {
      std::vector<double> values;
      for (size_t r = 0; r < system.replicates.size(); ++r) {
        const double from = change ? measured[0].replicates[r].*rate : 0;
        values.push_back(system.replicates[r].*rate - from);
      }
      const double from = change ? measured[0].point.*rate : 0;
      return internal::Percentiles(system.point.*rate - from, std::move(values),
                                   options.confidence);
    };
    estimate.auroc = summarise(&Rates::auroc, false);
    estimate.fnmr_1e2 = summarise(&Rates::fnmr_1e2, false);
    estimate.fnmr_1e3 = summarise(&Rates::fnmr_1e3, false);
    estimate.eer = summarise(&Rates::eer, false);
    estimate.fnmr_change = summarise(&Rates::fnmr_1e2, true);
    estimate.auroc_change = summarise(&Rates::auroc, true);
    for (const PreparedSet& set : system.sets) {
      estimate.genuine += set.genuine;
      estimate.impostor += set.impostor;
    }
  }
  return out;
}

}  // namespace heft
