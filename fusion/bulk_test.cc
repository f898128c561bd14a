// SPDX-License-Identifier: Apache-2.0
// Bulk fusion compared with plain arithmetic, and its templates together with those of the compact
// route in one block.
#include "fusion/bulk.h"

#include <gtest/gtest.h>

#include "base/threads.h"
#include "ckks/arithmetic.h"
#include "ckks/encryptor.h"
#include "fusion/compact.h"
#include "fusion/fuser.h"
#include "fusion/testing.h"

namespace heft {
namespace {

using ckks::Ciphertext;
using testing::Dot;
using testing::FusePlain;

constexpr double kTolerance = 2e-3;

struct Case {
  const char* name;
  std::vector<uint32_t> dimensions;
  uint32_t gamma;
  int degree;
};

using Sample = std::vector<std::vector<double>>;

class BulkTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    model_ = testing::RandomModel(GetParam().dimensions, GetParam().gamma, GetParam().degree);
    instance_ = *MakeInstance(model_);
    secret_ =
        std::make_unique<ckks::SecretKey>(std::move(*ckks::SecretKey::Generate(context(), rng_)));
    public_key_ = ckks::MakePublicKey(context(), *secret_, rng_);
    keys_ = testing::MakeKeys(context(), instance_.plan.keys, *secret_, rng_);
  }
  const ckks::Context& context() const { return *instance_.context; }
  uint32_t slots() const { return context().slots(); }

  // z|^2 is in the approximation's interval: outside it templates and their errors grow fast.
  Sample RandomSample() {
    double s = 0;
    Sample sample;
    while (!model_.approximation.interval.Contains(s)) {
      sample.clear();
      for (const ModalitySpec& m : model_.modalities) {
        sample.push_back(testing::RandomUnit(m.dimension, random_));
      }
      FusePlain(model_, sample, &s);
    }
    return sample;
  }
  std::vector<Sample> RandomSamples(size_t count) {
    std::vector<Sample> samples;
    for (size_t j = 0; j < count; ++j) samples.push_back(RandomSample());
    return samples;
  }
  std::vector<Ciphertext> EncryptColumns(const std::vector<Sample>& samples, size_t modality) {
    std::vector<std::vector<double>> rows;
    for (const Sample& s : samples) rows.push_back(s[modality]);
    auto columns = SimdColumns::Create(instance_, model_, modality, rows);
    EXPECT_TRUE(columns.ok()) << columns.status();
    std::vector<Ciphertext> out(columns->dimension());
    std::vector<Csprng> rngs(out.size());  // made in order: randomness is fixed
    ParallelFor(out.size(), [&](size_t d) {
      out[d] = ckks::Encrypt(context(), *columns->Encode(instance_, static_cast<uint32_t>(d)),
                             public_key_, rngs[d]);
    });
    return out;
  }
  BulkFuser NewFuser() { return *BulkFuser::Create(instance_, model_, &keys_); }
  TemplateBatch FuseBulk(const std::vector<Sample>& samples, int missing = -1) {
    BulkFuser fuser = NewFuser();
    for (size_t m = 0; m < model_.modalities.size(); ++m) {
      if (static_cast<int>(m) == missing) continue;
      const std::vector<Ciphertext> columns = EncryptColumns(samples, m);
      // In pieces, the last one first: any order is permitted.
      const size_t split = columns.size() / 3;
      const auto all = std::span(columns);
      EXPECT_TRUE(fuser.Add(m, static_cast<uint32_t>(split), all.subspan(split)).ok());
      EXPECT_TRUE(fuser.Add(m, 0, all.first(split)).ok());
    }
    auto batch = fuser.Finish(static_cast<uint32_t>(samples.size()));
    EXPECT_TRUE(batch.ok()) << batch.status();
    return std::move(*batch);
  }
  Ciphertext FuseOne(const Sample& sample) {
    std::vector<Ciphertext> encrypted;
    for (size_t m = 0; m < sample.size(); ++m) {
      encrypted.push_back(ckks::Encrypt(context(), *EncodeCompact(instance_, model_, m, sample[m]),
                                        public_key_, rng_));
    }
    std::vector<const Ciphertext*> pointers;
    for (const Ciphertext& c : encrypted) pointers.push_back(&c);
    return Fuser::Create(instance_, model_, &keys_)->Fuse(pointers)->z;
  }
  std::vector<ckks::Complex> Open(const Ciphertext& c) {
    return instance_.encoder->Decode(ckks::Decrypt(context(), c, *secret_));
  }
  // Worst error of a block's scores; expected[position] is zero without a template.
  double WorstScore(const TiledCiphertexts& block, const std::vector<Sample>& enrolled,
                    const std::vector<uint32_t>& positions) {
    const Sample probe_sample = RandomSample();
    const std::vector<double> probe = FusePlain(model_, probe_sample);
    auto prepared = PrepareProbe(instance_, FuseOne(probe_sample), keys_);
    EXPECT_TRUE(prepared.ok()) << prepared.status();
    auto scores = MatchBlock(instance_, block, *prepared, keys_);
    EXPECT_TRUE(scores.ok()) << scores.status();
    std::vector<double> expected(2 * slots(), 0);
    for (size_t i = 0; i < positions.size(); ++i) {
      expected[positions[i]] = Dot(probe, FusePlain(model_, enrolled[i]));
    }
    const auto opened = Open(*scores);
    double worst = 0;
    for (uint32_t j = 0; j < slots(); ++j) {
      worst = std::max(worst, std::abs(opened[j].real() - expected[j]));
      worst = std::max(worst, std::abs(opened[j].imag() - expected[slots() + j]));
    }
    EXPECT_LE(worst, ckks::SlotErrorBound(instance_.params(), scores->noise, scores->scale));
    return worst;
  }

