// SPDX-License-Identifier: Apache-2.0
// The compact route and matching against plain arithmetic: every output within the error that the
// noise estimate bounds, and scores within what the product promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/threads.h"
#include "ckks/arithmetic.h"
#include "ckks/encryptor.h"
#include "fusion/compact.h"
#include "fusion/fuser.h"
#include "fusion/matching.h"
#include "fusion/probe.h"
#include "fusion/testing.h"

namespace heft {
namespace {

using ckks::Ciphertext;
using testing::Dot;
using testing::FusePlain;
using testing::RandomUnit;

// The product's promise for the compact profile (issue "the main job"): scores within 2e-3.
constexpr double kScoreTolerance = 2e-3;

struct Case {
  const char* name;
  std::vector<uint32_t> dimensions;
  uint32_t gamma;
  int degree;
};

class FusionTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override { Prepare(GetParam(), "compact"); }
  void Prepare(const Case& c, const std::string& profile) {
    model_ = testing::RandomModel(c.dimensions, c.gamma, c.degree, profile);
    auto instance = MakeInstance(model_);
    ASSERT_TRUE(instance.ok()) << instance.status();
    instance_ = *instance;
    secret_ =
        std::make_unique<ckks::SecretKey>(std::move(*ckks::SecretKey::Generate(context(), rng_)));
    keys_ = testing::MakeKeys(context(), instance_.plan, *secret_, rng_);
    auto fuser = Fuser::Create(instance_, model_, &keys_);
    ASSERT_TRUE(fuser.ok()) << fuser.status();
    fuser_ = std::make_unique<Fuser>(std::move(*fuser));
  }
  const ckks::Context& context() const { return *instance_.context; }

  // Random unit vectors; modality `missing` left out.
  std::vector<std::vector<double>> RandomSample(int missing = -1) {
    std::vector<std::vector<double>> sample;
    for (const ModalitySpec& m : model_.modalities) {
      sample.push_back(RandomUnit(m.dimension, random_));
    }
    if (missing >= 0) sample[missing].clear();
    return sample;
  }
  std::vector<Ciphertext> EncryptSample(const std::vector<std::vector<double>>& sample) {
    std::vector<Ciphertext> out;
    for (size_t i = 0; i < sample.size(); ++i) {
      out.emplace_back();
      if (sample[i].empty()) continue;
      auto plain = EncodeCompact(instance_, model_, i, sample[i]);
      EXPECT_TRUE(plain.ok()) << plain.status();
      out.back() =
          ckks::Expand(context(), ckks::EncryptSymmetric(context(), *plain, *secret_, rng_));
    }
    return out;
  }
  absl::StatusOr<Normalised> FuseSample(const std::vector<std::vector<double>>& sample) {
    const std::vector<Ciphertext> encrypted = EncryptSample(sample);
    std::vector<const Ciphertext*> pointers;
    for (const Ciphertext& c : encrypted) pointers.push_back(c.parts.empty() ? nullptr : &c);
    return fuser_->Fuse(pointers);
  }
  std::vector<ckks::Complex> Open(const Ciphertext& c) {
    return instance_.encoder->Decode(ckks::Decrypt(context(), c, *secret_));
  }

