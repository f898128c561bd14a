// SPDX-License-Identifier: Apache-2.0
#include "learning/parts.h"

#include <algorithm>
#include <numeric>

namespace heft {

std::vector<int> DealPeople(std::span<const int> identities, int parts, Random& random) {
  std::vector<int> samples;  // of each identity
  for (int identity : identities) {
    samples.resize(std::max<size_t>(samples.size(), identity + 1));
    ++samples[identity];
  }
  std::vector<int> order(samples.size());
  std::iota(order.begin(), order.end(), 0);
  random.Shuffle(order);
  std::stable_partition(order.begin(), order.end(), [&](int i) { return samples[i] > 1; });
  std::vector<int> result(order.size());
  for (size_t i = 0; i < order.size(); ++i) result[order[i]] = static_cast<int>(i) % parts;
  return result;
}

}  // namespace heft
