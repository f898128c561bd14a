// SPDX-License-Identifier: Apache-2.0
// Statistical tests of the samplers and of their generator. Each computes a statistic of a stream
// with a fixed seed, so a run is the same everywhere. The bound is the value that a correct sampler
// exceeds with probability 1e-6 (kAlpha). The last tests apply the same statistics to wrong
// samplers and must detect them.
#include "ring/sampling.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <vector>

#include "base/testing.h"

namespace heft::ring {
namespace {

constexpr double kAlpha = 1e-6;
constexpr double kQuantile = 4.7534;  // of the standard normal distribution at 1 - kAlpha
constexpr size_t kCount = 1 << 19;

// The quantile of the chi-square distribution at 1 - kAlpha (Wilson and Hilferty 1931).
double ChiSquareBound(double freedom) {
  const double v = 2 / (9 * freedom);
  return freedom * std::pow(1 - v + kQuantile * std::sqrt(v), 3);
}

// Pearson's statistic divided by its bound: above 1 is a failure. Cells with fewer than 10 expected
// values are joined with their neighbours.
double ChiSquare(const std::vector<double>& counts, const std::vector<double>& probabilities) {
  double total = 0, statistic = 0;
  for (double c : counts) total += c;
  struct Cell {
    double observed = 0, expected = 0;
  };
  std::vector<Cell> cells(1);
  for (size_t i = 0; i < counts.size(); ++i) {
    if (cells.back().expected >= 10) cells.emplace_back();
    cells.back().observed += counts[i];
    cells.back().expected += probabilities[i] * total;
  }
  if (cells.back().expected < 10) {
    const Cell rest = cells.back();
    cells.pop_back();
    cells.back().observed += rest.observed;
    cells.back().expected += rest.expected;
  }
  for (const Cell& c : cells) {
    statistic += (c.observed - c.expected) * (c.observed - c.expected) / c.expected;
  }
  return statistic / ChiSquareBound(static_cast<double>(cells.size() - 1));
}

// The correlation of values `lag` apart divided by its bound: above 1 is a failure.
template <typename T>
double Correlation(const std::vector<T>& values, size_t lag) {
  double mean = 0, variance = 0, product = 0;
  for (T v : values) mean += static_cast<double>(v) / values.size();
  for (T v : values) variance += (v - mean) * (v - mean) / values.size();
  for (size_t i = lag; i < values.size(); ++i)
    product += (values[i] - mean) * (values[i - lag] - mean);
  return std::abs(product / variance / std::sqrt(values.size())) / kQuantile;
}

Seed SeedOf(uint8_t number) {
  Seed seed{};
  seed[0] = number;
  return seed;
}

using SmallSampler = std::function<void(std::span<int8_t>, Csprng&)>;

// For values in [-21, 21] with the given probabilities: single values, and neighbouring pairs.
double WorstOfSmall(const SmallSampler& sampler, const std::vector<double>& probabilities,
                    uint8_t seed) {
  const int half = static_cast<int>(probabilities.size()) / 2;
  const size_t cells = probabilities.size();
  TestCsprng rng(SeedOf(seed));
  std::vector<int8_t> values(kCount);
  sampler(values, rng);
  std::vector<double> single(cells), pairs(cells * cells), pair_probabilities;
  for (double p : probabilities) {
    for (double r : probabilities) pair_probabilities.push_back(p * r);
  }
  for (size_t i = 0; i < kCount; ++i) {
    if (std::abs(values[i]) > half) return INFINITY;
    single[values[i] + half] += 1;
    if (i % 2 == 1) pairs[(values[i - 1] + half) * cells + values[i] + half] += 1;
  }
  double worst = std::max(ChiSquare(single, probabilities), ChiSquare(pairs, pair_probabilities));
  for (size_t lag : {1, 2, 64}) worst = std::max(worst, Correlation(values, lag));
  return worst;
}

// For a uniform sampler modulo q: 256 equal parts of the range, the lowest and the highest byte.
double WorstOfUniform(const std::function<void(std::span<uint32_t>, Csprng&)>& sampler, uint32_t q,
                      uint8_t seed) {
  TestCsprng rng(SeedOf(seed));
  std::vector<uint32_t> values(kCount);
  sampler(values, rng);
  std::vector<double> parts(256), part_probabilities(256), low(256), low_probabilities(256);
  for (uint32_t v : values) {
    if (v >= q) return INFINITY;
    parts[uint64_t{v} * 256 / q] += 1;
    low[v % 256] += 1;
  }
  for (uint64_t i = 0; i < 256; ++i) {
    const auto first = [q](uint64_t part) { return (part * q + 255) / 256; };
    part_probabilities[i] = static_cast<double>(first(i + 1) - first(i)) / q;
    low_probabilities[i] = static_cast<double>(q / 256 + (i < q % 256 ? 1 : 0)) / q;
  }
  double worst = std::max(ChiSquare(parts, part_probabilities), ChiSquare(low, low_probabilities));
  for (size_t lag : {1, 2, 64}) worst = std::max(worst, Correlation(values, lag));
  return worst;
}

const std::vector<double> kTernary(3, 1.0 / 3);

// C(42, 21 + k) / 2^42 for k in [-21, 21].
std::vector<double> BinomialProbabilities() {
  std::vector<double> p = {std::ldexp(1.0, -42)};
  for (int i = 1; i <= 42; ++i) p.push_back(p.back() * (43 - i) / i);
  return p;
}

TEST(SamplingStatisticsTest, SecretsAreUniformTernary) {
  for (uint8_t seed = 1; seed <= 3; ++seed) {
    EXPECT_LT(WorstOfSmall(SampleTernary, kTernary, seed), 1) << int{seed};
  }
}

TEST(SamplingStatisticsTest, ErrorsAreCentredBinomial) {
  for (uint8_t seed = 1; seed <= 3; ++seed) {
    EXPECT_LT(WorstOfSmall(SampleError, BinomialProbabilities(), seed), 1) << int{seed};
  }
}

TEST(SamplingStatisticsTest, UniformModuloPrimesOfAllSizes) {
  for (const uint32_t value : {769u, 12289u, 1048193u, 536903681u, 1073741441u}) {
    const Modulus q(value);
    const auto sampler = [&q](std::span<uint32_t> out, Csprng& rng) { SampleUniform(out, q, rng); };
    EXPECT_LT(WorstOfUniform(sampler, value, 5), 1) << value;
  }
}

TEST(SamplingStatisticsTest, GeneratorsBytesAreUniform) {
  for (uint8_t seed = 1; seed <= 3; ++seed) {
    const auto bytes = [](std::span<uint32_t> out, Csprng& rng) {
      for (uint32_t& v : out) {
        uint8_t byte;
        rng.Fill({&byte, 1});
        v = byte;
      }
    };
    EXPECT_LT(WorstOfUniform(bytes, 256, seed), 1) << int{seed};
  }
}

// Seeded in the same way as by the system (fixed, as all randomness of the tests).
TEST(SamplingStatisticsTest, GeneratorSeededByTheSystem) {
  const auto bits = [](std::span<int8_t> out, Csprng&) {
    Csprng fresh;
    for (int8_t& v : out) v = static_cast<int8_t>(fresh.U32() & 1);
  };
  EXPECT_LT(WorstOfSmall(bits, {0, 0.5, 0.5}, 0), 1);
}

// ---- Wrong samplers are detected.

TEST(SamplingStatisticsTest, NoticesABiasedTernarySampler) {
  const auto modulo = [](std::span<int8_t> out, Csprng& rng) {
    for (int8_t& v : out) v = static_cast<int8_t>(rng.U32() % 64 % 3) - 1;  // 22, 21, 21 of 64
  };
  EXPECT_GT(WorstOfSmall(modulo, kTernary, 1), 1);
}

TEST(SamplingStatisticsTest, NoticesANarrowerError) {
  const auto narrow = [](std::span<int8_t> out, Csprng& rng) {
    for (int8_t& v : out) {
      const uint64_t bits = rng.U64();
      v = static_cast<int8_t>(std::popcount(bits & 0xFFFFF) -
                              std::popcount(bits >> 32 & 0xFFFFF));  // 20 + 20 bits
    }
  };
  EXPECT_GT(WorstOfSmall(narrow, BinomialProbabilities(), 1), 1);
}

TEST(SamplingStatisticsTest, NoticesAMissingRejection) {
  const uint32_t q = 12289;
  const auto folded = [](std::span<uint32_t> out, Csprng& rng) {
    for (uint32_t& v : out) v = (rng.U32() & 16383) % q;
  };
  EXPECT_GT(WorstOfUniform(folded, q, 1), 1);
}

TEST(SamplingStatisticsTest, NoticesAStreamUsedTwice) {
  const auto twice = [](std::span<int8_t> out, Csprng& rng) {
    for (size_t i = 0; i < out.size(); i += 128) {
      SampleError(out.subspan(i, 64), rng);
      std::copy_n(out.begin() + i, 64, out.begin() + i + 64);
    }
  };
  EXPECT_GT(WorstOfSmall(twice, BinomialProbabilities(), 1), 1);
}

}  // namespace
}  // namespace heft::ring
