// SPDX-License-Identifier: Apache-2.0
#include "features/effective_dimension.h"

#include <gtest/gtest.h>

#include <cmath>

namespace heft {
namespace {

TEST(EffectiveDimension, KnownAnswers) {
  // The corners of a cross in d dimensions: mean 0, all directions alike.
  for (int d : {1, 3, 16}) {
    FeatureMatrix cross = FeatureMatrix::Zero(2 * d, 20);
    for (int k = 0; k < d; ++k) {
      cross(2 * k, k) = 1;
      cross(2 * k + 1, k) = -1;
    }
    EXPECT_NEAR(*EffectiveDimension(cross), d, 1e-12);
  }
  // Eigenvalues 3 : 1 : 1, so 25 / 11.
  FeatureMatrix uneven = FeatureMatrix::Zero(10, 3);
  for (int i = 0; i < 10; ++i) uneven(i, i < 6 ? 0 : i < 8 ? 1 : 2) = i % 2 == 0 ? 1 : -1;
  EXPECT_NEAR(*EffectiveDimension(uneven), 25.0 / 11, 1e-12);
  // The mean does not count: a common part is no direction.
  FeatureMatrix shifted(2, 2);
  shifted << std::sqrt(0.5), std::sqrt(0.5), std::sqrt(0.5), -std::sqrt(0.5);
  EXPECT_NEAR(*EffectiveDimension(shifted), 1, 1e-12);
  // More dimensions than rows: a simplex of n corners has n - 1 directions.
  EXPECT_NEAR(*EffectiveDimension(FeatureMatrix::Identity(5, 9)), 4, 1e-12);
}

TEST(EffectiveDimension, NeedsRowsThatDiffer) {
  EXPECT_FALSE(EffectiveDimension(FeatureMatrix::Identity(1, 4)).ok());
  EXPECT_FALSE(EffectiveDimension(FeatureMatrix::Constant(5, 4, 0.5)).ok());
}

}  // namespace
}  // namespace heft
