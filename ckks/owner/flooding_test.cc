// SPDX-License-Identifier: Apache-2.0
#include "ckks/owner/flooding.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ckks/encoder.h"
#include "ckks/noise.h"

namespace heft::ckks {
namespace {

// Parameters with room: a fresh ciphertext at a scale of 2^58 below three primes.
class FloodingTest : public ::testing::Test {
 protected:
  FloodingTest()
      : context_(
            std::make_shared<Context>(*Params::Create({.n = 8192, .data_bits = {30, 30, 30}}))),
        encoder_(context_),
        secret_(*SecretKey::Generate(*context_, rng_)) {
    std::vector<double> values(context_->slots());
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i));
    plain_ = *encoder_.Encode(values, std::ldexp(1.0, 58), 3);
    cipher_ = Expand(*context_, EncryptSymmetric(*context_, plain_, secret_, rng_));
  }
  // Root mean square distance between two plaintexts' coefficients.
  double Distance(const Plaintext& a, const Plaintext& b) const {
    const std::vector<double> x = CentredCoefficients(*context_, a);
    const std::vector<double> y = CentredCoefficients(*context_, b);
    double squares = 0;
    for (size_t i = 0; i < x.size(); ++i) squares += (x[i] - y[i]) * (x[i] - y[i]);
    return std::sqrt(squares / static_cast<double>(x.size()));
  }

  Csprng rng_;
  std::shared_ptr<Context> context_;
  Encoder encoder_;
  SecretKey secret_;
  Plaintext plain_;
  Ciphertext cipher_;
};

TEST_F(FloodingTest, FormulaOfOpenFhe) {
  // sqrt(12 t) 2^(s / 2) error, the error of a coefficient: 2^10 here.
  const Params& params = context_->params();
  const double slot_error = std::ldexp(1.0, 10) * std::sqrt(8192.0);
  EXPECT_DOUBLE_EQ(FloodingDeviation(params, slot_error, {.security_bits = 30, .queries = 3}),
                   6 * std::ldexp(1.0, 25));
  EXPECT_DOUBLE_EQ(FloodingDeviation(params, slot_error, {.security_bits = 40, .queries = 12}),
                   12 * std::ldexp(1.0, 30));
}

TEST_F(FloodingTest, AddsNoiseOfThatSizeAfreshEachTime) {
  const FloodingOptions options = {.security_bits = 30, .queries = 49};
  auto first = DecryptFlooded(*context_, cipher_, secret_, options);
  ASSERT_TRUE(first.ok()) << first.status();
  auto second = DecryptFlooded(*context_, cipher_, secret_, options);
  ASSERT_TRUE(second.ok()) << second.status();
  const double expected = FloodingDeviation(context_->params(), cipher_.noise.error, options);
  const Plaintext exact = Decrypt(*context_, cipher_, secret_);
  // With 8192 samples the deviation is known to 0.8% (one standard deviation).
  EXPECT_NEAR(Distance(*first, exact) / expected, 1, 0.05);
  EXPECT_NEAR(Distance(*first, *second) / expected, std::sqrt(2.0), 0.07);
  // The ciphertext's own error, which could reveal the key, is 2^19 times smaller; the values are
  // preserved.
  EXPECT_LT(Distance(exact, plain_) * std::ldexp(1.0, 19), Distance(*first, exact));
  const std::vector<Complex> slots = encoder_.Decode(*first);
  for (size_t i = 0; i < slots.size(); ++i) {
    ASSERT_NEAR(slots[i].real(), std::sin(static_cast<double>(i)), 1e-6);
  }
}

TEST_F(FloodingTest, RefusedWithoutRoom) {
  auto code = [&](const Ciphertext& c, const FloodingOptions& options) {
    return DecryptFlooded(*context_, c, secret_, options).status().code();
  };
  EXPECT_EQ(code(cipher_, {}), absl::StatusCode::kOk);
  // More security than the precision permits; then less than the minimum.
  EXPECT_EQ(code(cipher_, {.security_bits = 128}), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(cipher_, {.security_bits = 29}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(cipher_, {.queries = 0}), absl::StatusCode::kInvalidArgument);
  // Precise enough, but the message fills the modulus.
  Ciphertext low = cipher_;
  for (ring::RnsPoly& part : low.parts) part.Truncate(2);
  low.noise.message = 8;
  EXPECT_EQ(code(low, {}), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace heft::ckks
