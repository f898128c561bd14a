// SPDX-License-Identifier: Apache-2.0
#include "evaluation/comparisons.h"

#include <gtest/gtest.h>

#include "features/random.h"

namespace heft {
namespace {

// People whose genuine scores are normal around `genuine`, impostors' around 0.
Comparisons Draw(double genuine, uint64_t seed, int people = 40) {
  Random random(seed);
  Comparisons out;
  for (int a = 0; a < people; ++a) {
    for (int b = 0; b < people; ++b) out.Add((a == b ? genuine : 0) + random.Normal(), a, b);
  }
  return out;
}

TEST(ComparisonsTest, KnownScores) {
  // One hundred impostors at 0 to 0.99: at FMR 1e-2 one of them is accepted, so 0.985 is and 0.5
  // is not.
  Comparisons set;
  for (int i = 0; i < 100; ++i) set.Add(i / 100.0, 0, 1);
  set.Add(0.995, 0, 0);
  set.Add(0.5, 1, 1);
  set.Add(0.991, 1, 1);
  const std::vector<std::vector<Comparisons>> systems = {{set}};
  const auto found = MeasureComparisons(systems, {.replicates = 10});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_NEAR((*found)[0].fnmr_1e2.value, 1.0 / 3, 1e-12);
  EXPECT_EQ((*found)[0].genuine, 3);
  EXPECT_EQ((*found)[0].impostor, 100);
}

TEST(ComparisonsTest, IntervalsHoldTheTruthAndChangesArePaired) {
  // FNMR at FMR 1e-2 of a normal with unit deviation: Phi(2.326 - mean).
  const std::vector<std::vector<Comparisons>> systems = {{Draw(3, 1), Draw(3, 2)},
                                                         {Draw(4, 3), Draw(4, 4)}};
  const auto found = MeasureComparisons(systems, {.replicates = 400});
  ASSERT_TRUE(found.ok()) << found.status();
  const ComparisonEstimate &first = (*found)[0], &second = (*found)[1];
  EXPECT_LT(first.fnmr_1e2.lo, 0.25);
  EXPECT_GT(first.fnmr_1e2.hi, 0.25);
  EXPECT_LT(second.fnmr_1e2.lo, 0.047);
  EXPECT_GT(second.fnmr_1e2.hi, 0.047);
  EXPECT_EQ(first.fnmr_change.value, 0);
  EXPECT_EQ(first.fnmr_change.hi, 0);
  EXPECT_NEAR(second.fnmr_change.value, second.fnmr_1e2.value - first.fnmr_1e2.value, 1e-12);
  EXPECT_LT(second.fnmr_change.hi, 0);
}

TEST(ComparisonsTest, RefusesWhatCannotBeMeasured) {
  Comparisons impostors;
  impostors.Add(0.1, 0, 1);
  EXPECT_FALSE(MeasureComparisons(std::vector<std::vector<Comparisons>>{{impostors}}).ok());
  EXPECT_FALSE(MeasureComparisons(std::vector<std::vector<Comparisons>>{{}}).ok());
  const std::vector<std::vector<Comparisons>> unlike = {{Draw(1, 1)}, {Draw(1, 1), Draw(1, 2)}};
  EXPECT_FALSE(MeasureComparisons(unlike).ok());
  const std::vector<std::vector<Comparisons>> others = {{Draw(1, 1)}, {Draw(1, 1, 20)}};
  EXPECT_FALSE(MeasureComparisons(others).ok());
  EXPECT_FALSE(
      MeasureComparisons(std::vector<std::vector<Comparisons>>{{Draw(1, 1)}}, {.replicates = 1})
          .ok());
}

}  // namespace
}  // namespace heft
