// SPDX-License-Identifier: Apache-2.0
// All roles in one process give the scores of the same formulae in plain numbers.
#include "experiment/roles.h"

#include <gtest/gtest.h>

#include "experiment/stopwatch.h"
#include "fusion/profile.h"

namespace heft::experiment {
namespace {

TEST(Roles, MatchesAsPlainNumbersDo) {
  const Model model = RandomModel({24, 16}, 16, 3);
  auto made = Roles::Create(model);
  ASSERT_TRUE(made.ok()) << made.status();
  const Roles& roles = **made;
  std::mt19937_64 random(5);
  TiledCiphertexts block = EmptyBlock(roles.context(), model.gamma);
  Vectors expected;
  const uint32_t indices[] = {0, 1, roles.params().slots() + 7};
  for (uint32_t index : indices) {
    const Vectors sample = RandomSample(model, random);
    expected.push_back(FusePlain(model, sample));
    const auto fused = roles.fuser().Fuse(Pointers(*roles.EncryptSample(sample)));
    ASSERT_TRUE(fused.ok()) << fused.status();
    const NewTemplate added[] = {{&fused->z, PositionOf(index, roles.params().slots())}};
    ASSERT_TRUE(roles.Enrol(&block, added).ok());
  }
  Vectors probe = RandomSample(model, random);
  probe[1].clear();  // a modality is missing
  const auto fused = roles.prober().Fuse(Pointers(*roles.EncryptSample(probe)));
  ASSERT_TRUE(fused.ok()) << fused.status();
  const auto scores = roles.Match(block, fused->z);
  ASSERT_TRUE(scores.ok()) << scores.status();
  const std::vector<double> opened = roles.OpenScores(*scores);
  ASSERT_EQ(opened.size(), roles.TemplatesPerBlock());
  // Errors are some 1e-4: a hundred standard deviations.
  const std::vector<double> z = FusePlain(model, probe);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(opened[indices[i]], Dot(z, expected[i]), 0.01);
  }
  EXPECT_NEAR(opened[2], 0, 0.01);
}

TEST(KeyedContext, OpensWhatItEncrypts) {
  auto world = KeyedContext::Create(FindProfile("compact")->spec);
  ASSERT_TRUE(world.ok()) << world.status();
  const std::vector<double> values = {0.5, -0.25, 1};
  const auto plain = (*world)->encoder().Encode(std::span<const double>(values), 1 << 24, 2);
  ASSERT_TRUE(plain.ok()) << plain.status();
  const auto opened = (*world)->Open((*world)->Encrypt(*plain));
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(opened[i].real(), values[i], 0.01);
}

TEST(Quantile, OfFewValues) {
  EXPECT_EQ(Median({}), 0);
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 3, 2}), 3);
  EXPECT_EQ(Quantile({5, 1, 4, 2, 3}, 0.1), 1);
  EXPECT_EQ(Quantile({5, 1, 4, 2, 3}, 1), 5);
}

TEST(Timings, CountTheRunsThatEndedWell) {
  Timings timings;
  ASSERT_TRUE(timings.Time([] { return absl::OkStatus(); }).ok());
  EXPECT_FALSE(timings.Time([] { return absl::InternalError("x"); }).ok());
  EXPECT_EQ(timings.Spread()["runs"].get<int>(), 1);
}

}  // namespace
}  // namespace heft::experiment
