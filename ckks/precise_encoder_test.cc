// SPDX-License-Identifier: Apache-2.0
// PreciseEncoder against Encoder where doubles are enough, and against itself where they are not.
#include "ckks/precise_encoder.h"

#include <gtest/gtest.h>

#include <random>

#include "ckks/encoder.h"

namespace heft::ckks {
namespace {

class PreciseEncoderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ParamsSpec spec;
    spec.n = 8192;
    spec.data_bits = {30, 30, 28, 28, 28, 28};
    spec.level_primes = 2;
    auto params = Params::Create(spec);
    ASSERT_TRUE(params.ok()) << params.status();
    context_ = std::make_shared<Context>(*params);
    precise_ = std::make_unique<PreciseEncoder>(context_);
  }
  PreciseSlots Random(double range) {
    std::uniform_real_distribution<double> uniform(-range, range);
    PreciseSlots slots(context_->slots());
    for (size_t j = 0; j < slots.high.size(); ++j) {
      slots.high[j] = {uniform(random_), uniform(random_)};
      slots.low[j] = {0x1p-55 * uniform(random_), 0x1p-55 * uniform(random_)};
    }
    return slots;
  }

  std::mt19937_64 random_{3};
  std::shared_ptr<const Context> context_;
  std::unique_ptr<PreciseEncoder> precise_;
};

TEST_F(PreciseEncoderTest, EncodesAsEncoder) {
  const Encoder encoder(context_);
  const PreciseSlots slots = Random(1);
  const auto precise = precise_->Encode(slots, 0x1p28, 4);
  ASSERT_TRUE(precise.ok()) << precise.status();
  const auto plain = encoder.Encode(std::span<const Complex>(slots.high), 0x1p28, 4);
  ASSERT_TRUE(plain.ok());
  const std::vector<double> ours = CentredCoefficients(*context_, *precise);
  const std::vector<double> theirs = CentredCoefficients(*context_, *plain);
  size_t different = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_LE(std::abs(ours[i] - theirs[i]), 1) << i;
    different += ours[i] != theirs[i] ? 1 : 0;
  }
  EXPECT_LE(different, 3u);  // near a half, doubles round the other way
  const PreciseSlots back = precise_->Decode(*plain);
  const std::vector<Complex> known = encoder.Decode(*plain);
  for (size_t j = 0; j < known.size(); ++j) EXPECT_LT(std::abs(back.high[j] - known[j]), 1e-12);
}

TEST_F(PreciseEncoderTest, KeepsSmallBesideLarge) {
  const double scale = 0x1p56;
  for (const double range : {1.0, 0x1p24}) {
    const PreciseSlots slots = Random(range);
    const auto plain = precise_->Encode(slots, scale, 4);
    ASSERT_TRUE(plain.ok()) << plain.status();
    const PreciseSlots back = precise_->Decode(*plain);
    double sum = 0;
    for (size_t j = 0; j < slots.high.size(); ++j) {
      // Equal halves cancel exactly.
      const Complex error = (back.high[j] - slots.high[j]) + (back.low[j] - slots.low[j]);
      sum += std::norm(error);
    }
    // The rounding of coefficients, and nothing of the arithmetic.
    const double rms = std::sqrt(sum / static_cast<double>(slots.high.size())) * scale;
    EXPECT_NEAR(rms / EncodingError(context_->params()), 1, 0.05) << range;
  }
}

TEST_F(PreciseEncoderTest, RefusesWhatDoesNotFit) {
  PreciseSlots slots(context_->slots());
  slots.high[5] = 0x1p60;
  EXPECT_EQ(precise_->Encode(slots, 0x1p56, 4).status().code(), absl::StatusCode::kInvalidArgument);
  slots.high[5] = 1;
  EXPECT_TRUE(precise_->Encode(slots, 0x1p56, 4).ok());
  EXPECT_FALSE(precise_->Encode(slots, 0x1p56, 1).ok());
  EXPECT_FALSE(precise_->Encode(slots, 0, 4).ok());
  EXPECT_FALSE(precise_->Encode(PreciseSlots(3), 0x1p28, 4).ok());
}

}  // namespace
}  // namespace heft::ckks
