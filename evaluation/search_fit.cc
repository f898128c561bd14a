// SPDX-License-Identifier: Apache-2.0
// FitSearches: the tail of impostor scores, and how much strangers differ, under any weights of the
// people.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/threads.h"
#include "evaluation/open_set.h"
#include "evaluation/resample.h"

namespace heft {
namespace {

constexpr double kTailShare = 0.05;  // of the comparisons, above `start`
constexpr double kEven = 1e6;        // an evenness above which strangers are alike

// A probe's best score against another person of its set.
struct Best {
  double score;
  uint32_t probe, person;
};

// All searches of all sets. People and probes are numbered through the sets.
struct Searches {
  std::vector<Best> falling;
  std::vector<uint32_t> prober;  // of each probe
  std::vector<uint32_t> first;   // of each set's people; then how many people there are
  std::vector<uint32_t> set;     // of each probe
  size_t People() const { return first.back(); }
};

// Adds one set: everybody is enrolled with his first `templates` samples.
void AddSet(const LabelledScores& scores, uint32_t templates, Searches* out) {
  std::map<int, uint32_t> number;
  for (int identity : scores.identities) number.try_emplace(identity, 0);
  uint32_t next = out->first.back();
  for (auto& [identity, n] : number) n = next++;
  const uint32_t begin = out->first.back(), count = next - begin;
  std::vector<std::vector<Eigen::Index>> enrolled(count);
  for (size_t i = 0; i < scores.identities.size(); ++i) {
    std::vector<Eigen::Index>& of = enrolled[number[scores.identities[i]] - begin];
    if (of.size() < templates) of.push_back(static_cast<Eigen::Index>(i));
  }
  for (size_t i = 0; i < scores.identities.size(); ++i) {
    const uint32_t own = number[scores.identities[i]];
    const auto probe = static_cast<uint32_t>(out->prober.size());
    out->prober.push_back(own);
    out->set.push_back(static_cast<uint32_t>(out->first.size() - 1));
    for (uint32_t p = 0; p < count; ++p) {
      if (begin + p == own) continue;
      double best = -std::numeric_limits<double>::infinity();
      for (Eigen::Index j : enrolled[p]) {
        best = std::max(best, scores.scores(static_cast<Eigen::Index>(i), j));
      }
      out->falling.push_back({best, probe, begin + p});
    }
  }
  out->first.push_back(next);
}

absl::StatusOr<Searches> CollectSearches(std::span<const LabelledScores> sets, uint32_t templates) {
  Searches out;
  out.first = {0};
  for (const LabelledScores& set : sets) {
    const auto n = static_cast<Eigen::Index>(set.identities.size());
    if (set.scores.rows() != n || set.scores.cols() != n || templates == 0) {
      return absl::InvalidArgumentError("scores and identities do not go together");
    }
    HEFT_RETURN_IF_ERROR(CheckFinite(set.scores, "scores"));
    AddSet(set, templates, &out);
  }
  if (out.People() < kFewestPeople || out.falling.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        out.People(), " people tell nothing of searches: ", kFewestPeople, " are needed"));
  }
  std::ranges::sort(out.falling, [](const Best& a, const Best& b) {
    return std::tie(b.score, a.probe, a.person) < std::tie(a.score, b.probe, b.person);
  });
  return out;
}

// A value and how often resampling drew it.
struct Weighted {
  double value, weight;
};

// Probability-weighted moments of the excesses over `start`; scores fall.
void FitPareto(std::span<const Weighted> above, double start, double total, ImpostorTail* tail) {
  double mean = 0, moment = 0, seen = 0;
  for (const Weighted& w : above) {  // P(excess > this one), in the middle of its weight
    const double excess = w.value - start;
    const double survival = (seen + w.weight / 2) / total;
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
    variance += c.weight * (c.value - expected) * (c.value - expected);
  }
  variance /= std::max(total - 1, 1.0);
  const double beyond = variance - expected;
  return beyond <= expected * expected / kEven ? kEven : expected * expected / beyond;
}

// `times`: how often each person was drawn.
ImpostorTail Fit(const Searches& searches, std::span<const double> times) {
  std::vector<double> of_set;  // people drawn of each set
  for (size_t k = 0; k + 1 < searches.first.size(); ++k) {
    double drawn = 0;
    for (uint32_t p = searches.first[k]; p < searches.first[k + 1]; ++p) drawn += times[p];
    of_set.push_back(drawn);
  }
  // Comparisons of each probe with others, and of all.
  std::vector<double> comparisons(searches.prober.size()), counts(searches.prober.size());
  double total = 0;
  for (size_t i = 0; i < comparisons.size(); ++i) {
    comparisons[i] = of_set[searches.set[i]] - times[searches.prober[i]];
    total += times[searches.prober[i]] * comparisons[i];
  }
  std::vector<Weighted> above;
  double weight_above = 0;
  for (const Best& best : searches.falling) {
    const double weight = times[searches.prober[best.probe]] * times[best.person];
    if (weight == 0) continue;
    if (weight_above >= kTailShare * total && best.score < above.back().value) break;
    above.push_back({best.score, weight});
    weight_above += weight;
    counts[best.probe] += times[best.person];
  }
  ImpostorTail tail;
  if (above.empty()) return tail;  // one person alone was drawn
  tail.start = above.back().value;
  tail.rate = weight_above / total;
  FitPareto(above, tail.start, weight_above, &tail);
  std::vector<Weighted> weighted;
  double expected = 0, probes = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double drawn = times[searches.prober[i]];
    if (drawn == 0) continue;
    weighted.push_back({counts[i], drawn});
    expected += drawn * comparisons[i] * tail.rate;
    probes += drawn;
  }
  tail.evenness = Evenness(weighted, expected / probes);
  return tail;
}

}  // namespace

absl::StatusOr<SearchCalibration> FitSearches(std::span<const LabelledScores> sets,
                                              uint32_t templates, const BootstrapOptions& options) {
  HEFT_RETURN_IF_ERROR(internal::CheckOptions(options));
  HEFT_ASSIGN_OR_RETURN(const Searches searches, CollectSearches(sets, templates));
  SearchCalibration out;
  out.templates = templates;
  out.people = searches.People();
  for (size_t k = 0; k + 1 < searches.first.size(); ++k) {
    const uint64_t people = searches.first[k + 1] - searches.first[k];
    out.comparisons += people * (people - 1);
  }
  out.tail = Fit(searches, std::vector<double>(searches.People(), 1.0));
  out.replicates.resize(static_cast<size_t>(options.replicates));
  ParallelFor(out.replicates.size(), [&](size_t r) {
    std::vector<double> times;
    for (size_t k = 0; k + 1 < searches.first.size(); ++k) {
      const std::vector<double> of_set =
          internal::SetWeights(options, r, k, searches.first[k + 1] - searches.first[k]);
      times.insert(times.end(), of_set.begin(), of_set.end());
    }
    out.replicates[r] = Fit(searches, times);
  });
  std::erase_if(out.replicates, [](const ImpostorTail& tail) { return tail.rate == 0; });
  return out;
}

}  // namespace heft
