// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/testing.h"
#include "ring/ahead.h"
#include "ring/modulus.h"
#include "ring/ntt.h"
#include "ring/sampling.h"

namespace heft::ring {
namespace {

TEST(ModulusTest, ArithmeticAgreesWithWideIntegers) {
  std::mt19937_64 rng(1);
  for (uint32_t value : {769u, 1048193u, 268435361u, 1073741441u}) {
    const Modulus q(value);
    for (int i = 0; i < 1000; ++i) {
      const uint64_t a = rng() % value, b = rng() % value;
      EXPECT_EQ(q.Multiply(a, b), a * b % value);
      EXPECT_EQ(q.Add(a, b), (a + b) % value);
      EXPECT_EQ(q.Sub(a, b), (a + value - b) % value);
      const uint32_t any = static_cast<uint32_t>(rng());
      EXPECT_EQ(q.Multiply(any, q.Shoup(b)), any * b % value);
      EXPECT_LT(q.MultiplyLazy(any, q.Shoup(b)), 2 * value);
      if (a != 0) {
        EXPECT_EQ(q.Multiply(a, q.Inverse(a)), 1u);
      }
    }
  }
}

TEST(ModulusTest, PrimalityAgreesWithTrialDivision) {
  for (uint32_t n = 0; n < 20000; ++n) {
    bool prime = n >= 2;
    for (uint32_t d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
    EXPECT_EQ(IsPrime(n), prime) << n;
  }
  EXPECT_FALSE(IsPrime(3215031751u));  // strong pseudoprime to 2, 3, 5 and 7
}

TEST(ModulusTest, GeneratedPrimesAreDistinctOfTheSizeAskedFor) {
  const std::vector<int> bits = {30, 29, 20, 28, 28, 28, 20, 30};
  auto primes = GeneratePrimes(8192, bits);
  ASSERT_TRUE(primes.ok()) << primes.status();
  for (size_t i = 0; i < bits.size(); ++i) {
    EXPECT_EQ((*primes)[i] % 16384, 1u);
    EXPECT_EQ(std::bit_width((*primes)[i]), bits[i]);
    EXPECT_TRUE(IsPrime((*primes)[i]));
    for (size_t j = 0; j < i; ++j) EXPECT_NE((*primes)[i], (*primes)[j]);
  }
  EXPECT_FALSE(GeneratePrimes(8192, {15}).ok());
  EXPECT_FALSE(GeneratePrimes(8192, {31}).ok());
}

// Known answers from Microsoft SEAL 4.4.3 (tests/data/README.md).
TEST(NttTest, AgreesWithSeal) {
  for (const char* name : {"seal-n16.json", "seal-n256.json"}) {
    std::ifstream file(testing::SourcePath("tests/data/") + name);
    const nlohmann::json known = nlohmann::json::parse(file);
    const uint32_t n = known["N"];
    for (int i = 0; i < 4; ++i) {
      const Modulus q(known["primes"][i].get<uint32_t>());
      EXPECT_EQ(MinimalPrimitiveRoot(q, n), known["minimal_roots"][i].get<uint32_t>());
    }
    const NttTables tables(Modulus(known["primes"][0].get<uint32_t>()), n);
    AlignedVector<uint32_t> a(n);
    for (uint32_t j = 0; j < n; ++j) a[j] = known["ntt_in_prime0"][j];
    tables.Forward(a);
    for (uint32_t j = 0; j < n; ++j) EXPECT_EQ(a[j], known["ntt_out_prime0"][j].get<uint32_t>());
    tables.Inverse(a);
    for (uint32_t j = 0; j < n; ++j) EXPECT_EQ(a[j], known["ntt_in_prime0"][j].get<uint32_t>());
  }
}

TEST(NttTest, ProductIsTheNegacyclicConvolution) {
  const uint32_t n = 64;
  const Modulus q((*GeneratePrimes(n, {30}))[0]);
  const NttTables tables(q, n);
  std::mt19937 rng(2);
  AlignedVector<uint32_t> a(n), b(n), expected(n, 0);
  for (uint32_t i = 0; i < n; ++i) {
    a[i] = rng() % q.value();
    b[i] = rng() % q.value();
  }
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t j = 0; j < n; ++j) {
      const uint32_t p = q.Multiply(a[i], b[j]);
      uint32_t& slot = expected[(i + j) % n];
      slot = i + j < n ? q.Add(slot, p) : q.Sub(slot, p);
    }
  }
  tables.Forward(a);
  tables.Forward(b);
  for (uint32_t i = 0; i < n; ++i) a[i] = q.Multiply(a[i], b[i]);
  tables.Inverse(a);
  EXPECT_EQ(a, expected);
}

TEST(NttTest, WhatIsFetchedAheadChangesNothing) {
  const uint32_t n = 1024;
  const NttTables tables(Modulus((*GeneratePrimes(n, {27}))[0]), n);
  AlignedVector<uint32_t> a(n), memory(64 * n, 7);
  for (uint32_t i = 0; i < n; ++i) a[i] = i;
  AlignedVector<uint32_t> expected = a;
  tables.Forward(expected);
  EXPECT_EQ(Ahead::Cursor(), nullptr);
  {
    const Ahead ahead(memory);
    ASSERT_NE(Ahead::Cursor(), nullptr);
    EXPECT_EQ(*Ahead::Cursor(), memory.data());
    tables.Forward(a);
    EXPECT_EQ(a, expected);
    {
      const Ahead nothing{Ahead::Range()};
      EXPECT_EQ(Ahead::Cursor(), nullptr);
    }
    ASSERT_NE(Ahead::Cursor(), nullptr);
    // Everything is fetched in the end, if vectors are used.
    const bool fetches = *Ahead::Cursor() != memory.data();
    for (int i = 0; i < 100; ++i) {
      tables.Inverse(a);
      tables.Forward(a);
    }
    EXPECT_EQ(Ahead::Cursor() == nullptr, fetches);
    EXPECT_EQ(a, expected);
  }
  EXPECT_EQ(Ahead::Cursor(), nullptr);
}

TEST(NttTest, GaloisPermutationIsTheAutomorphism) {
  const uint32_t n = 128;
  const Modulus q((*GeneratePrimes(n, {28}))[0]);
  const NttTables tables(q, n);
  std::mt19937 rng(3);
  AlignedVector<uint32_t> a(n), image(n);
  for (uint32_t& x : a) x = rng() % q.value();
  for (uint32_t element : {3u, 9u, 2 * n - 1, n + 1}) {
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t e = i * element % (2 * n);
      image[e % n] = e < n ? a[i] : q.Negate(a[i]);
    }
    AlignedVector<uint32_t> transformed = a;
    tables.Forward(transformed);
    tables.Forward(image);
    const Permutation p = GaloisPermutation(n, element);
    for (uint32_t j = 0; j < n; ++j) EXPECT_EQ(image[j], transformed[p[j]]);
  }
}

