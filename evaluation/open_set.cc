// SPDX-License-Identifier: Apache-2.0
#include "evaluation/open_set.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "features/random.h"

namespace heft {
namespace {

constexpr double kTailShare = 0.05;  // of the comparisons, above `start`
constexpr double kEven = 1e6;        // an evenness above which strangers are alike

// Best scores of each person's probes against each other person: best[i] of probe i, in the order
// of people.
struct Searches {
  std::vector<int> people;                // of each probe, numbered from 0
  std::vector<std::vector<double>> best;  // -inf where the person is the prober himself
  size_t count = 0;                       // of people
};

Searches BestScores(const LabelledScores& scores, uint32_t templates) {
  std::map<int, size_t> number;
  for (int identity : scores.identities) number.try_emplace(identity, 0);
  size_t next = 0;
  for (auto& [identity, n] : number) n = next++;
  Searches out;
  out.count = number.size();
  std::vector<std::vector<Eigen::Index>> enrolled(out.count);
  for (size_t i = 0; i < scores.identities.size(); ++i) {
    std::vector<Eigen::Index>& of = enrolled[number[scores.identities[i]]];
    if (of.size() < templates) of.push_back(static_cast<Eigen::Index>(i));
    out.people.push_back(static_cast<int>(number[scores.identities[i]]));
  }
  for (size_t i = 0; i < out.people.size(); ++i) {
    std::vector<double>& row = out.best.emplace_back(out.count);
    for (size_t p = 0; p < out.count; ++p) {
      row[p] = -std::numeric_limits<double>::infinity();
      if (static_cast<int>(p) == out.people[i]) continue;
      for (Eigen::Index j : enrolled[p]) {
        row[p] = std::max(row[p], scores.scores(static_cast<Eigen::Index>(i), j));
      }
    }
  }
  return out;
}

// A score and how often resampling drew it.
struct Weighted {
  double score, weight;
};

// Probability-weighted moments of the excesses over `start`.
void FitPareto(std::span<const Weighted> above, double start, ImpostorTail* tail) {
  double total = 0, mean = 0, moment = 0, seen = 0;
  for (const Weighted& w : above) total += w.weight;
  for (const Weighted& w : above) {  // rising: P(excess > this one), in the middle of its weight
    const double excess = w.score - start;
    const double survival = 1 - (seen + w.weight / 2) / total;
    mean += w.weight * excess / total;
    moment += w.weight * excess * survival / total;
    seen += w.weight;
  }
  const double spread = mean - 2 * moment;
  if (!(spread > 0) || !(mean > 0)) {  // all alike: exponential
    tail->shape = 0;
    tail->scale = std::max(mean, 1e-9);
    return;
  }
  tail->shape = std::min(2 - mean / spread, 0.9);
  tail->scale = 2 * mean * moment / spread;
}

// How strangers' counts above `start` scatter beyond Poisson's law, by the method of moments.
double Evenness(std::span<const Weighted> counts, double expected) {
  double total = 0, variance = 0;
  for (const Weighted& c : counts) {
    total += c.weight;
    variance += c.weight * (c.score - expected) * (c.score - expected);
  }
  variance /= std::max(total - 1, 1.0);
  const double beyond = variance - expected;
  return beyond <= expected * expected / kEven ? kEven : expected * expected / beyond;
}

// `times`: how often each person was drawn.
ImpostorTail Fit(const Searches& searches, std::span<const double> times) {
  std::vector<Weighted> all;
  double total = 0;
  for (size_t i = 0; i < searches.best.size(); ++i) {
    const auto prober = static_cast<size_t>(searches.people[i]);
    for (size_t p = 0; p < searches.count; ++p) {
      const double weight = times[prober] * times[p];
      if (p == prober || weight == 0) continue;
      all.push_back({searches.best[i][p], weight});
      total += weight;
    }
  }
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.score < b.score; });
  double above = 0;
  size_t first = all.size();
  while (first > 1 && above < kTailShare * total) above += all[--first].weight;
  ImpostorTail tail;
  tail.start = all[first].score;
  tail.rate = above / total;
  FitPareto(std::span(all).subspan(first), tail.start, &tail);
  std::vector<Weighted> counts;
  double expected = 0, probes = 0;
  for (size_t i = 0; i < searches.best.size(); ++i) {
    const auto prober = static_cast<size_t>(searches.people[i]);
    if (times[prober] == 0) continue;
    double count = 0, of = 0;
    for (size_t p = 0; p < searches.count; ++p) {
      if (p == prober) continue;
      of += times[p];
      if (searches.best[i][p] >= tail.start) count += times[p];
    }
    counts.push_back({count, times[prober]});
    expected += times[prober] * of * tail.rate;
    probes += times[prober];
  }
  tail.evenness = Evenness(counts, expected / probes);
  return tail;
}

}  // namespace

