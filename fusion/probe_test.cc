// SPDX-License-Identifier: Apache-2.0
// The shorter fusion of a probe: the same scores for the same blocks, and no template for a
// gallery.
#include "fusion/probe.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fusion/owner/testing.h"

namespace heft {
namespace {

using ckks::Ciphertext;
using testing::kScoreTolerance;

class ProbeTest : public testing::MatchingTest {
 protected:
  void SetUp() override {
    MatchingTest::SetUp();
    auto prober = ProbeFuser::Create(*MakeRings(model_), model_, keys_);
    ASSERT_TRUE(prober.ok()) << prober.status();
    prober_ = std::make_unique<ProbeFuser>(std::move(*prober));
    const std::vector<Ciphertext> inputs = EncryptSample(probe_sample_);
    std::vector<const Ciphertext*> pointers;
    for (const Ciphertext& c : inputs) pointers.push_back(&c);
    auto fused = prober_->Fuse(pointers);
    ASSERT_TRUE(fused.ok()) << fused.status();
    short_ = std::move(fused->z);
  }

  std::unique_ptr<ProbeFuser> prober_;
  Ciphertext short_;
};

TEST_P(ProbeTest, ScoresAreThoseOfTheLongerRoute) {
  EXPECT_EQ(short_.limbs(), MatchLimbs(prober_->instance().params()));
  const auto scores =
      MatchBlock(prober_->instance(), block_,
                 *PrepareProbe(prober_->instance(), short_, prober_->keys()), prober_->keys());
  ASSERT_TRUE(scores.ok()) << scores.status();
  const Ciphertext longer = *MatchBlock(instance_, block_, prepared_, keys_);
  EXPECT_EQ(scores->scale, longer.scale);
  EXPECT_NEAR(scores->noise.error, longer.noise.error, 0.2 * longer.noise.error);
  EXPECT_LT(WorstError(*scores), kScoreTolerance);
}

TEST_P(ProbeTest, WhatOnlyMatchesGivesTheSameScores) {
  const TiledCiphertexts probe = *PrepareProbe(prober_->instance(), short_, prober_->keys());
  const auto matcher = ProbeFuser::ToMatch(model_, keys_);
  ASSERT_TRUE(matcher.ok()) << matcher.status();
  EXPECT_TRUE(matcher->keys().galois.empty());
  const auto one = MatchBlock(prober_->instance(), block_, probe, prober_->keys());
  const auto other = MatchBlock(matcher->instance(), block_, probe, matcher->keys());
  ASSERT_TRUE(one.ok() && other.ok()) << one.status() << other.status();
  ASSERT_EQ(one->size(), other->size());
  for (size_t part = 0; part < one->size(); ++part) {
    EXPECT_TRUE(std::ranges::equal(one->parts[part].values(), other->parts[part].values()));
  }
  EXPECT_EQ(one->scale, other->scale);
  EXPECT_EQ(one->noise.error, other->noise.error);
  EXPECT_EQ(one->noise.message, other->noise.message);
  // Keys without it are refused immediately.
  ckks::EvaluationKeys none;
  EXPECT_EQ(ProbeFuser::ToMatch(model_, none).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_P(ProbeTest, ServesIdentificationOnly) {
  // It has no level left for a mask, and its templates are not those of the other route.
  EXPECT_FALSE(PrepareMaskedProbe(prober_->instance(), short_, {}, 0, prober_->keys()).ok());
  EXPECT_FALSE(PrepareMaskedProbe(instance_, short_, {}, 0, keys_).ok());
  EXPECT_FALSE(PrepareProbe(instance_, short_, keys_).ok());
  TiledCiphertexts untouched = block_;
  const NewTemplate foreign[] = {{&short_, {3, 0}}};
  EXPECT_FALSE(AddToBlock(instance_, &untouched, foreign, keys_).ok());
  EXPECT_FALSE(AddToBlock(prober_->instance(), &untouched, foreign, prober_->keys()).ok());
  EXPECT_EQ(untouched, block_);
  const Ciphertext* const wrong[] = {&short_, nullptr};
  EXPECT_FALSE(prober_->Fuse(std::span(wrong).first(model_.modalities.size() == 1 ? 1 : 2)).ok());
}

INSTANTIATE_TEST_SUITE_P(All, ProbeTest, ::testing::ValuesIn(testing::FusionCases()),
                         testing::FusionCaseName);

}  // namespace
}  // namespace heft
