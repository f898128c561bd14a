// SPDX-License-Identifier: Apache-2.0
#include "ckks/ring_switch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>

#include "base/testing.h"
#include "ckks/encoder.h"
#include "ckks/owner/secret_key.h"
#include "ckks/seeded.h"

namespace heft::ckks {
namespace {

// Two rings with the primes of the product's small ring, degrees 2n and n.
class RingSwitchTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    ParamsSpec spec;
    spec.n = GetParam();
    spec.data_bits = {27, 26, 25};
    spec.special_bits = 28;
    spec.allow_insecure = true;
    const Params large = *Params::Create(spec);
    const Params small = *Params::FromPrimes(spec.n / 2, large.primes(), /*allow_insecure=*/true);
    from_ = std::make_shared<Context>(large);
    to_ = std::make_shared<Context>(small);
    from_encoder_ = std::make_unique<Encoder>(from_);
    to_encoder_ = std::make_unique<Encoder>(to_);
    secret_ = std::make_unique<SecretKey>(std::move(*SecretKey::Generate(*from_, rng_)));
    half_ = std::make_unique<SecretKey>(std::move(*SecretKey::Generate(*to_, rng_)));
    auto key = MakeRingSwitchKey(*from_, *secret_, *half_, 3, rng_);
    ASSERT_TRUE(key.ok()) << key.status();
    key_ = SwitchKey(*from_, *key, 1);
  }
  Ciphertext Encrypt(const Plaintext& plain) {
    return Expand(*from_, EncryptSymmetric(*from_, plain, *secret_, rng_));
  }

  TestCsprng rng_{Seed{3}};
  std::mt19937_64 random_{5};
  std::shared_ptr<Context> from_, to_;
  std::unique_ptr<Encoder> from_encoder_, to_encoder_;
  std::unique_ptr<SecretKey> secret_, half_;
  SwitchKey key_;
};

// Known answer: the halves are the even and odd coefficients of the message, as plain integers.
TEST_P(RingSwitchTest, HalvesAreEvenAndOddCoefficients) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Complex> slots(from_->slots());
  for (Complex& v : slots) v = {uniform(random_), uniform(random_)};
  for (size_t limbs : {1u, 2u, 3u}) {
    const double scale = limbs == 1 ? 0x1p20 : 0x1p28;
    const Plaintext plain = *from_encoder_->Encode(std::span<const Complex>(slots), scale, limbs);
    const std::vector<double> expected = CentredCoefficients(*from_, plain);
    const auto halves = SplitRing(*from_, *to_, Encrypt(plain), key_);
    ASSERT_TRUE(halves.ok()) << halves.status();
    for (const bool odd : {false, true}) {
      const Ciphertext& half = odd ? halves->odd : halves->even;
      EXPECT_EQ(half.limbs(), limbs);
      const Plaintext opened = Decrypt(*to_, half, *half_);
      const std::vector<double> got = CentredCoefficients(*to_, opened);
      double squares = 0;
      for (size_t i = 0; i < got.size(); ++i) {
        const double error = got[i] - expected[2 * i + (odd ? 1 : 0)];
        squares += error * error;
      }
      // A slot's error is the coefficients' error times sqrt(n / 2).
      const double measured = std::sqrt(squares);
      EXPECT_LE(measured, half.noise.error) << limbs << " limbs";
      EXPECT_LE(half.noise.error, 8 * measured) << limbs << " limbs";
    }
  }
}

// The even half holds all of a vector whose halves of slots agree; other vectors need both halves.
TEST_P(RingSwitchTest, SlotsOfBothHalves) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  const uint32_t half = to_->slots();
  std::vector<Complex> slots(from_->slots());
  for (Complex& v : slots) v = {uniform(random_), uniform(random_)};
  const double scale = 0x1p28;
  const Ciphertext c = Encrypt(*from_encoder_->Encode(std::span<const Complex>(slots), scale, 3));
  const auto halves = SplitRing(*from_, *to_, c, key_);
  ASSERT_TRUE(halves.ok()) << halves.status();
  const auto even = to_encoder_->Decode(Decrypt(*to_, halves->even, *half_));
  const auto odd = to_encoder_->Decode(Decrypt(*to_, halves->odd, *half_));
  for (uint32_t j = 0; j < half; ++j) {
    const Complex x = OddFactor(*to_, j);
    EXPECT_NEAR(std::abs(even[j] + x * odd[j] - slots[j]), 0, 1e-3) << j;
    EXPECT_NEAR(std::abs(even[j] - x * odd[j] - slots[j + half]), 0, 1e-3) << j;
  }
  for (uint32_t j = 0; j < half; ++j) slots[j + half] = slots[j];
  const Ciphertext periodic =
      Encrypt(*from_encoder_->Encode(std::span<const Complex>(slots), scale, 3));
  const auto switched = SwitchRing(*from_, *to_, periodic, key_);
  ASSERT_TRUE(switched.ok()) << switched.status();
  const auto opened = to_encoder_->Decode(Decrypt(*to_, *switched, *half_));
  for (uint32_t j = 0; j < half; ++j) EXPECT_NEAR(std::abs(opened[j] - slots[j]), 0, 1e-3) << j;
}

TEST_P(RingSwitchTest, WrongRingsAreRefused) {
  const std::vector<double> ones(from_->slots(), 1);
  Ciphertext c = Encrypt(*from_encoder_->Encode(std::span<const double>(ones), 0x1p20, 3));
  EXPECT_FALSE(SwitchRing(*to_, *from_, c, key_).ok());
  EXPECT_FALSE(SwitchRing(*from_, *from_, c, key_).ok());
  EXPECT_FALSE(SwitchRing(*from_, *to_, c, SwitchKey()).ok());
  EXPECT_FALSE(MakeRingSwitchKey(*to_, *secret_, *half_, 3, rng_).ok());
  EXPECT_FALSE(MakeRingSwitchKey(*from_, *secret_, *secret_, 3, rng_).ok());
  c.parts.push_back(c.parts[1]);
  EXPECT_FALSE(SwitchRing(*from_, *to_, c, key_).ok());
}

INSTANTIATE_TEST_SUITE_P(Degrees, RingSwitchTest, ::testing::Values(256u, 8192u));

}  // namespace
}  // namespace heft::ckks
