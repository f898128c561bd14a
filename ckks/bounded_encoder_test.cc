// SPDX-License-Identifier: Apache-2.0
// BoundedEncoder against Encoder if doubles are sufficient, and otherwise against itself.
#include "ckks/bounded_encoder.h"

#include <gtest/gtest.h>

#include <random>

#include "ckks/encoder.h"

namespace heft::ckks {
namespace {

class BoundedEncoderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ParamsSpec spec;
    spec.n = 8192;
    spec.data_bits = {30, 30, 28, 28, 28, 28};
    spec.level_primes = 2;
    auto params = Params::Create(spec);
    ASSERT_TRUE(params.ok()) << params.status();
    context_ = std::make_shared<Context>(*params);
    wide_ = std::make_unique<BoundedEncoder>(context_);
    EXPECT_TRUE(wide_->wide());
  }
  WideSlots Random(double range) {
    std::uniform_real_distribution<double> uniform(-range, range);
    WideSlots slots = wide_->NewSlots();
    for (size_t j = 0; j < slots.high.size(); ++j) {
      slots.high[j] = {uniform(random_), uniform(random_)};
      slots.low[j] = {0x1p-55 * uniform(random_), 0x1p-55 * uniform(random_)};
    }
    return slots;
  }

  std::mt19937_64 random_{3};
  std::shared_ptr<const Context> context_;
  std::unique_ptr<BoundedEncoder> wide_;
};

TEST_F(BoundedEncoderTest, EncodesAsEncoder) {
  const Encoder encoder(context_);
  const BoundedEncoder narrow(context_, /*wide=*/false);
  const WideSlots slots = Random(1);
  const auto plain = encoder.Encode(std::span<const Complex>(slots.high), 0x1p28, 4);
  ASSERT_TRUE(plain.ok());
  const std::vector<double> theirs = CentredCoefficients(*context_, *plain);
  const std::vector<Complex> known = encoder.Decode(*plain);
  const BoundedEncoder* const both[] = {&narrow, wide_.get()};
  for (const BoundedEncoder* ours : both) {
    const auto bounded = ours->Encode(slots, 1, 0x1p28, 4);
    ASSERT_TRUE(bounded.ok()) << bounded.status();
    const std::vector<double> coefficients = CentredCoefficients(*context_, *bounded);
    size_t different = 0;
    for (size_t i = 0; i < theirs.size(); ++i) {
      EXPECT_LE(std::abs(coefficients[i] - theirs[i]), 1) << i;
      different += coefficients[i] != theirs[i] ? 1 : 0;
    }
    EXPECT_LE(different, 3u);              // near a half, other arithmetic rounds the other way
    EXPECT_EQ(bounded->noise.message, 1);  // the bound, and not the largest
    const WideSlots back = ours->Decode(*plain);
    EXPECT_EQ(back.low.empty(), !ours->wide());
    for (size_t j = 0; j < known.size(); ++j) EXPECT_LT(std::abs(back.high[j] - known[j]), 1e-12);
  }
}

TEST_F(BoundedEncoderTest, DoublesHoldPadsBesideTemplates) {
  // For a level of one prime: 2^24 at a scale of 2^27.
  const BoundedEncoder narrow(context_, /*wide=*/false);
  const WideSlots slots = Random(0x1p24);
  const auto plain = narrow.Encode(slots, 0x1p24, 0x1p27, 2);
  ASSERT_TRUE(plain.ok()) << plain.status();
  const WideSlots back = narrow.Decode(*plain);
  double sum = 0;
  for (size_t j = 0; j < back.high.size(); ++j) sum += std::norm(back.high[j] - slots.high[j]);
  const double rms = std::sqrt(sum / double(back.high.size())) * 0x1p27;
  EXPECT_NEAR(rms / EncodingError(context_->params()), 1, 0.05);
}

TEST_F(BoundedEncoderTest, KeepsSmallBesideLarge) {
  const double scale = 0x1p56;
  for (const double range : {1.0, 0x1p24}) {
    const WideSlots slots = Random(range);
    const auto plain = wide_->Encode(slots, range, scale, 4);
    ASSERT_TRUE(plain.ok()) << plain.status();
    const WideSlots back = wide_->Decode(*plain);
    double sum = 0;
    for (size_t j = 0; j < slots.high.size(); ++j) {
      // Equal halves cancel exactly.
      const Complex error = (back.high[j] - slots.high[j]) + (back.low[j] - slots.low[j]);
      sum += std::norm(error);
    }
    // Only the rounding of coefficients, without errors of the arithmetic.
    const double rms = std::sqrt(sum / static_cast<double>(slots.high.size())) * scale;
    EXPECT_NEAR(rms / EncodingError(context_->params()), 1, 0.05) << range;
  }
}

TEST_F(BoundedEncoderTest, RefusesBoundsThatDoNotFit) {
  const auto bad = absl::StatusCode::kInvalidArgument;
  const BoundedEncoder narrow(context_, /*wide=*/false);
  const WideSlots slots = wide_->NewSlots();  // zeros: what stands there is not looked at
  EXPECT_TRUE(wide_->Encode(slots, 1, 0x1p56, 4).ok());
  EXPECT_TRUE(wide_->Encode(slots, 0x1p40, 0x1p56, 4).ok());
  EXPECT_EQ(wide_->Encode(slots, 0x1p60, 0x1p56, 4).status().code(), bad);
  EXPECT_EQ(wide_->Encode(slots, 1, 0x1p56, 1).status().code(), bad);
  EXPECT_EQ(wide_->Encode(slots, 1, 0, 4).status().code(), bad);
  EXPECT_EQ(wide_->Encode({}, 1, 0x1p28, 4).status().code(), bad);
  EXPECT_EQ(narrow.Encode(slots, 1, 0x1p60, 4).status().code(), bad);
  EXPECT_EQ(wide_->Encode(narrow.NewSlots(), 1, 0x1p28, 4).status().code(), bad);
}

}  // namespace
}  // namespace heft::ckks
