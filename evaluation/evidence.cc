// SPDX-License-Identifier: Apache-2.0
#include "evaluation/evidence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/threads.h"
#include "evaluation/resample.h"
#include "evaluation/thresholds.h"

namespace heft {
namespace {

// Reliability is shown from -kMaxShown to kMaxShown; values beyond count to the outermost bins.
constexpr double kMaxShown = 10, kBinWidth = 1;

// log2(1 + e^x) without overflow.
double Bits(double x) { return (std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)))) / M_LN2; }

size_t BinOf(double ratio) {
  const double clamped = std::clamp(ratio, -kMaxShown, kMaxShown - 1e-9);
  return static_cast<size_t>((clamped + kMaxShown) / kBinWidth);
}
constexpr size_t kBins = static_cast<size_t>(2 * kMaxShown / kBinWidth);

// A comparison of two people of one set, or of one person.
struct Comparison {
  double ratio;
  double bits;    // what it costs
  uint32_t a, b;  // people, numbered through all sets
};

// What one weighing of the people gives, and by bin the shares of both kinds.
struct Costs {
  double cllr = 0, minimum = 0;
  bool usable = false;  // both kinds have weight
  std::vector<double> genuine, impostor;
};

// Runs of the best rising map: weights of both kinds.
struct Run {
  double genuine, impostor;
  // Whether this run's share of genuine comparisons is at least the next one's.
  bool Violates(const Run& next) const {
    return genuine * next.impostor >= next.genuine * impostor;
  }
};

// MinimumOf: of runs of comparisons with equal scores, rising. Each run of the best map has as its
// ratio the genuine share over the impostor share.
double MinimumOf(std::span<const Run> rising, double genuine, double impostor) {
  std::vector<Run> pooled;
  for (Run run : rising) {
    while (!pooled.empty() && pooled.back().Violates(run)) {
      run.genuine += pooled.back().genuine;
      run.impostor += pooled.back().impostor;
      pooled.pop_back();
    }
    pooled.push_back(run);
  }
  double cost = 0;
  for (const Run& run : pooled) {
    const double g = run.genuine / genuine, i = run.impostor / impostor;
    if (g > 0) cost += g * std::log2(1 + i / g);
    if (i > 0) cost += i * std::log2(1 + g / i);
  }
  return cost / 2;
}

// Comparisons sorted once, measured under any weights of the people.
class Evidence {
 public:
  explicit Evidence(std::vector<Comparison> comparisons) : sorted_(std::move(comparisons)) {
    std::sort(sorted_.begin(), sorted_.end(), [](const Comparison& x, const Comparison& y) {
      return std::tie(x.ratio, x.a, x.b) < std::tie(y.ratio, y.a, y.b);
    });
  }

  Costs Measure(std::span<const double> weights) const {
    Costs out;
    for (auto* by_bin : {&out.genuine, &out.impostor}) by_bin->resize(kBins);
    double genuine = 0, impostor = 0, genuine_bits = 0, impostor_bits = 0;
    double last = std::numeric_limits<double>::quiet_NaN();
    std::vector<Run> runs;
    for (const Comparison& c : sorted_) {
      const bool same = c.a == c.b;
      const double weight = same ? weights[c.a] : weights[c.a] * weights[c.b];
      if (weight == 0) continue;
      if (c.ratio != last) runs.push_back({0, 0});
      last = c.ratio;
      (same ? runs.back().genuine : runs.back().impostor) += weight;
      (same ? genuine : impostor) += weight;
      (same ? genuine_bits : impostor_bits) += weight * c.bits;
      (same ? out.genuine : out.impostor)[BinOf(c.ratio)] += weight;
    }
    out.usable = genuine > 0 && impostor > 0;
    if (!out.usable) return out;
    out.cllr = (genuine_bits / genuine + impostor_bits / impostor) / 2;
    out.minimum = MinimumOf(runs, genuine, impostor);
    for (double& weight : out.genuine) weight /= genuine;
    for (double& weight : out.impostor) weight /= impostor;
    return out;
  }