// Five standard deviations of the estimators: a correct sampler exceeds them for less than one seed
// in a million. The seed is fixed.
TEST(SamplingTest, MomentsAndRanges) {
  Csprng rng;
  const int n = 1 << 18;
  std::vector<int8_t> v(n);
  SampleTernary(v, rng);
  int counts[3] = {};
  for (int8_t x : v) {
    ASSERT_GE(x, -1);
    ASSERT_LE(x, 1);
    ++counts[x + 1];
  }
  for (int c : counts) EXPECT_NEAR(c, n / 3.0, 5 * std::sqrt(n * 2.0 / 9));
  SampleError(v, rng);
  double sum = 0, square = 0;
  for (int8_t x : v) {
    ASSERT_LE(std::abs(x), 21);
    sum += x;
    square += x * x;
  }
  EXPECT_NEAR(sum / n, 0, 5 * std::sqrt(kErrorVariance / n));
  EXPECT_NEAR(square / n, kErrorVariance, 5 * kErrorVariance * std::sqrt(2.0 / n));
  const Modulus q(1073741441);
  AlignedVector<uint32_t> u(n);
  SampleUniform(u, q, rng);
  double mean = 0;
  for (uint32_t x : u) {
    ASSERT_LT(x, q.value());
    mean += x;
  }
  EXPECT_NEAR(mean / n / q.value(), 0.5, 5 * std::sqrt(1.0 / 12 / n));
}

TEST(SamplingTest, ResiduesOfSmallValues) {
  const Modulus q(1048193);
  std::vector<int8_t> v = {-21, -1, 0, 1, 21};
  AlignedVector<uint32_t> r(5);
  ToResidues(r, v, q);
  EXPECT_EQ(r, (AlignedVector<uint32_t>{1048172, 1048192, 0, 1, 21}));
}

}  // namespace
}  // namespace heft::ring
