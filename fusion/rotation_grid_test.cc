// SPDX-License-Identifier: Apache-2.0
#include "fusion/rotation_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "ckks/context.h"
#include "fusion/plan.h"
#include "fusion/rings.h"
#include "fusion/testing.h"

namespace heft {
namespace {

using ::testing::ElementsAre;

Rings RingsOf(uint32_t gamma, const std::string& profile) {
  return *MakeRings(testing::RandomModel({512, 512}, gamma, 3, profile));
}

TEST(RotationGrid, BabiesAndGiantsMakeEveryRotation) {
  const ckks::Params params = RingsOf(32, "standard").matching.params();
  const RotationGrid grid{8, 4};
  EXPECT_EQ(grid.count(), 32u);
  const auto babies = grid.BabyElements(params), giants = grid.GiantElements(params);
  const uint32_t mask = 2 * params.n() - 1;
  for (uint32_t k = 0; k < grid.count(); ++k) {
    EXPECT_EQ(giants[k / 8] * babies[k % 8] & mask, ckks::RotationElement(params, k)) << k;
  }
  KeyNeeds needs;
  grid.AddNeeds(params, 3, &needs);
  EXPECT_EQ(needs.galois_keys.size(), 7u + 3u);
  for (const auto& [element, limbs] : needs.galois_keys) EXPECT_EQ(limbs, 3u);
}

TEST(RotationGrid, OfAMatchHasFewKeys) {
  const ckks::Params params = RingsOf(32, "standard").matching.params();
  for (uint32_t gamma = 1; gamma <= 1024; gamma *= 2) {
    const RotationGrid grid = MatchingGrid(params, gamma);
    EXPECT_EQ(grid.count(), gamma);
    // As close to a square as powers of two permit.
    EXPECT_GE(grid.babies, grid.giants);
    EXPECT_LE(grid.babies, 4 * grid.giants);
  }
}

// Keys that are needed anyway are used, and giants cost as many decompositions as there are sums.
TEST(RotationGrid, OfProductsUsesTheKeysThatAreThere) {
  const ckks::Params params = RingsOf(32, "standard").matching.params();
  const RotationGrid match = MatchingGrid(params, 256);
  KeyNeeds have;
  match.AddNeeds(params, 3, &have);
  const size_t before = have.galois_keys.size();
  const RotationGrid grid = ProductGrid(params, 64, 2, 3, have, 0);
  EXPECT_EQ(grid.count(), 64u);
  grid.AddNeeds(params, 3, &have);
  EXPECT_EQ(have.galois_keys.size(), before);
  EXPECT_GE(grid.babies, ProductGrid(params, 64, 1, 3, {}, 0).babies);
  EXPECT_THAT(ProductGrid(params, 1, 2, 3, have, 0).BabyElements(params), ElementsAre(1));
}

// A sample encrypted for one plan is projected with the keys of another: plans of one model with
// and without the mask's prime have the same rotations.
TEST(RotationGrid, TheMasksPrimeChangesNoRotation) {
  for (const uint32_t gamma : {16u, 32u, 64u, 128u, 256u}) {
    const Model model = testing::RandomModel({512, 300}, gamma, 3, "compact");
    const auto whole = MakeInstance(model), probe = MakeProbeInstance(model);
    ASSERT_TRUE(whole.ok() && probe.ok()) << whole.status() << probe.status();
    const auto& pairs = whole->plan.projection.pairs;
    ASSERT_EQ(pairs.size(), probe->plan.projection.pairs.size());
    for (size_t p = 0; p < pairs.size(); ++p) {
      EXPECT_EQ(pairs[p].grid.babies, probe->plan.projection.pairs[p].grid.babies) << gamma;
    }
    EXPECT_EQ(whole->plan.matching.grid.babies, probe->plan.matching.grid.babies);
    std::set<uint32_t> needed;
    for (const auto& [element, limbs] : whole->plan.keys.galois_keys) needed.insert(element);
    for (const auto& [element, limbs] : probe->plan.keys.galois_keys) {
      EXPECT_TRUE(needed.contains(element)) << gamma;
    }
  }
}

// Keys grow with the root of the dimension.
TEST(RotationGrid, KeysOfPlans) {
  const auto keys = [](uint32_t gamma, bool matching) {
    const Rings rings = RingsOf(gamma, "standard");
    return (matching ? rings.matching : rings.enrolment).plan.keys.galois_keys.size();
  };
  EXPECT_LE(keys(32, true), 21u);
  EXPECT_LE(keys(128, true), 32u);
  EXPECT_LE(keys(256, true), 40u);
  EXPECT_LE(keys(1024, true), 80u);
  EXPECT_LE(keys(256, false), 30u);
}

}  // namespace
}  // namespace heft