 private:
  std::vector<Comparison> sorted_;
};

// People of all sets, and where each set's begin.
struct People {
  std::vector<size_t> first;
  size_t count = 0;
};

absl::StatusOr<People> NumberPeople(std::span<const Comparisons> sets) {
  if (sets.empty()) return absl::InvalidArgumentError("no scores to evaluate");
  People people;
  for (const Comparisons& set : sets) {
    HEFT_RETURN_IF_ERROR(SplitKinds(set).status());
    for (double ratio : set.scores) {
      if (std::isfinite(ratio)) continue;
      return absl::InvalidArgumentError("a log-likelihood ratio is not finite");
    }
    HEFT_ASSIGN_OR_RETURN(const size_t a, internal::CountIdentities(set.probe));
    HEFT_ASSIGN_OR_RETURN(const size_t b, internal::CountIdentities(set.enrolled));
    people.first.push_back(people.count);
    people.count += std::max(a, b);
  }
  return people;
}

// Every `stride`-th impostor comparison, and all genuine ones.
std::vector<Comparison> Collect(std::span<const Comparisons> sets, const People& people,
                                uint64_t stride) {
  std::vector<Comparison> out;
  uint64_t impostors = 0;
  for (size_t k = 0; k < sets.size(); ++k) {
    const auto number = [&](int identity) {
      return static_cast<uint32_t>(people.first[k] + static_cast<size_t>(identity));
    };
    for (size_t i = 0; i < sets[k].scores.size(); ++i) {
      const bool same = sets[k].probe[i] == sets[k].enrolled[i];
      if (!same && impostors++ % stride != 0) continue;
      const double ratio = sets[k].scores[i];
      out.push_back({ratio, Bits(same ? -ratio : ratio), number(sets[k].probe[i]),
                     number(sets[k].enrolled[i])});
    }
  }
  return out;
}

std::vector<Costs> Replicate(const Evidence& evidence, const People& people, size_t sets,
                             const BootstrapOptions& options) {
  std::vector<Costs> replicates(static_cast<size_t>(options.replicates));
  ParallelFor(replicates.size(), [&](size_t r) {
    std::vector<double> weights;
    for (size_t k = 0; k < sets; ++k) {
      const size_t end = k + 1 < sets ? people.first[k + 1] : people.count;
      const std::vector<double> of_set = internal::SetWeights(options, r, k, end - people.first[k]);
      weights.insert(weights.end(), of_set.begin(), of_set.end());
    }
    replicates[r] = evidence.Measure(weights);
  });
  std::erase_if(replicates, [](const Costs& c) { return !c.usable; });
  return replicates;
}

EvidenceBin MakeBin(size_t bin, const Costs& point, const std::vector<Costs>& replicates,
                    const ScoreSet& kinds, double confidence) {
  const auto observed = [bin](const Costs& c) {
    return std::log(c.genuine[bin] / c.impostor[bin]);
  };
  std::vector<double> values;
  for (const Costs& c : replicates) {
    if (c.genuine[bin] > 0 || c.impostor[bin] > 0) values.push_back(observed(c));
  }
  const auto in = [bin](const std::vector<double>& ratios) {
    return static_cast<uint64_t>(
        std::ranges::count_if(ratios, [&](double ratio) { return BinOf(ratio) == bin; }));
  };
  EvidenceBin out;
  out.genuine = in(kinds.genuine);
  out.impostor = in(kinds.impostor);
  out.observed = out.lo = out.hi = observed(point);
  double total = 0;
  for (const auto* kind : {&kinds.genuine, &kinds.impostor}) {
    for (double ratio : *kind) total += BinOf(ratio) == bin ? ratio : 0;
  }
  out.stated = total / static_cast<double>(out.genuine + out.impostor);
  if (values.empty()) return out;
  std::sort(values.begin(), values.end());  // infinite ones too: no line between two of them
  const auto at = [&](double share) {
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
  };
  out.lo = at((1 - confidence) / 2);
  out.hi = at((1 + confidence) / 2);
  return out;
}

