// SPDX-License-Identifier: Apache-2.0
#include "fusion/samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ckks/encryptor.h"
#include "fusion/compact.h"
#include "fusion/projected.h"
#include "fusion/testing.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

class SamplesTest : public ::testing::Test {
 protected:
  SamplesTest()
      : model_(testing::RandomModel({30, 20}, 16, 3)),
        instance_(*MakeInstance(model_)),
        secret_(*ckks::SecretKey::Generate(context(), rng_)),
        public_key_(ckks::MakePublicKey(context(), secret_, rng_)) {
    for (int i = 0; i < 3; ++i) rows_.push_back(testing::RandomUnit(30, random_));
  }
  const ckks::Context& context() const { return *instance_.context; }
  absl::StatusOr<std::vector<uint8_t>> Encrypt(const std::vector<std::string>& labels,
                                               SampleEncoding encoding) const {
    return EncryptSamples(instance_, model_, 0, public_key_, rows_, labels, encoding);
  }
  absl::StatusOr<SampleReader> Parse(const std::vector<uint8_t>& bytes) const {
    return SampleReader::Parse(instance_.context, bytes, "samples");
  }
  std::vector<ckks::Complex> Open(const ckks::Ciphertext& c) const {
    return instance_.encoder->Decode(ckks::Decrypt(context(), c, secret_));
  }

  Csprng rng_;
  std::mt19937_64 random_{3};
  const Model model_;
  const Instance instance_;
  const ckks::SecretKey secret_;
  const ckks::PublicKey public_key_;
  std::vector<std::vector<double>> rows_;
};

TEST_F(SamplesTest, RowsComeBackInOrderWithTheirLabels) {
  const std::vector<std::string> labels = {"ann", "cyd", "bob"};
  const auto reader = Parse(*Encrypt(labels, SampleEncoding::kCompact));
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(reader->labels(), labels);
  EXPECT_EQ(reader->header().modality, "m0");
  EXPECT_EQ(reader->header().key_id, secret_.key_id());
  for (size_t i = 0; i < rows_.size(); ++i) {
    const auto slots = Open(*reader->Sample(i));
    const auto expected =
        CompactSlots(rows_[i], reader->header().run, reader->header().gamma, context().slots());
    for (size_t j = 0; j < slots.size(); ++j) {
      ASSERT_NEAR(std::abs(slots[j] - expected[j]), 0, 1e-3) << i << " " << j;
    }
  }
  EXPECT_EQ(reader->Sample(3).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(reader->Coordinate(0).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SamplesTest, BulkFilesHoldACoordinateACiphertext) {
  const auto reader = Parse(*Encrypt({}, SampleEncoding::kBulk));
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_TRUE(reader->bulk());
  EXPECT_EQ(reader->size(), rows_.size());
  for (size_t d : {0, 7, 29}) {
    const auto slots = Open(*reader->Coordinate(d));
    for (size_t i = 0; i < rows_.size(); ++i) EXPECT_NEAR(slots[i].real(), rows_[i][d], 1e-3);
  }
  EXPECT_EQ(reader->Coordinate(30).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(reader->Sample(0).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SamplesTest, FilesNoticeDamage) {
  for (SampleEncoding encoding : {SampleEncoding::kCompact, SampleEncoding::kBulk}) {
    const std::vector<uint8_t> good = *Encrypt({"a", "b", "c"}, encoding);
    for (size_t size : {size_t{0}, size_t{10}, good.size() / 2, good.size() - 1}) {
      const std::vector<uint8_t> cut(good.begin(), good.begin() + size);
      EXPECT_EQ(Parse(cut).status().code(), absl::StatusCode::kDataLoss);
    }
    std::vector<uint8_t> flipped = good;
    flipped[flipped.size() / 3] ^= 0x10;
    EXPECT_EQ(Parse(flipped).status().code(), absl::StatusCode::kDataLoss);
  }
}

TEST_F(SamplesTest, WrongRowsAndLabelsAreRefused) {
  for (SampleEncoding encoding : {SampleEncoding::kCompact, SampleEncoding::kBulk}) {
    EXPECT_FALSE(Encrypt({"one label", "of three rows"}, encoding).ok());
    EXPECT_FALSE(Encrypt({"a", "b\nb", "c"}, encoding).ok());
    rows_[1][5] = std::nan("");
    EXPECT_THAT(std::string(Encrypt({}, encoding).status().message()), HasSubstr("row 1"));
    rows_[1][5] = 0;
  }
}

// A template's scale before normalisation exceeds the encoder's integers.
TEST(FuseInClearTest, IsWhatFusionComputes) {
  std::mt19937_64 random(4);
  const Model model = testing::RandomModel({30, 20}, 16, 3);
  std::vector<float> first, second;
  std::vector<double> expected;
  for (int row = 0; row < 5; ++row) {
    const experiment::Vectors sample = experiment::RandomSample(model, random);
    for (const double v : sample[0]) first.push_back(static_cast<float>(3 * v));
    for (const double v : sample[1]) second.push_back(static_cast<float>(v));
    const std::vector<double> fused = testing::FusePlain(model, sample);
    expected.insert(expected.end(), fused.begin(), fused.end());
  }
  const std::vector<Samples> both = {{"m1", second}, {"m0", first}};
  const auto fused = FuseInClear(model, both);
  ASSERT_TRUE(fused.ok()) << fused.status();
  EXPECT_THAT(*fused, ::testing::Pointwise(::testing::DoubleNear(1e-6), expected));

  // A missing modality, and a norm that the approximation does not take.
  Model narrow = model;
  narrow.approximation.interval = {10, 20};
  size_t outside = 0;
  EXPECT_EQ(FuseInClear(narrow, {&both[0], 1}, &outside)->size(), 5 * 16);
  EXPECT_EQ(outside, 5);
  EXPECT_THAT(FuseInClear(model, std::vector<Samples>{{"m0", first}, {"m1", {second.data(), 20}}})
                  .status()
                  .message(),
              HasSubstr("rows"));
  EXPECT_FALSE(FuseInClear(model, {}).ok());
}

TEST(ProjectedSamplesTest, AreEncodedAtEveryScaleThatEnrolmentTakes) {
  for (const char* profile : {"standard", "flooded"}) {
    const Model model = testing::RandomModel({30, 20}, 16, 3, profile);
    const Instance instance = *MakeInstance(model);
    std::mt19937_64 random(5);
    std::vector<double> z = testing::RandomUnit(model.gamma, random);
    for (double& v : z) v *= 2;  // longer than any that is enrolled
    const auto plain = EncodeProjected(instance, SampleUse::kEnrolment, z);
    ASSERT_TRUE(plain.ok()) << profile << ": " << plain.status();
    EXPECT_EQ(plain->scale, ProjectedScale(instance, SampleUse::kEnrolment));
    EXPECT_EQ(plain->scale > 0x1p62, std::string(profile) == "flooded");
    const std::vector<ckks::Complex> slots = instance.encoder->Decode(*plain);
    const double rounding = 8 * plain->noise.error / plain->scale;
    for (size_t t = 0; t < slots.size(); ++t) {
      ASSERT_NEAR(std::abs(slots[t] - z[t % model.gamma]), 0, rounding + 1e-14) << profile;
    }
  }
}

}  // namespace
}  // namespace heft
