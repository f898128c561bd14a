// SPDX-License-Identifier: Apache-2.0
// FitSearches: the tail of impostor scores, and how much strangers differ, under any weights of the
// people.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/impostor_tail.h"
#include "base/threads.h"
#include "evaluation/open_set.h"
#include "evaluation/resample.h"
#include "evaluation/tail_fit.h"

namespace heft {
namespace {

using internal::kEven;
using internal::kTailShare;
using internal::Weighted;

constexpr double kUnevenShare = 0.01;   // of them, where strangers are compared
constexpr double kFewestCompared = 20;  // comparisons, where that share is less
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

// Adds one set: each person is enrolled with the first `templates` samples.
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
      return absl::InvalidArgumentError("scores and identities have different sizes");
    }
    HEFT_RETURN_IF_ERROR(CheckFinite(set.scores, "scores"));
    AddSet(set, templates, &out);
  }
  if (out.People() < kFewestCalibrated || out.falling.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(out.People(), " people are too few to calibrate searches: ", kFewestCalibrated,
                     " are needed"));
  }
  std::ranges::sort(out.falling, [](const Best& a, const Best& b) {
    return std::tie(b.score, a.probe, a.person) < std::tie(a.score, b.probe, b.person);
  });
  return out;
}

// A probe's hits: comparisons that reach a score, as often as the people were drawn. Hits that are
// independent of each other have the variance `noise`: who was drawn twice is hit twice at once.
struct Hits {
  double count = 0, noise = 0;
};

// How strangers' hits scatter beyond chance, by the method of moments: the mean rate squared over
// the variance of rates, at the scores that a `share` of the comparisons reaches.
double EvennessAt(const Searches& searches, std::span<const double> times,
                  std::span<const double> comparisons, std::span<const Hits> hits, double share) {
  double drawn = 0, expected = 0, variance = 0, noise = 0;
  for (size_t i = 0; i < hits.size(); ++i) {
    const double weight = times[searches.prober[i]], mean = comparisons[i] * share;
    drawn += weight;
    expected += weight * mean;
    variance += weight * (hits[i].count - mean) * (hits[i].count - mean);
    noise += weight * hits[i].noise;
  }
  expected /= drawn;
  const double beyond = (variance - noise) / drawn;
  return beyond <= expected * expected / kEven ? kEven : expected * expected / beyond;
}

// An evenness where a share `seen` of the comparisons is reached, brought to where `start` is:
// deviations of the logarithm of strangers' rates go with the logarithm of the mean one.
double AtStart(double evenness, double seen, double start) {
  const double more = std::log(std::min(start, 0.5)) / std::log(std::min(seen, 0.5));
  const double deviations = more * std::sqrt(std::log1p(1 / evenness));
  return std::min(1 / std::expm1(deviations * deviations), kEven);
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
  std::vector<double> comparisons(searches.prober.size());
  std::vector<Hits> hits(searches.prober.size());
  double total = 0;
  for (size_t i = 0; i < comparisons.size(); ++i) {
    comparisons[i] = of_set[searches.set[i]] - times[searches.prober[i]];
    total += times[searches.prober[i]] * comparisons[i];
  }
  std::vector<Weighted> above;
  double weight_above = 0, uneven_above = 0, start = 0;
  for (const Best& best : searches.falling) {
    const double weight = times[searches.prober[best.probe]] * times[best.person];
    if (weight == 0) continue;
    const double depth = internal::DepthOf(best.score);
    if (weight_above >= kTailShare * total && depth < above.back().value) break;
    above.push_back({depth, weight});
    start = best.score;
    weight_above += weight;
    if (weight_above > std::max(kUnevenShare * total, kFewestCompared)) continue;
    uneven_above = weight_above;
    hits[best.probe].count += times[best.person];
    hits[best.probe].noise += times[best.person] * times[best.person];
  }
  ImpostorTail tail;
  if (above.empty()) return tail;  // one person alone was drawn
  tail.start = start;
  tail.rate = weight_above / total;
  internal::FitPareto(above, above.back().value, weight_above, &tail);
  tail.evenness = AtStart(EvennessAt(searches, times, comparisons, hits, uneven_above / total),
                          uneven_above / total, tail.rate);
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
