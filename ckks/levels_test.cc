// SPDX-License-Identifier: Apache-2.0
// Levels of two primes: dividing by a level equals, bit for bit, dividing by its primes one after
// another.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "ckks/arithmetic.h"
#include "ckks/encoder.h"
#include "ckks/encryptor.h"
#include "ckks/key_switch.h"
#include "ckks/owner/secret_key.h"
#include "ckks/subchain.h"

namespace heft::ckks {
namespace {

ParamsSpec Spec(size_t level_primes, std::vector<int> data_bits = {30, 30, 28, 28, 27, 29}) {
  ParamsSpec spec{512, std::move(data_bits), 30, /*allow_insecure=*/true};
  spec.level_primes = level_primes;
  return spec;
}

class LevelsTest : public ::testing::Test {
 protected:
  LevelsTest() : one_(*Params::Create(Spec(1))), two_(*Params::Create(Spec(2))) {
    const SecretKey secret = *SecretKey::Generate(one_, rng_);
    element_ = RotationElement(one_.params(), 1);
    keys_.relinearisation =
        SwitchKey(one_, MakeRelinearisationKey(one_, secret, one_.params().limbs(), rng_), 1);
    keys_.galois[element_] = SwitchKey(
        one_, MakeGaloisKey(one_, secret, element_, one_.params().limbs(), rng_), element_);
    const Encoder encoder(std::make_shared<Context>(one_.params()));
    const std::vector<double> values(one_.slots(), 0.5);
    const Plaintext plain =
        *encoder.Encode(std::span<const double>(values), 0x1p56, one_.params().limbs());
    fresh_ = Expand(one_, EncryptSymmetric(one_, plain, secret, rng_));
  }
  static void ExpectEqual(const Ciphertext& a, const Ciphertext& b) {
    ASSERT_EQ(a.size(), b.size());
    ASSERT_EQ(a.limbs(), b.limbs());
    for (size_t p = 0; p < a.size(); ++p) {
      EXPECT_TRUE(std::ranges::equal(a.parts[p].values(), b.parts[p].values())) << "part " << p;
    }
    EXPECT_NEAR(a.scale / b.scale, 1, 1e-12);
    EXPECT_NEAR(a.noise.error / b.noise.error, 1, 1e-3);
  }

  Csprng rng_;
  const Context one_, two_;
  EvaluationKeys keys_;
  uint32_t element_ = 0;
  Ciphertext fresh_;
};

TEST_F(LevelsTest, ARescaleDividesByBothPrimes) {
  Ciphertext level, primes;
  ASSERT_TRUE(Rescale(two_, &level, fresh_).ok());
  ASSERT_TRUE(Rescale(one_, &primes, fresh_).ok());
  ASSERT_TRUE(Rescale(one_, &primes, primes).ok());
  ExpectEqual(level, primes);
  EXPECT_EQ(level.limbs(), 4u);
}

TEST_F(LevelsTest, SoDoWhatSwitchesKeysAndRescales) {
  Ciphertext level, primes, square;
  const uint32_t elements[] = {1, element_};
  ASSERT_TRUE(SumGaloisAndRescale(two_, &level, fresh_, elements, keys_).ok());
  ASSERT_TRUE(SumGaloisAndRescale(one_, &primes, fresh_, elements, keys_).ok());
  ASSERT_TRUE(Rescale(one_, &primes, primes).ok());
  ExpectEqual(level, primes);
  ASSERT_TRUE(Square(one_, &square, fresh_).ok());
  ASSERT_TRUE(RelineariseAndRescale(two_, &level, square, keys_).ok());
  ASSERT_TRUE(RelineariseAndRescale(one_, &primes, square, keys_).ok());
  ASSERT_TRUE(Rescale(one_, &primes, primes).ok());
  ExpectEqual(level, primes);
}

TEST_F(LevelsTest, TheLastLevelStays) {
  Ciphertext base;
  ASSERT_TRUE(DropLimbs(two_, &base, fresh_, 2).ok());
  const uint32_t elements[] = {1, element_};
  for (const absl::Status& refused :
       {Rescale(two_, &base, base), RelineariseAndRescale(two_, &base, base, keys_),
        SumGaloisAndRescale(two_, &base, base, elements, keys_)}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(Rescale(one_, &base, base).ok());
}

TEST_F(LevelsTest, Parameters) {
  EXPECT_FALSE(one_.params() == two_.params()) << "the same primes, other levels";
  EXPECT_EQ(one_.params().primes(), two_.params().primes());
  const double q4 = one_.params().modulus(4).value(), q5 = one_.params().modulus(5).value();
  EXPECT_EQ(one_.params().LevelModulus(6), q5);
  EXPECT_EQ(two_.params().LevelModulus(6), q4 * q5);
  EXPECT_FALSE(Params::Create(Spec(2, {30, 28, 28})).ok()) << "half a level";
  EXPECT_FALSE(Params::Create(Spec(3)).ok());
  EXPECT_FALSE(Params::Create(Spec(0)).ok());
  EXPECT_FALSE(WithoutPrime(two_.params(), 2).ok());
}

}  // namespace
}  // namespace heft::ckks