  Csprng rng_;
  std::mt19937_64 random_{5};
  Model model_;
  Instance instance_;
  std::unique_ptr<ckks::SecretKey> secret_;
  ckks::PublicKey public_key_;
  ckks::EvaluationKeys keys_;
};

TEST_P(BulkTest, TemplatesAreThePlainOnes) {
  const std::vector<Sample> samples = RandomSamples(300);
  const TemplateBatch batch = FuseBulk(samples);
  ASSERT_EQ(batch.coordinates.size(), model_.gamma);
  std::vector<std::vector<double>> expected;
  for (const Sample& s : samples) expected.push_back(FusePlain(model_, s));
  for (uint32_t r = 0; r < model_.gamma; ++r) {
    const Ciphertext& c = batch.coordinates[r];
    EXPECT_EQ(c.limbs(), TemplateLimbs(instance_.params()));
    EXPECT_NEAR(c.scale / instance_.plan.matching.template_scale, 1, 1e-9);
    const auto values = Open(c);
    double worst = 0;
    for (size_t j = 0; j < slots(); ++j) {
      const double right = j < samples.size() ? expected[j][r] : 0;
      worst = std::max(worst, std::abs(values[j] - right));
    }
    EXPECT_LT(worst, kTolerance);
    EXPECT_LE(worst, ckks::SlotErrorBound(instance_.params(), c.noise, c.scale));
  }
}

TEST_P(BulkTest, BlocksMixBothRoutes) {
  // One single template, then a batch that continues in the other lane, and one more template.
  std::vector<Sample> samples = RandomSamples(slots() / 2 + 300);
  const auto count = static_cast<uint32_t>(samples.size());
  const uint32_t first = slots() / 2 + 1;
  TemplateBatch batch = FuseBulk(samples);
  ASSERT_TRUE(MoveBatch(instance_, &batch, first, keys_).ok());
  TiledCiphertexts block = EmptyBlock(context(), model_.gamma);
  const uint32_t in_lane = slots() - first;
  ASSERT_TRUE(AddBatchToBlock(instance_, &block, batch, first, in_lane, 0, keys_).ok());
  ASSERT_TRUE(AddBatchToBlock(instance_, &block, batch, 0, count - in_lane, 1, keys_).ok());
  std::vector<uint32_t> positions;
  for (uint32_t j = 0; j < count; ++j) positions.push_back(first + j);
  for (uint32_t position : {0u, slots() + count}) {
    samples.push_back(RandomSample());
    positions.push_back(position);
    const Ciphertext z = FuseOne(samples.back());
    const NewTemplate added[] = {{&z, PositionOf(position, slots())}};
    ASSERT_TRUE(AddToBlock(instance_, &block, added, keys_).ok());
  }
  EXPECT_LT(WorstScore(block, samples, positions), kTolerance);
}

TEST_P(BulkTest, WhatIsLeftOutJoinsNoBlock) {
  const std::vector<Sample> samples = RandomSamples(3);
  TemplateBatch batch = FuseBulk(samples);
  batch.left_out = {false, true, false};
  TiledCiphertexts block = EmptyBlock(context(), model_.gamma);
  ASSERT_TRUE(AddBatchToBlock(instance_, &block, batch, 0, 3, 0, keys_).ok());
  EXPECT_LT(WorstScore(block, {samples[0], samples[2]}, {0, 2}), kTolerance);
  const TiledCiphertexts before = block;
  ASSERT_TRUE(AddBatchToBlock(instance_, &block, batch, 1, 1, 1, keys_).ok()) << "nobody is added";
  EXPECT_EQ(block, before);
  batch.left_out.pop_back();
  EXPECT_FALSE(AddBatchToBlock(instance_, &block, batch, 0, 3, 1, keys_).ok()) << "one is missing";
}

TEST_P(BulkTest, MissingModalityIsTheZeroVector) {
  if (model_.modalities.size() < 2) GTEST_SKIP() << "one modality only";
  std::vector<Sample> samples = RandomSamples(20);  // shorter without one: well inside
  const TemplateBatch batch = FuseBulk(samples, 0);
  for (Sample& s : samples) s[0].clear();
  const auto values = Open(batch.coordinates[1]);
  for (size_t j = 0; j < samples.size(); ++j) {
    EXPECT_NEAR(values[j].real(), FusePlain(model_, samples[j])[1], kTolerance);
  }
}

