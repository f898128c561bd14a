// SPDX-License-Identifier: Apache-2.0
#include "features/products.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <random>
#include <vector>

namespace heft::internal {
namespace {

std::vector<double> Random(size_t count, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<double> out(count);
  for (double& x : out) x = normal(random);
  return out;
}

// Each instruction set gives the bits of a sum in the order of the columns.
TEST(ProductsTest, EveryInstructionSetGivesTheSameBits) {
  std::mt19937_64 random(7);
  for (const size_t rows : {0, 1, 2, 3, 4, 9}) {
    for (const size_t columns : {1, 7, 8, 16, 33}) {
      for (const size_t depth : {0, 1, 5, 64, 700}) {
        const auto left = Random(rows * depth, random), right = Random(columns * depth, random);
        std::vector<double> expected(rows * columns);
        for (size_t i = 0; i < rows; ++i) {
          for (size_t j = 0; j < columns; ++j) {
            double sum = 0;
            for (size_t k = 0; k < depth; ++k) {
              const volatile double product = left[i * depth + k] * right[j * depth + k];
              sum += product;
            }
            expected[i * columns + j] = sum;
          }
        }
        for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
          hwy::SetSupportedTargetsForTest(target);
          std::vector<double> out(rows * columns, -1);
          ProductOfRows(left.data(), rows, right.data(), columns, depth, out.data());
          EXPECT_EQ(out, expected) << hwy::TargetName(target) << ": " << rows << " rows, "
                                   << columns << " columns, depth " << depth;
        }
        hwy::SetSupportedTargetsForTest(0);
      }
    }
  }
}

}  // namespace
}  // namespace heft::internal
