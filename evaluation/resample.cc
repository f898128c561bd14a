// SPDX-License-Identifier: Apache-2.0
#include "evaluation/resample.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace heft::internal {
namespace {

// The deviations within which a normal variable is with this probability.
double Deviations(double confidence) {
  double lo = 0, hi = 40;
  for (int k = 0; k < 60; ++k) {
    const double middle = (lo + hi) / 2;
    (std::erf(middle / std::sqrt(2.0)) < confidence ? lo : hi) = middle;
  }
  return lo;
}

}  // namespace

absl::Status CheckOptions(const BootstrapOptions& options) {
  if (options.replicates < 10 || !(options.confidence > 0 && options.confidence < 1) ||
      options.max_pairs == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("bootstrap with ", options.replicates, " replicates and confidence ",
                     options.confidence, ": need 10 or more, and between 0 and 1"));
  }
  return absl::OkStatus();
}

Random SetRandom(const BootstrapOptions& options, size_t replicate, size_t set) {
  return Random(options.seed, replicate * 1'000'003 + set);
}

std::vector<double> DrawWeights(Random& random, size_t count) {
  std::vector<double> weights(count, 0.0);
  for (size_t i = 0; i < count; ++i) weights[random.Below(count)] += 1;
  return weights;
}

std::vector<double> SetWeights(const BootstrapOptions& options, size_t replicate, size_t set,
                               size_t count) {
  Random random = SetRandom(options, replicate, set);
  return DrawWeights(random, count);
}

absl::StatusOr<size_t> CountIdentities(std::span<const int> identities) {
  if (identities.empty()) return absl::InvalidArgumentError("no samples to evaluate");
  const auto [lowest, highest] = std::minmax_element(identities.begin(), identities.end());
  if (*lowest < 0) return absl::InvalidArgumentError("identities must be numbered from 0");
  return static_cast<size_t>(*highest) + 1;
}

Estimate Percentiles(double value, std::vector<double> replicates, double confidence) {
  std::sort(replicates.begin(), replicates.end());
  auto at = [&](double share) {
    const double position = share * static_cast<double>(replicates.size() - 1);
    const size_t below = static_cast<size_t>(position);
    const size_t above = std::min(below + 1, replicates.size() - 1);
    return replicates[below] +
           (position - static_cast<double>(below)) * (replicates[above] - replicates[below]);
  };
  return {value, at((1 - confidence) / 2), at((1 + confidence) / 2)};
}

Estimate AtLeastPoisson(Estimate rate, double of, double confidence) {
  if (!(of > 0)) return rate;
  const double z = Deviations(confidence), count = rate.value * of;
  const auto limit = [z](double k, double sign) {
    return k > 0 ? k * std::pow(std::max(0.0, 1 - 1 / (9 * k) + sign * z / (3 * std::sqrt(k))), 3)
                 : 0.0;
  };
  rate.lo = std::min(rate.lo, limit(count, -1) / of);
  rate.hi = std::max(rate.hi, std::min(1.0, limit(count + 1, +1) / of));
  return rate;
}

}  // namespace heft::internal