TEST_P(BulkTest, ResultsDoNotDependOnThreads) {
  const std::vector<Sample> samples = RandomSamples(3);
  std::vector<std::vector<Ciphertext>> columns;
  for (size_t m = 0; m < model_.modalities.size(); ++m) {
    columns.push_back(EncryptColumns(samples, m));
  }
  std::vector<TiledCiphertexts> blocks;
  for (int threads : {1, 3}) {
    SetThreadCount(threads);
    BulkFuser fuser = NewFuser();
    for (size_t m = 0; m < columns.size(); ++m) ASSERT_TRUE(fuser.Add(m, 0, columns[m]).ok());
    TemplateBatch batch = *fuser.Finish(3);
    ASSERT_TRUE(MoveBatch(instance_, &batch, 77, keys_).ok());
    blocks.push_back(EmptyBlock(context(), model_.gamma));
    ASSERT_TRUE(AddBatchToBlock(instance_, &blocks.back(), batch, 77, 3, 1, keys_).ok());
  }
  SetThreadCount(0);
  EXPECT_EQ(blocks[0], blocks[1]);
}

TEST_P(BulkTest, WrongInputsAreRefused) {
  std::vector<std::vector<double>> rows(2, RandomSample()[0]);
  EXPECT_FALSE(SimdColumns::Create(instance_, model_, 9, rows).ok());
  EXPECT_FALSE(SimdColumns::Create(instance_, model_, 0, {}).ok());
  EXPECT_FALSE(SimdColumns::Create(instance_, model_, 0,
                                   std::vector<std::vector<double>>(slots() + 1, rows[0]))
                   .ok());
  EXPECT_FALSE(SimdColumns::Create(instance_, model_, 0, rows)->Encode(instance_, 1 << 20).ok());
  rows[1][0] = std::nan("");
  EXPECT_EQ(SimdColumns::Create(instance_, model_, 0, rows).status().message().substr(0, 6),
            "row 1:");

  const std::vector<Sample> samples = RandomSamples(2);
  const std::vector<Ciphertext> columns = EncryptColumns(samples, 0);
  BulkFuser fuser = NewFuser();
  EXPECT_FALSE(fuser.Finish(2).ok());  // nothing yet
  EXPECT_FALSE(fuser.Add(9, 0, columns).ok());
  EXPECT_FALSE(fuser.Add(0, 1, columns).ok());
  const auto all = std::span(columns);
  ASSERT_TRUE(fuser.Add(0, 0, all.first(2)).ok());
  EXPECT_FALSE(fuser.Add(0, 1, all.subspan(1)).ok());  // coordinate 1 again
  EXPECT_FALSE(fuser.Finish(2).ok());                  // some are missing
  std::vector<Ciphertext> low(1);
  ASSERT_TRUE(ckks::DropLimbs(context(), &low[0], columns[2], 3).ok());
  EXPECT_FALSE(fuser.Add(0, 2, low).ok());
  ASSERT_TRUE(fuser.Add(0, 2, all.subspan(2)).ok());
  EXPECT_FALSE(fuser.Finish(0).ok());
  EXPECT_FALSE(fuser.Finish(slots() + 1).ok());
  TemplateBatch batch = *fuser.Finish(2);

  TiledCiphertexts block = EmptyBlock(context(), model_.gamma);
  const TiledCiphertexts empty = block;
  EXPECT_FALSE(AddBatchToBlock(instance_, &block, batch, 0, 3, 0, keys_).ok());
  EXPECT_FALSE(AddBatchToBlock(instance_, &block, batch, 2, 1, 0, keys_).ok());
  EXPECT_FALSE(AddBatchToBlock(instance_, &block, batch, slots(), 1, 0, keys_).ok());
  EXPECT_FALSE(AddBatchToBlock(instance_, &block, batch, 0, 2, 2, keys_).ok());
  EXPECT_FALSE(MoveBatch(instance_, &batch, slots(), keys_).ok());
  ASSERT_TRUE(ckks::DropLimbs(context(), &batch.coordinates[1], batch.coordinates[1], 2).ok());
  EXPECT_FALSE(AddBatchToBlock(instance_, &block, batch, 0, 2, 0, keys_).ok());
  EXPECT_EQ(block, empty);
}

INSTANTIATE_TEST_SUITE_P(All, BulkTest,
                         ::testing::Values(Case{"pair_96_64_g32_cubic", {96, 64}, 32, 3},
                                           Case{"pair_40_24_g16_quadratic", {40, 24}, 16, 2},
                                           Case{"one_64_g8_cubic", {64}, 8, 3},
                                           Case{"three_g64_quadratic", {30, 20, 10}, 64, 2}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace heft
