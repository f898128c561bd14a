// SPDX-License-Identifier: Apache-2.0
#include "fusion/cyclic_sums.h"

#include <gtest/gtest.h>

#include <random>

#include "ring/modulus.h"

namespace heft::internal {
namespace {

constexpr uint32_t kN = 512;
constexpr size_t kWidth = 32;

class CyclicSumsTest : public ::testing::TestWithParam<std::tuple<size_t, size_t>> {};

// Compared with the sums by definition, value by value, twice with the same left factors.
TEST_P(CyclicSumsTest, AreTheSumsOfAllProducts) {
  const auto [count, sets] = GetParam();
  const ring::Modulus q((*ring::GeneratePrimes(kN, {28}))[0]);
  const ring::NttTables tables(q, kN);
  std::mt19937 random(7);
  const auto rows = [&](size_t number) {
    std::vector<AlignedVector<uint32_t>> out(number);
    for (auto& row : out) {
      for (size_t i = 0; i < kWidth; ++i) row.push_back(q.Reduce(random()));
    }
    return out;
  };
  const auto pointers = [](const std::vector<AlignedVector<uint32_t>>& of) {
    std::vector<const uint32_t*> out;
    for (const auto& row : of) out.push_back(row.data());
    return out;
  };
  const auto left = rows(count * sets);
  CyclicSums sums(tables, count, kWidth);
  sums.SetLeft(pointers(left));
  for (int round = 0; round < 2; ++round) {
    const auto right = rows(count * sets);
    std::vector<AlignedVector<uint32_t>> out(count, AlignedVector<uint32_t>(kWidth));
    std::vector<uint32_t*> at;
    for (auto& row : out) at.push_back(row.data());
    sums.Sum(at, pointers(right));
    for (size_t k = 0; k < count; ++k) {
      for (size_t i = 0; i < kWidth; ++i) {
        uint32_t expected = 0;
        for (size_t set = 0; set < sets; ++set) {
          for (size_t e = 0; e < count; ++e) {
            expected = q.Add(expected, q.Multiply(left[set * count + e][i],
                                                  right[set * count + (e + k) % count][i]));
          }
        }
        ASSERT_EQ(out[k][i], expected) << "k " << k << ", value " << i << ", round " << round;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CyclicSumsTest,
                         ::testing::Combine(::testing::Values(1, 2, 4, 32, 128),
                                            ::testing::Values(1, 2)));

}  // namespace
}  // namespace heft::internal
