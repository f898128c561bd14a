// SPDX-License-Identifier: Apache-2.0
// Random: a small seeded generator for data and training, the same numbers on every platform (the
// standard library's distributions are not). Not for cryptography.
#ifndef HEFT_FEATURES_RANDOM_H_
#define HEFT_FEATURES_RANDOM_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace heft {

class Random {
 public:
  // Streams of one seed are independent of each other: one for each task that runs in parallel.
  explicit Random(uint64_t seed, uint64_t stream = 0);

  uint64_t Next();             // 64 uniform bits (SplitMix64, Steele, Lea and Flood, OOPSLA 2014)
  double Uniform();            // in [0, 1)
  double Normal();             // mean 0, standard deviation 1 (polar method)
  uint64_t Below(uint64_t n);  // in [0, n), n > 0

  template <typename T>
  void Shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[Below(i)]);
  }

 private:
  uint64_t state_;
  double spare_ = 0.0;
  bool has_spare_ = false;
};

}  // namespace heft

#endif  // HEFT_FEATURES_RANDOM_H_