  Csprng rng_;
  std::mt19937_64 random_{11};
  Model model_;
  Instance instance_;
  std::unique_ptr<ckks::SecretKey> secret_;
  ckks::EvaluationKeys keys_;
  std::unique_ptr<Fuser> fuser_;
};

TEST_P(FusionTest, FusedTemplateIsThePlainOneInEverySlot) {
  const auto sample = RandomSample();
  double s = 0;
  const std::vector<double> expected = FusePlain(model_, sample, &s);
  auto fused = FuseSample(sample);
  ASSERT_TRUE(fused.ok()) << fused.status();
  EXPECT_EQ(fused->z.limbs(), kTemplateLimbs);
  EXPECT_NEAR(fused->z.scale / instance_.plan.template_scale, 1, 1e-9);
  const auto slots = Open(fused->z);
  double worst = 0;
  for (size_t t = 0; t < slots.size(); ++t) {
    worst = std::max(worst, std::abs(slots[t] - expected[t % model_.gamma]));
  }
  const double bound = ckks::SlotErrorBound(instance_.params(), fused->z.noise, fused->z.scale);
  EXPECT_LE(worst, bound);
  EXPECT_LT(worst, kScoreTolerance);
  const double norm_bound = ckks::SlotErrorBound(instance_.params(), fused->squared_norm.noise,
                                                 fused->squared_norm.scale);
  EXPECT_LT(norm_bound, 3e-2);
  for (const auto& slot : Open(fused->squared_norm)) EXPECT_NEAR(slot.real(), s, norm_bound);
}

TEST_P(FusionTest, MissingModalityIsTheZeroVector) {
  if (model_.modalities.size() < 2) GTEST_SKIP() << "one modality only";
  for (size_t missing = 0; missing < model_.modalities.size(); ++missing) {
    const auto sample = RandomSample(static_cast<int>(missing));
    const std::vector<double> expected = FusePlain(model_, sample);
    auto fused = FuseSample(sample);
    ASSERT_TRUE(fused.ok()) << fused.status();
    const auto slots = Open(fused->z);
    for (size_t r = 0; r < model_.gamma; ++r) {
      EXPECT_NEAR(slots[r].real(), expected[r], kScoreTolerance);
    }
  }
}

TEST_P(FusionTest, ScoresInBothLanesAndVerificationOfOne) {
  const uint32_t slots = context().slots();
  // Neighbours in one lane, the same slot in the other, and the last position.
  const std::vector<uint32_t> positions = {0, 1, 7, slots + 0, slots + 1, 2 * slots - 1};
  std::vector<std::vector<double>> plain;
  std::vector<Normalised> fused;
  for (size_t i = 0; i < positions.size(); ++i) {
    const auto sample = RandomSample();
    plain.push_back(FusePlain(model_, sample));
    fused.push_back(*FuseSample(sample));
  }
  TiledCiphertexts block = EmptyBlock(context(), model_.gamma);
  std::vector<NewTemplate> added;
  for (size_t i = 0; i < positions.size(); ++i) {
    added.push_back({&fused[i].z, PositionOf(positions[i], slots)});
  }
  // In two steps: a block grows.
  ASSERT_TRUE(AddToBlock(instance_, &block, std::span(added).first(2), keys_).ok());
  ASSERT_TRUE(AddToBlock(instance_, &block, std::span(added).subspan(2), keys_).ok());

  const auto probe_sample = RandomSample();
  const std::vector<double> probe = FusePlain(model_, probe_sample);
  auto encrypted_probe = FuseSample(probe_sample);
  ASSERT_TRUE(encrypted_probe.ok());
  auto prepared = PrepareProbe(instance_, encrypted_probe->z, keys_);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  auto scores = MatchBlock(instance_, block, *prepared, keys_);
  ASSERT_TRUE(scores.ok()) << scores.status();
  EXPECT_EQ(scores->limbs(), kScoreLimbs);
  std::vector<double> expected(2 * slots, 0);
  for (size_t i = 0; i < positions.size(); ++i) expected[positions[i]] = Dot(probe, plain[i]);
  const auto opened = Open(*scores);
  double worst = 0;
  for (uint32_t j = 0; j < slots; ++j) {
    worst = std::max(worst, std::abs(opened[j] - ckks::Complex(expected[j], expected[slots + j])));
  }
  EXPECT_LT(worst, kScoreTolerance);
  EXPECT_LE(worst, ckks::SlotErrorBound(instance_.params(), scores->noise, scores->scale));

  // A reply of degree 2 holds the same scores.
  auto degree_two = MatchBlock(instance_, block, *prepared, keys_, /*relinearise=*/false);
  ASSERT_TRUE(degree_two.ok());
  EXPECT_EQ(degree_two->size(), 3u);
  const auto opened_two = Open(*degree_two);
  for (uint32_t j = 0; j < slots; ++j) {
    EXPECT_LT(std::abs(opened_two[j] - opened[j]), kScoreTolerance);
  }

  // A batch of probes against several blocks gives the same residues as one at a time.
  const std::vector<TiledCiphertexts> probes = {*prepared,
                                                *PrepareProbe(instance_, fused[0].z, keys_)};
  const TiledCiphertexts empty = EmptyBlock(context(), model_.gamma);
  const std::vector<TiledCiphertexts> blocks = {block, empty};
  auto batch = MatchBlocks(instance_, blocks, *PackProbes(instance_, probes), keys_);
  ASSERT_TRUE(batch.ok()) << batch.status();
  for (size_t b = 0; b < 2; ++b) {
    for (size_t p = 0; p < 2; ++p) {
      const Ciphertext one = *MatchBlock(instance_, blocks[b], probes[p], keys_);
      EXPECT_TRUE(std::ranges::equal(one.parts[1].values(), (*batch)[b * 2 + p].parts[1].values()));
    }
  }
  // So does one probe against more blocks than are read side by side.
  const std::vector<TiledCiphertexts> many = {block, empty, block, block, empty, block};
  for (const bool relinearise : {true, false}) {
    const auto scores_of_many = MatchBlocks(instance_, many, *prepared, keys_, relinearise);
    ASSERT_TRUE(scores_of_many.ok()) << scores_of_many.status();
    ASSERT_EQ(scores_of_many->size(), many.size());
    for (size_t b = 0; b < many.size(); ++b) {
      const Ciphertext one = *MatchBlock(instance_, many[b], *prepared, keys_, relinearise);
      const Ciphertext& other = (*scores_of_many)[b];
      ASSERT_EQ(one.size(), other.size());
      for (size_t part = 0; part < one.size(); ++part) {
        EXPECT_TRUE(std::ranges::equal(one.parts[part].values(), other.parts[part].values()));
      }
    }
  }
  auto batch_two = MatchBlocks(instance_, blocks, *PackProbes(instance_, probes), keys_,
                               /*relinearise=*/false);
  ASSERT_TRUE(batch_two.ok()) << batch_two.status();
  for (size_t part = 0; part < 3; ++part) {
    EXPECT_TRUE(
        std::ranges::equal(degree_two->parts[part].values(), (*batch_two)[0].parts[part].values()));
  }

  // The shorter route of a probe gives the same scores against the same block.
  auto prober = ProbeFuser::Create(instance_, model_, keys_);
  ASSERT_TRUE(prober.ok()) << prober.status();
  const std::vector<Ciphertext> inputs = EncryptSample(probe_sample);
  std::vector<const Ciphertext*> pointers;
  for (const Ciphertext& c : inputs) pointers.push_back(&c);
  auto short_probe = prober->Fuse(pointers);
  ASSERT_TRUE(short_probe.ok()) << short_probe.status();
  EXPECT_EQ(short_probe->z.limbs(), kMatchLimbs);
  auto short_scores =
      MatchBlock(prober->instance(), block,
                 *PrepareProbe(prober->instance(), short_probe->z, prober->keys()), prober->keys());
  ASSERT_TRUE(short_scores.ok()) << short_scores.status();
  EXPECT_EQ(short_scores->scale, scores->scale);
  EXPECT_NEAR(short_scores->noise.error, scores->noise.error, 0.2 * scores->noise.error);
  const auto short_opened = Open(*short_scores);
  worst = 0;
  for (uint32_t j = 0; j < slots; ++j) {
    worst = std::max(worst,
                     std::abs(short_opened[j] - ckks::Complex(expected[j], expected[slots + j])));
  }
  EXPECT_LT(worst, kScoreTolerance);
  // It has no level left for a mask, and its templates are not those of the other route.
  EXPECT_FALSE(PrepareMaskedProbe(prober->instance(), short_probe->z, {}, 0, prober->keys()).ok());
  EXPECT_FALSE(PrepareMaskedProbe(instance_, short_probe->z, {}, 0, keys_).ok());
  EXPECT_FALSE(PrepareProbe(instance_, short_probe->z, keys_).ok());
  TiledCiphertexts untouched = block;
  const NewTemplate foreign[] = {{&short_probe->z, {3, 0}}};
  EXPECT_FALSE(AddToBlock(instance_, &untouched, foreign, keys_).ok());
  EXPECT_FALSE(AddToBlock(prober->instance(), &untouched, foreign, prober->keys()).ok());
  EXPECT_EQ(untouched, block);
  const Ciphertext* const wrong[] = {&short_probe->z, nullptr};
  EXPECT_FALSE(prober->Fuse(std::span(wrong).first(model_.modalities.size() == 1 ? 1 : 2)).ok());

  for (size_t i = 0; i < positions.size(); ++i) {
    const Position at = PositionOf(positions[i], slots);
    const uint32_t claimed[] = {at.slot};
    auto masked = PrepareMaskedProbe(instance_, encrypted_probe->z, claimed, at.lane, keys_);
    ASSERT_TRUE(masked.ok()) << masked.status();
    auto reply = VerifyBlock(instance_, block, *masked, claimed, at.lane, keys_);
    auto again = VerifyBlock(instance_, block, *masked, claimed, at.lane, keys_);
    ASSERT_TRUE(reply.ok()) << reply.status();
    const auto answer = Open(*reply), answer_again = Open(*again);
    EXPECT_NEAR(answer[at.slot].real(), expected[positions[i]], kScoreTolerance);
    EXPECT_NEAR(answer_again[at.slot].real(), expected[positions[i]], kScoreTolerance);
    // No other identity's score, in either lane: fresh noise far above any score drowns them.
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

// A client may encrypt a vector of any length; what a mask's rounding then lets through must drown.
TEST_P(FusionTest, ALongProbeLearnsNoOtherScore) {
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
      // Runs that are matched at the same time differ by one block at most.
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

TEST_P(FusionTest, TheNumberOfThreadsChangesNothing) {
  const auto encrypted = EncryptSample(RandomSample());
  std::vector<const Ciphertext*> pointers;
  for (const Ciphertext& c : encrypted) pointers.push_back(&c);
  std::vector<TiledCiphertexts> blocks, probes;
  for (int threads : {1, 3}) {
    SetThreadCount(threads);
    const Normalised fused = *fuser_->Fuse(pointers);
    blocks.push_back(EmptyBlock(context(), model_.gamma));
    const NewTemplate added[] = {{&fused.z, {3, 1}}, {&fused.z, {4, 0}}};
    ASSERT_TRUE(AddToBlock(instance_, &blocks.back(), added, keys_).ok());
    probes.push_back(*PrepareProbe(instance_, fused.z, keys_));
  }
  SetThreadCount(0);
  EXPECT_EQ(blocks[0], blocks[1]);
  EXPECT_EQ(probes[0], probes[1]);
}

TEST_P(FusionTest, WrongInputsAreRefused) {
  auto sample = RandomSample();
  EXPECT_FALSE(EncodeCompact(instance_, model_, 0, std::vector<double>(3, 1.0)).ok());
  std::vector<double> bad = sample[0];
  bad[1] = std::nan("");
  EXPECT_FALSE(EncodeCompact(instance_, model_, 0, bad).ok());
  bad.assign(bad.size(), 0);
  EXPECT_FALSE(EncodeCompact(instance_, model_, 0, bad).ok());
  auto encrypted = EncryptSample(sample);
  Ciphertext low;
  ASSERT_TRUE(ckks::DropLimbs(context(), &low, encrypted[0], 3).ok());
  std::vector<const Ciphertext*> pointers(sample.size(), &low);
  EXPECT_FALSE(fuser_->Fuse(pointers).ok());
  pointers.assign(sample.size(), nullptr);
  EXPECT_FALSE(fuser_->Fuse(pointers).ok());
  EXPECT_FALSE(fuser_->Fuse({}).ok());
  ckks::EvaluationKeys lacking = keys_;
  lacking.galois.erase(lacking.galois.begin());
  EXPECT_EQ(Fuser::Create(instance_, model_, &lacking).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

INSTANTIATE_TEST_SUITE_P(All, FusionTest,
                         ::testing::Values(Case{"face_voice_128_g32_cubic", {128, 128}, 32, 3},
                                           Case{"pair_512_g32_quadratic", {512, 512}, 32, 2},
                                           Case{"pair_192_512_g64_cubic", {192, 512}, 64, 3},
                                           Case{"one_512_g16_cubic", {512}, 16, 3},
                                           Case{"three_g32_cubic", {128, 192, 64}, 32, 3},
                                           Case{"odd_dimensions_g16_quadratic", {100, 37}, 16, 2}),
                         [](const auto& test) { return std::string(test.param.name); });

class PostQuantumTest : public FusionTest {
 protected:
  void SetUp() override { Prepare(GetParam(), "compact-pq"); }
};

TEST_P(PostQuantumTest, FusedTemplateIsThePlainOne) {
  const auto sample = RandomSample();
  const std::vector<double> expected = FusePlain(model_, sample);
  auto fused = FuseSample(sample);
  ASSERT_TRUE(fused.ok()) << fused.status();
  const auto slots = Open(fused->z);
  for (size_t t = 0; t < slots.size(); ++t) {
    EXPECT_NEAR(slots[t].real(), expected[t % model_.gamma], 1e-2);
  }
}

INSTANTIATE_TEST_SUITE_P(All, PostQuantumTest,
                         ::testing::Values(Case{"pair_512_g32_cubic", {512, 512}, 32, 3}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace heft