template <typename Cost>
double Middle(const std::vector<Costs>& replicates, Cost cost) {
  std::vector<double> values;
  for (const Costs& c : replicates) values.push_back(cost(c));
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

// Centred: an interval moved to where its value is. The best map fits people who were drawn twice
// too well, so that every replicate's minimum is too low, by about the same.
Estimate Centred(Estimate e, double middle) {
  e.lo = std::clamp(e.lo + e.value - middle, 0.0, e.value);
  e.hi = std::max(e.hi + e.value - middle, e.value);
  return e;
}

absl::StatusOr<Costs> CostsOf(const ScoreSet& scores) {
  HEFT_RETURN_IF_ERROR(Verify(scores).status());
  std::vector<Comparison> comparisons;
  for (double s : scores.genuine) comparisons.push_back({s, Bits(-s), 0, 0});
  for (double s : scores.impostor) comparisons.push_back({s, Bits(s), 0, 1});
  const double weights[] = {1, 1};
  return Evidence(std::move(comparisons)).Measure(weights);
}

}  // namespace

absl::StatusOr<EvidenceQuality> MeasureEvidence(std::span<const LabelledScores> ratios,
                                                const BootstrapOptions& options) {
  std::vector<Comparisons> lists;
  for (const LabelledScores& set : ratios) {
    HEFT_RETURN_IF_ERROR(PairScores(set.scores, set.identities).status());
    lists.push_back(ToComparisons(set));
  }
  return MeasureEvidence(lists, options);
}

absl::StatusOr<EvidenceQuality> MeasureEvidence(std::span<const Comparisons> ratios,
                                                const BootstrapOptions& options) {
  HEFT_RETURN_IF_ERROR(internal::CheckOptions(options));
  HEFT_ASSIGN_OR_RETURN(const People people, NumberPeople(ratios));
  HEFT_ASSIGN_OR_RETURN(const ScoreSet kinds, PoolScores(ratios));
  HEFT_ASSIGN_OR_RETURN(const Costs point, CostsOf(kinds));
  const uint64_t stride = 1 + kinds.impostor.size() / options.max_pairs;
  const std::vector<Costs> replicates =
      Replicate(Evidence(Collect(ratios, people, stride)), people, ratios.size(), options);
  const auto estimate = [&](auto cost) {
    std::vector<double> values;
    for (const Costs& c : replicates) values.push_back(cost(c));
    return values.empty() ? Estimate{cost(point), cost(point), cost(point)}
                          : internal::Percentiles(cost(point), values, options.confidence);
  };
  EvidenceQuality out;
  out.cllr = estimate([](const Costs& c) { return c.cllr; });
  out.minimum = Centred(estimate([](const Costs& c) { return c.minimum; }),
                        Middle(replicates, [](const Costs& c) { return c.minimum; }));
  out.loss = Centred(estimate([](const Costs& c) { return c.cllr - c.minimum; }),
                     Middle(replicates, [](const Costs& c) { return c.cllr - c.minimum; }));
  for (size_t bin = 0; bin < kBins; ++bin) {
    if (point.genuine[bin] == 0 && point.impostor[bin] == 0) continue;
    out.reliability.push_back(MakeBin(bin, point, replicates, kinds, options.confidence));
  }
  return out;
}

absl::StatusOr<double> Cllr(const ScoreSet& ratios) {
  HEFT_ASSIGN_OR_RETURN(const Costs costs, CostsOf(ratios));
  return costs.cllr;
}

absl::StatusOr<double> MinimumCllr(const ScoreSet& scores) {
  HEFT_ASSIGN_OR_RETURN(const Costs costs, CostsOf(scores));
  return costs.minimum;
}

}  // namespace heft
