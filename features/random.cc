// SPDX-License-Identifier: Apache-2.0
#include "features/random.h"

#include <cmath>

namespace heft {
namespace {

uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

Random::Random(uint64_t seed, uint64_t stream)
    : state_(Mix(seed + 0x9e3779b97f4a7c15u) ^ Mix(Mix(stream + 0x632be59bd9b4e019u))) {}

uint64_t Random::Next() { return Mix(state_ += 0x9e3779b97f4a7c15u); }

double Random::Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

double Random::Normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  while (true) {
    const double u = 2 * Uniform() - 1, v = 2 * Uniform() - 1;
    const double r = u * u + v * v;
    if (r >= 1 || r == 0) continue;
    const double factor = std::sqrt(-2 * std::log(r) / r);
    spare_ = v * factor;
    has_spare_ = true;
    return u * factor;
  }
}

uint64_t Random::Below(uint64_t n) {
  const uint64_t limit = UINT64_MAX - UINT64_MAX % n;  // Rejects the uneven rest.
  uint64_t value = Next();
  while (value >= limit) value = Next();
  return value % n;
}

}  // namespace heft
