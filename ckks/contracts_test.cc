// SPDX-License-Identifier: Apache-2.0
// The contracts of levels, scales, limbs and keys: breaks each once. All other tests of a debug
// build show that valid calls pass.
#include <gtest/gtest.h>

#include <vector>

#include "base/check.h"
#include "base/testing.h"
#include "ckks/arithmetic.h"
#include "ckks/digits.h"
#include "ckks/encoder.h"
#include "ckks/encryptor.h"
#include "ckks/key_switch.h"
#include "ckks/owner/secret_key.h"
#include "ckks/shape.h"

namespace heft::ckks {
namespace {

class ContractsTest : public ::testing::Test {
 protected:
  ContractsTest()
      : context_(std::make_shared<Context>(*Params::Create({64, {30, 28, 28}, 30, true}))),
        encoder_(context_),
        secret_(*SecretKey::Generate(*context_, rng_)),
        public_key_(MakePublicKey(*context_, secret_, rng_)),
        plain_(*encoder_.Encode(std::vector<double>(32, 0.5), 0x1p20, 3)),
        cipher_(Encrypt(*context_, plain_, public_key_, rng_)) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }

  SwitchKey Key(size_t limbs) {
    return SwitchKey(*context_, MakeRelinearisationKey(*context_, secret_, limbs, rng_), 1);
  }

  TestCsprng rng_{Seed{1}};
  std::shared_ptr<const Context> context_;
  Encoder encoder_;
  SecretKey secret_;
  PublicKey public_key_;
  Plaintext plain_;
  Ciphertext cipher_;
};

TEST_F(ContractsTest, ShapesOfWhatTheEngineMakes) {
  EXPECT_TRUE(CheckShape(*context_, plain_).ok());
  EXPECT_TRUE(CheckShape(*context_, cipher_).ok());
  EXPECT_TRUE(CheckShape(*context_, public_key_).ok());
  const auto extended = encoder_.Encode(std::vector<double>(32, 0.5), 0x1p20, 2, true);
  EXPECT_TRUE(CheckShape(*context_, *extended).ok());
}

TEST_F(ContractsTest, ShapesThatAreWrong) {
  const auto wrong = [&](auto change) {
    Ciphertext c = cipher_;
    change(c);
    return std::string(CheckShape(*context_, c).message());
  };
  EXPECT_EQ(wrong([](Ciphertext& c) { c.parts.clear(); }), "a ciphertext of 0 parts");
  EXPECT_EQ(wrong([](Ciphertext& c) { c.parts[1].Truncate(2); }),
            "a ciphertext whose parts differ in size");
  EXPECT_EQ(wrong([](Ciphertext& c) {
              for (ring::RnsPoly& part : c.parts) part.Truncate(0);
            }),
            "a ciphertext of 0 limbs, 1 to 3 expected");
  EXPECT_EQ(wrong([&](Ciphertext& c) { c.parts[1].limb(2)[5] = context_->modulus(2).value(); }),
            "a ciphertext with a residue that is not below its prime, limb 2");
  EXPECT_EQ(wrong([](Ciphertext& c) { c.scale = 0; }), "a ciphertext with scale 0");
  EXPECT_EQ(wrong([](Ciphertext& c) { c.noise.error = -1; }),
            "a ciphertext with a noise estimate of 0.5 and -1");
  PublicKey key = public_key_;
  key.a.Truncate(3);
  EXPECT_FALSE(CheckShape(*context_, key).ok());
}

// ---- Assertions of debug builds.

class DebugContractsTest : public ContractsTest {
 protected:
  void SetUp() override {
    if (!kDebugChecks) GTEST_SKIP() << "release build: contracts are not checked";
  }
};

TEST_F(DebugContractsTest, OperandsOfArithmetic) {
  Ciphertext bad = cipher_, out;
  bad.parts[0].limb(1)[0] = context_->modulus(1).value();
  EXPECT_DEATH((void)Add(*context_, &out, cipher_, bad), "not below its prime, limb 1");
  EXPECT_DEATH((void)Multiply(*context_, &out, bad, cipher_), "not below its prime, limb 1");
  EXPECT_DEATH((void)Rescale(*context_, &out, bad), "not below its prime, limb 1");
  EXPECT_DEATH(MultiplyInteger(*context_, &out, bad, 3), "not below its prime, limb 1");
  EXPECT_DEATH(Decrypt(*context_, bad, secret_), "not below its prime, limb 1");
}

TEST_F(DebugContractsTest, LimbsOfDivisions) {
  ring::RnsPoly in = cipher_.parts[0], out(context_->n(), 3);
  EXPECT_DEATH(DivideByLast(*context_, &out, in, 2), "one limb is divided away");
  out.Truncate(2);
  EXPECT_DEATH(DivideByLast(*context_, &out, in, 1), "that of its position");
  EXPECT_DEATH(DivideBySpecialAndLast(*context_, &out, in), "two limbs are divided away");
  EXPECT_DEATH(out.limb(2), "a limb that there is");
}

TEST_F(DebugContractsTest, KeysServeTheLimbsOfTheirDigits) {
  const SwitchKey cut = Key(2);
  const Digits digits(*context_, cipher_.parts[1]);
  SwitchSum sum(context_->n(), 3);
  EXPECT_DEATH(
      SwitchLimb(*context_, sum.part[0].limb(0).data(), sum.part[1].limb(0).data(), digits, cut, 0),
      "a key serves the limbs of its digits");
  const SwitchKey pairs = Key(3).WithDigits(*context_, {2, 1});
  EXPECT_DEATH(SwitchLimb(*context_, sum.part[0].limb(0).data(), sum.part[1].limb(0).data(), digits,
                          pairs, 0),
               "the digits of what it switches");
  EXPECT_DEATH(pairs.WithoutLimb(0), "a key of one digit a limb");
  EXPECT_DEATH(Key(4), "1 to all data primes");
}

TEST_F(DebugContractsTest, WhatIsEncrypted) {
  const auto extended = encoder_.Encode(std::vector<double>(32, 0.5), 0x1p20, 2, true);
  EXPECT_DEATH(Encrypt(*context_, *extended, public_key_, rng_), "not extended");
  EXPECT_DEATH(EncryptSymmetric(*context_, *extended, secret_, rng_), "not extended");
  PublicKey key = public_key_;
  key.b.Truncate(2);
  EXPECT_DEATH(Encrypt(*context_, plain_, key, rng_), "parts differ in size");
}

TEST_F(DebugContractsTest, GaloisElements) {
  EXPECT_DEATH(context_->permutation(4), "odd and below 2n");
  EXPECT_DEATH(context_->permutation(2 * 64 + 1), "odd and below 2n");
}

}  // namespace
}  // namespace heft::ckks
