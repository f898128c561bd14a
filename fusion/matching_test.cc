// SPDX-License-Identifier: Apache-2.0
// Matching compared with plain arithmetic: scores are within the promised error and the same for
// each way to compute them, and a verification reveals no other score.
#include "fusion/matching.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/testing.h"
#include "ckks/arithmetic.h"
#include "fusion/owner/testing.h"
#include "fusion/rings.h"
#include "ring/sampling.h"

namespace heft {
namespace {

using ckks::Ciphertext;
using testing::kScoreTolerance;
using testing::MatchingTest;

void ExpectSameResidues(const Ciphertext& one, const Ciphertext& other) {
  ASSERT_EQ(one.size(), other.size());
  for (size_t part = 0; part < one.size(); ++part) {
    EXPECT_TRUE(std::ranges::equal(one.parts[part].values(), other.parts[part].values())) << part;
  }
}

TEST_P(MatchingTest, ScoresInBothLanes) {
  auto scores = MatchBlock(instance_, block_, prepared_, keys_);
  ASSERT_TRUE(scores.ok()) << scores.status();
  EXPECT_EQ(scores->limbs(), ScoreLimbs(instance_.params()));
  EXPECT_LT(WorstError(*scores), kScoreTolerance);
  EXPECT_LE(WorstError(*scores),
            ckks::SlotErrorBound(instance_.params(), scores->noise, scores->scale));
  // A reply of degree 2 holds the same scores.
  auto degree_two = MatchBlock(instance_, block_, prepared_, keys_, /*relinearise=*/false);
  ASSERT_TRUE(degree_two.ok()) << degree_two.status();
  EXPECT_EQ(degree_two->size(), 3u);
  EXPECT_LT(WorstError(*degree_two), kScoreTolerance);
}

TEST_P(MatchingTest, BatchesGiveTheSameResiduesAsOneAtATime) {
  const std::vector<TiledCiphertexts> probes = {prepared_,
                                                *PrepareProbe(instance_, fused_[0].z, keys_)};
  const TiledCiphertexts empty = EmptyBlock(context(), model_.gamma);
  const std::vector<TiledCiphertexts> blocks = {block_, empty};
  // More than are read in parallel.
  const std::vector<TiledCiphertexts> many = {block_, empty, block_, block_, empty, block_};
  for (const bool relinearise : {true, false}) {
    const auto batch =
        MatchBlocks(instance_, Views(blocks), *PackProbes(instance_, probes), keys_, relinearise);
    ASSERT_TRUE(batch.ok()) << batch.status();
    for (size_t b = 0; b < 2; ++b) {
      for (size_t p = 0; p < 2; ++p) {
        ExpectSameResidues(*MatchBlock(instance_, blocks[b], probes[p], keys_, relinearise),
                           (*batch)[b * 2 + p]);
      }
    }
    const auto scores = MatchBlocks(instance_, Views(many), prepared_, keys_, relinearise);
    ASSERT_TRUE(scores.ok()) << scores.status();
    ASSERT_EQ(scores->size(), many.size());
    for (size_t b = 0; b < many.size(); ++b) {
      ExpectSameResidues(*MatchBlock(instance_, many[b], prepared_, keys_, relinearise),
                         (*scores)[b]);
    }
  }
}

// A removal reverses an addition bit for bit, whatever was added in between: nothing remains.
TEST_P(MatchingTest, WhatWasAddedIsTakenAwayExactly) {
  const Normalised first = *FuseSample(RandomSample()), second = *FuseSample(RandomSample());
  const std::vector<NewTemplate> added = {{&first.z, {3, 0}}, {&second.z, {5, 1}}};
  const std::vector<NewTemplate> later = {{&second.z, {6, 0}}};
  TiledCiphertexts block = block_, without = block_;
  ASSERT_TRUE(AddToBlock(instance_, &without, later, keys_).ok());
  ASSERT_TRUE(AddToBlock(instance_, &block, added, keys_).ok());
  ASSERT_TRUE(AddToBlock(instance_, &block, later, keys_).ok());
  EXPECT_NE(block, without);
  ASSERT_TRUE(TakeFromBlock(instance_, &block, added, keys_).ok());
  EXPECT_EQ(block, without);
}

// Removing templates needs the same residues that adding them gave, so every version must add the
// same residues. Changing them changes the format of galleries.
TEST(AddToBlockTest, AddsTheResiduesThatItHasAlwaysAdded) {
  const Instance instance = MakeRings(testing::RandomModel({8, 8}, 8, 2, "standard"))->matching;
  const ckks::Context& context = *instance.context;
  TestCsprng rng(Seed{7});
  const ckks::SecretKey secret = *ckks::SecretKey::Generate(context, rng);
  const ckks::EvaluationKeys keys = testing::MakeKeys(context, instance.plan.keys, secret, rng);
  std::vector<Ciphertext> z(3);
  for (Ciphertext& c : z) {
    const size_t limbs = TemplateLimbs(context.params());
    for (int p = 0; p < 2; ++p) {
      c.parts.emplace_back(context.n(), limbs);
      for (size_t l = 0; l < limbs; ++l) {
        ring::SampleUniform(c.parts[p].limb(l), context.modulus(l), rng);
      }
    }
    c.scale = instance.plan.matching.template_scale;
  }
  TiledCiphertexts block = EmptyBlock(context, instance.plan.gamma);
  const std::vector<NewTemplate> added = {{&z[0], {0, 0}}, {&z[1], {9, 1}}, {&z[2], {700, 0}}};
  ASSERT_TRUE(AddToBlock(instance, &block, added, keys).ok());
  const ByteSpan bytes(reinterpret_cast<const uint8_t*>(block.data()),
                       block.size() * sizeof(uint32_t));
  EXPECT_EQ(HexString(HashBytes(bytes)),
            "0a812d0f2cda6b11ec42ca9d2f713c6c988ada6afe49caa2e0ec45f66678efe1");
}

TEST_P(MatchingTest, AVerificationShowsOneScore) {
  const uint32_t slots = context().slots();
  for (size_t i = 0; i < positions_.size(); ++i) {
    const Position at = PositionOf(positions_[i], slots);
    const uint32_t claimed[] = {at.slot};
    auto masked = PrepareMaskedProbe(instance_, probe_, claimed, at.lane, keys_);
    ASSERT_TRUE(masked.ok()) << masked.status();
    auto reply = VerifyBlock(instance_, block_, *masked, claimed, at.lane, keys_);
    auto again = VerifyBlock(instance_, block_, *masked, claimed, at.lane, keys_);
    ASSERT_TRUE(reply.ok()) << reply.status();
    const auto answer = Open(*reply), answer_again = Open(*again);
    EXPECT_NEAR(answer[at.slot].real(), expected_[positions_[i]], kScoreTolerance);
    EXPECT_NEAR(answer_again[at.slot].real(), expected_[positions_[i]], kScoreTolerance);
    // No other identity's score in either lane: fresh noise far above any score hides them.
    double squares = 0, difference = 0;
    for (uint32_t j = 0; j < slots; ++j) {
      if (j == at.slot) continue;
      squares += std::norm(answer[j]);
      difference += std::norm(answer[j] - answer_again[j]);
    }
    EXPECT_GT(std::sqrt(squares / slots), 10);
    EXPECT_GT(std::sqrt(difference / slots), 10);
  }
}

// A client may encrypt a vector of any length; the noise must hide the amplified rounding of a
// mask.
TEST_P(MatchingTest, ALongProbeLearnsNoOtherScore) {
  const uint32_t slots = context().slots();
  const Normalised enrolled = *FuseSample(RandomSample());
  TiledCiphertexts block = EmptyBlock(context(), model_.gamma);
  std::vector<NewTemplate> added;
  constexpr uint32_t kTemplates = 64;
  for (uint32_t j = 0; j < kTemplates; ++j) added.push_back({&enrolled.z, {j, 0}});
  ASSERT_TRUE(AddToBlock(instance_, &block, added, keys_).ok());
  std::vector<Ciphertext> probe = EncryptSample(RandomSample());
  std::vector<const Ciphertext*> pointers;
  for (Ciphertext& c : probe) {
    ckks::MultiplyInteger(context(), &c, c, 4);
    pointers.push_back(&c);
  }
  const Normalised fused = *fuser_->Fuse(pointers);
  const uint32_t claimed[] = {slots - 1};
  auto masked = PrepareMaskedProbe(instance_, fused.z, claimed, 0, keys_);
  auto bare = MatchBlock(instance_, block, *masked, keys_);  // without the noise
  auto reply = VerifyBlock(instance_, block, *masked, claimed, 0, keys_);
  ASSERT_TRUE(reply.ok()) << reply.status();
  const auto leak = Open(*bare), answer = Open(*reply);
  double product = 0, leaks = 0, answers = 0;
  for (uint32_t j = 0; j < kTemplates; ++j) {
    product += leak[j].real() * answer[j].real();
    leaks += leak[j].real() * leak[j].real();
    answers += answer[j].real() * answer[j].real();
  }
  EXPECT_LT(std::abs(product) / std::sqrt(leaks * answers), 6 / std::sqrt(kTemplates));
  EXPECT_GT(answers, 30 * leaks);
}

// The bound of docs/security-proofs.md, "How well it drowns". The noise of a part of a slot is
// uniform on [-A, A]. A leak of d changes that distribution by |d| / 2A in total variation, and
// those of a reply's slots by at most the sum.
TEST_P(MatchingTest, DrowningIsWithinItsBound) {
  const FusionPlan::Matching& plan = instance_.plan.matching;
  const uint32_t slots = context().slots();
  const double q = context().modulus(0).value();
  const double amplitude =
      std::sqrt(1.5) * q / 26 * std::sqrt(instance_.params().n()) / plan.verified_scale;
  EXPECT_GT(amplitude, 20);

  const Normalised enrolled = *FuseSample(RandomSample());
  TiledCiphertexts block = EmptyBlock(context(), model_.gamma);
  constexpr uint32_t kTemplates = 64;
  std::vector<NewTemplate> added;
  for (uint32_t j = 0; j < kTemplates; ++j) added.push_back({&enrolled.z, {j, 0}});
  ASSERT_TRUE(AddToBlock(instance_, &block, added, keys_).ok());
  const uint32_t claimed[] = {slots - 1};
  const auto masked = PrepareMaskedProbe(instance_, enrolled.z, claimed, 0, keys_);
  ASSERT_TRUE(masked.ok()) << masked.status();
  // The worst probe of its length: the template itself, with score 1 in all these slots. Without
  // the noise, at the masked probe's scale; VerifyBlock adds the conjugate, which doubles.
  const auto bare = Open(*MatchBlock(instance_, block, *masked, keys_));
  double distance = 0;
  for (uint32_t j = 0; j < kTemplates; ++j) {
    const double leak = 2 * bare[j].real() * plan.probe_scale / plan.masked_scale;
    distance += std::abs(leak) / (2 * amplitude) / kTemplates;
  }
  EXPECT_LT(distance, 2e-6) << "a slot";
  EXPECT_LT(distance * slots, 8e-3) << "a whole reply";

  // The noise is as large as necessary, and fits the base prime.
  const auto answer = Open(*VerifyBlock(instance_, block, *masked, claimed, 0, keys_));
  double squares = 0, largest = 0;
  for (uint32_t j = 0; j + 1 < slots; ++j) {
    squares += std::norm(answer[j]);
    largest = std::max({largest, std::abs(answer[j].real()), std::abs(answer[j].imag())});
  }
  EXPECT_LT(largest, amplitude * 1.001);
  EXPECT_NEAR(std::sqrt(squares / (2.0 * slots)) / (amplitude / std::sqrt(3)), 1, 0.05);
  RecordProperty("amplitude", std::to_string(amplitude));
  RecordProperty("distance_a_slot", std::to_string(distance * 1e6) + "e-6");
}

INSTANTIATE_TEST_SUITE_P(All, MatchingTest, ::testing::ValuesIn(testing::FusionCases()),
                         testing::FusionCaseName);

TEST(BlockRunsTest, AllBlocksOnceAndNoThreadIdle) {
  EXPECT_TRUE(BlockRuns(0, 3).empty());
  for (size_t threads : {1, 2, 3, 16}) {
    for (size_t blocks = 1; blocks < 150; ++blocks) {
      const std::vector<BlockRun> runs = BlockRuns(blocks, threads);
      size_t next = 0;
      for (const BlockRun& run : runs) {
        EXPECT_EQ(run.first, next);
        EXPECT_GT(run.end, run.first);
        EXPECT_LE(run.end - run.first, kBlocksATile);
        next = run.end;
      }
      EXPECT_EQ(next, blocks);
      // The lengths of runs that are matched at the same time differ by one block at most.
      for (size_t start = 0; start < runs.size(); start += threads) {
        const size_t end = std::min(start + threads, runs.size());
        size_t shortest = kBlocksATile, longest = 0;
        for (size_t i = start; i < end; ++i) {
          shortest = std::min(shortest, runs[i].end - runs[i].first);
          longest = std::max(longest, runs[i].end - runs[i].first);
        }
        EXPECT_LE(longest - shortest, 1u) << blocks << " blocks, " << threads << " threads";
        if (end - start < threads) {
          EXPECT_EQ(longest, 1u);
        }
      }
    }
  }
}

}  // namespace
}  // namespace heft
