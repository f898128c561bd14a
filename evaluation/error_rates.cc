// SPDX-License-Identifier: Apache-2.0
#include "evaluation/error_rates.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/threads.h"
#include "evaluation/resample.h"

namespace heft {
namespace {

// Comparisons of identities a and b (a == b: of one person) that reach `level` thresholds of their
// set and no more. Replicates weigh people, so what two people have in common is counted once.
struct Count {
  size_t a, b;
  size_t level;
  double count;
};

struct CountedSet {
  std::vector<Count> counts;
  size_t identities = 0;
};

// Accepted: weights of the comparisons by how many thresholds they reach, and after Accumulate by
// whether they reach the k-th lowest; [0] is all of them.
struct Accepted {
  std::vector<double> genuine, impostor;
  explicit Accepted(size_t thresholds) : genuine(thresholds + 1), impostor(thresholds + 1) {}
  void Add(const CountedSet& set, std::span<const double> weights) {
    for (const Count& c : set.counts) {
      if (c.a == c.b) {
        genuine[c.level] += weights[c.a] * c.count;
      } else {
        impostor[c.level] += weights[c.a] * weights[c.b] * c.count;
      }
    }
  }
  void Accumulate() {
    for (auto* kind : {&genuine, &impostor}) {
      std::partial_sum(kind->rbegin(), kind->rend(), kind->rbegin());
    }
  }
};

absl::StatusOr<CountedSet> CountSet(const Comparisons& set, const std::vector<double>& thresholds) {
  HEFT_RETURN_IF_ERROR(SplitKinds(set).status());
  CountedSet out;
  HEFT_ASSIGN_OR_RETURN(const size_t a, internal::CountIdentities(set.probe));
  HEFT_ASSIGN_OR_RETURN(const size_t b, internal::CountIdentities(set.enrolled));
  out.identities = std::max(a, b);
  // By both people and the level, in one number, so that equal ones come together.
  const uint64_t levels = thresholds.size() + 1;
  std::vector<uint64_t> keys;
  for (size_t i = 0; i < set.scores.size(); ++i) {
    const auto [low, high] = std::minmax(set.probe[i], set.enrolled[i]);
    const auto reached = std::ranges::upper_bound(thresholds, set.scores[i]) - thresholds.begin();
    keys.push_back((static_cast<uint64_t>(low) * out.identities + static_cast<uint64_t>(high)) *
                       levels +
                   static_cast<uint64_t>(reached));
  }
  std::ranges::sort(keys);
  for (size_t i = 0; i < keys.size();) {
    size_t end = i;
    while (end < keys.size() && keys[end] == keys[i]) ++end;
    const uint64_t pair = keys[i] / levels;
    out.counts.push_back({pair / out.identities, pair % out.identities, keys[i] % levels,
                          static_cast<double>(end - i)});
    i = end;
  }
  return out;
}

absl::Status CheckSets(size_t sets, std::span<const std::vector<double>> thresholds) {
  if (sets == 0 || sets != thresholds.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(sets, " sets of scores with thresholds for ", thresholds.size(), " sets"));
  }
  for (const std::vector<double>& of_set : thresholds) {
    if (of_set.size() == thresholds[0].size() && std::ranges::is_sorted(of_set)) continue;
    return absl::InvalidArgumentError("give each set equally many thresholds, in rising order");
  }
  return absl::OkStatus();
}

// Shares of one replicate, by threshold in rising order; those of nothing are 0.
struct Shares {
  std::vector<double> fmr, fnmr;
};

Shares SharesOf(const Accepted& accepted) {
  Shares out;
  for (size_t k = 1; k < accepted.genuine.size(); ++k) {
    const auto share = [k](const std::vector<double>& kind) {
      return kind[0] > 0 ? kind[k] / kind[0] : 0.0;
    };
    out.fmr.push_back(share(accepted.impostor));
    out.fnmr.push_back(accepted.genuine[0] > 0 ? 1 - share(accepted.genuine) : 0.0);
  }
  return out;
}

}  // namespace

absl::StatusOr<PooledRates> MeasureErrorRates(std::span<const Comparisons> sets,
                                              std::span<const std::vector<double>> thresholds,
                                              const BootstrapOptions& options) {
  HEFT_RETURN_IF_ERROR(internal::CheckOptions(options));
  HEFT_RETURN_IF_ERROR(CheckSets(sets.size(), thresholds));
  const size_t levels = thresholds[0].size();
  std::vector<CountedSet> counted;
  Accepted all(levels);
  for (size_t k = 0; k < sets.size(); ++k) {
    HEFT_ASSIGN_OR_RETURN(CountedSet set, CountSet(sets[k], thresholds[k]));
    all.Add(set, std::vector<double>(set.identities, 1.0));
    counted.push_back(std::move(set));
  }
  all.Accumulate();
  std::vector<Shares> replicates(static_cast<size_t>(options.replicates));
  ParallelFor(replicates.size(), [&](size_t r) {
    Accepted accepted(levels);
    for (size_t k = 0; k < counted.size(); ++k) {
      accepted.Add(counted[k], internal::SetWeights(options, r, k, counted[k].identities));
    }
    accepted.Accumulate();
    replicates[r] = SharesOf(accepted);
  });
  const Shares point = SharesOf(all);
  PooledRates out;
  out.genuine_pairs = static_cast<uint64_t>(all.genuine[0]);
  out.impostor_pairs = static_cast<uint64_t>(all.impostor[0]);
  out.at.resize(levels);
  for (size_t k = 0; k < levels; ++k) {
    const auto estimate = [&](std::vector<double> Shares::*rate, double of) {
      std::vector<double> values;
      for (const Shares& r : replicates) values.push_back((r.*rate)[k]);
      return internal::AtLeastPoisson(
          internal::Percentiles((point.*rate)[k], std::move(values), options.confidence), of,
          options.confidence);
    };
    out.at[k] = {estimate(&Shares::fmr, all.impostor[0]), estimate(&Shares::fnmr, all.genuine[0])};
  }
  return out;
}

absl::StatusOr<PooledRates> MeasureErrorRates(std::span<const LabelledScores> sets,
                                              std::span<const std::vector<double>> thresholds,
                                              const BootstrapOptions& options) {
  std::vector<Comparisons> lists;
  for (const LabelledScores& set : sets) {
    HEFT_RETURN_IF_ERROR(PairScores(set.scores, set.identities).status());
    lists.push_back(ToComparisons(set));
  }
  return MeasureErrorRates(lists, thresholds, options);
}

}  // namespace heft