absl::StatusOr<SearchCalibration> FitSearches(const LabelledScores& scores, uint32_t templates,
                                              const BootstrapOptions& options) {
  const auto n = static_cast<Eigen::Index>(scores.identities.size());
  if (scores.scores.rows() != n || scores.scores.cols() != n || templates == 0) {
    return absl::InvalidArgumentError("scores and identities do not go together");
  }
  HEFT_RETURN_IF_ERROR(CheckFinite(scores.scores, "scores"));
  const Searches searches = BestScores(scores, templates);
  if (searches.count < kFewestPeople) {
    return absl::InvalidArgumentError(absl::StrCat(
        searches.count, " people tell nothing of searches: ", kFewestPeople, " are needed"));
  }
  SearchCalibration out;
  out.templates = templates;
  out.people = searches.count;
  out.comparisons = searches.count * (searches.count - 1);
  out.tail = Fit(searches, std::vector<double>(searches.count, 1.0));
  Random random(options.seed);
  for (int r = 0; r < options.replicates; ++r) {
    std::vector<double> times(searches.count, 0.0);
    for (size_t k = 0; k < searches.count; ++k) times[random.Below(searches.count)] += 1;
    out.replicates.push_back(Fit(searches, times));
  }
  return out;
}

absl::StatusOr<SearchErrors> MeasureSearches(const FeatureMatrix& scores,
                                             std::span<const int> probes,
                                             std::span<const int> templates) {
  if (scores.rows() != static_cast<Eigen::Index>(probes.size()) ||
      scores.cols() != static_cast<Eigen::Index>(templates.size())) {
    return absl::InvalidArgumentError("scores, probes and templates do not go together");
  }
  HEFT_RETURN_IF_ERROR(CheckFinite(scores, "scores"));
  std::vector<double> strangers, mated;
  std::vector<size_t> ranks;
  for (Eigen::Index i = 0; i < scores.rows(); ++i) {
    std::map<int, double> best;
    for (Eigen::Index j = 0; j < scores.cols(); ++j) {
      const auto [it, fresh] = best.try_emplace(templates[static_cast<size_t>(j)], scores(i, j));
      it->second = std::max(it->second, scores(i, j));
    }
    const auto own = best.find(probes[static_cast<size_t>(i)]);
    double top = -std::numeric_limits<double>::infinity();
    for (const auto& [identity, score] : best) top = std::max(top, score);
    if (own == best.end()) {
      strangers.push_back(top);
      continue;
    }
    // A tie is lost: the search could as well have named the other.
    const auto rank = static_cast<size_t>(std::ranges::count_if(
        best, [&](const auto& b) { return b.first != own->first && b.second >= own->second; }));
    ranks.push_back(rank);
    mated.push_back(rank == 0 ? own->second : -std::numeric_limits<double>::infinity());
  }
  if (strangers.empty() || mated.empty()) {
    return absl::InvalidArgumentError(
        "an open-set evaluation needs searches of people who are enrolled and of others");
  }
  SearchErrors out;
  out.strangers = strangers.size();
  out.mated = mated.size();
  std::sort(strangers.begin(), strangers.end());
  std::sort(mated.begin(), mated.end());
  std::vector<double> all = strangers;
  all.insert(all.end(), mated.begin(), mated.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const auto below = [](const std::vector<double>& sorted, double t) {
    return static_cast<double>(std::ranges::lower_bound(sorted, t) - sorted.begin()) /
           static_cast<double>(sorted.size());
  };
  for (double t : all) {
    if (!std::isfinite(t)) continue;
    out.thresholds.push_back(t);
    out.fpir.push_back(1 - below(strangers, t));
    out.fnir.push_back(below(mated, t));
  }
  size_t largest = 0;
  for (size_t rank : ranks) largest = std::max(largest, rank);
  for (size_t k = 0; k <= largest; ++k) {
    const auto found = std::ranges::count_if(ranks, [&](size_t rank) { return rank <= k; });
    out.match_rates.push_back(static_cast<double>(found) / static_cast<double>(ranks.size()));
  }
  return out;
}

}  // namespace heft
