// SPDX-License-Identifier: Apache-2.0
// Encoding, encryption and arithmetic, compared with plain complex vectors, at several degrees and
// levels. The noise estimate must bound the measured error, by at most a factor of 8.
#include "ckks/arithmetic.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ckks/owner/testing.h"
#include "ckks/serialization.h"

namespace heft::ckks {
namespace {

class ArithmeticTest : public testing::CkksTest {};

TEST_P(ArithmeticTest, EncodingRoundTrips) {
  const auto v = Random();
  const auto back = encoder_->Decode(Encode(v, top()));
  for (size_t i = 0; i < v.size(); ++i) ASSERT_NEAR(std::abs(back[i] - v[i]), 0, 1e-5);
  auto constant = encoder_->EncodeConstant(-0.75, 0x1p28, top());
  for (Complex x : encoder_->Decode(*constant)) ASSERT_NEAR(std::abs(x + 0.75), 0, 1e-8);
}

TEST_P(ArithmeticTest, EncodingRefusesWhatDoesNotFit) {
  std::vector<double> v = {1, std::nan("")};
  EXPECT_FALSE(encoder_->Encode(std::span<const double>(v), 0x1p28, top()).ok());
  v[1] = INFINITY;
  EXPECT_FALSE(encoder_->Encode(std::span<const double>(v), 0x1p28, top()).ok());
  v[1] = 1;
  const std::vector<double> many(context_->slots(), 1);
  EXPECT_FALSE(encoder_->Encode(std::span<const double>(many), 0x1p63, top()).ok());
  const std::vector<double> ones(context_->slots(), 1);  // all in one coefficient
  EXPECT_FALSE(encoder_->Encode(std::span<const double>(ones), 0x1p40, 1).ok());
  EXPECT_FALSE(encoder_->Encode(std::span<const double>(v), 0x1p28, top() + 1).ok());
  EXPECT_FALSE(encoder_->Encode(std::span<const double>(v), -1, top()).ok());
  v.assign(context_->slots() + 1, 0);
  EXPECT_FALSE(encoder_->Encode(std::span<const double>(v), 0x1p28, top()).ok());
}

TEST_P(ArithmeticTest, FreshEncryptions) {
  for (size_t limbs : {top(), size_t{1}}) {
    const auto v = Random();
    // One limb of 30 bits holds 2^28 with room to spare.
    Check(EncryptFresh(v, limbs), v, "symmetric");
    const PublicKey key = MakePublicKey(*context_, *secret_, rng_);
    Check(Encrypt(*context_, Encode(v, limbs), key, rng_), v, "public key");
  }
}

TEST_P(ArithmeticTest, LinearOperations) {
  const auto a = Random(), b = Random();
  const Ciphertext ca = EncryptFresh(a, top()), cb = EncryptFresh(b, top());
  std::vector<Complex> sum(a.size()), difference(a.size()), shifted(a.size()), monomial(a.size()),
      tripled(a.size()), negated(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    sum[i] = a[i] + b[i];
    difference[i] = a[i] - b[i];
    shifted[i] = a[i] - 0.3;
    monomial[i] = a[i] * Complex(0, i % 2 == 0 ? 1 : -1);
    tripled[i] = -3.0 * a[i];
    negated[i] = -a[i];
  }
  Ciphertext c;
  ASSERT_TRUE(Add(*context_, &c, ca, cb).ok());
  Check(c, sum, "add");
  ASSERT_TRUE(Subtract(*context_, &c, ca, cb).ok());
  Check(c, difference, "subtract");
  ASSERT_TRUE(AddPlain(*context_, &c, ca, Encode(b, top())).ok());
  Check(c, sum, "add plain");
  ASSERT_TRUE(AddConstant(*context_, &c, ca, -0.3).ok());
  Check(c, shifted, "add constant");
  MultiplyByMonomial(*context_, &c, ca);
  Check(c, monomial, "monomial");
  MultiplyInteger(*context_, &c, ca, -3);
  Check(c, tripled, "integer");
  Negate(*context_, &c, ca);
  Check(c, negated, "negate");
}

TEST_P(ArithmeticTest, ProductsAndRescaling) {
  for (size_t limbs = top(); limbs >= 3; --limbs) {
    const auto a = Random(), b = Random();
    const Ciphertext ca = EncryptFresh(a, limbs), cb = EncryptFresh(b, limbs);
    std::vector<Complex> product(a.size()), square(a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      product[i] = a[i] * b[i];
      square[i] = a[i] * a[i];
    }
    Ciphertext c;
    ASSERT_TRUE(MultiplyPlain(*context_, &c, ca, Encode(b, limbs, 0x1p20)).ok());
    Check(c, product, "plain product");
    ASSERT_TRUE(Multiply(*context_, &c, ca, cb).ok());
    Check(c, product, "product of three parts");
    ASSERT_TRUE(Relinearise(*context_, &c, c, keys_).ok());
    Check(c, product, "relinearised product");
    ASSERT_TRUE(Rescale(*context_, &c, c).ok());
    Check(c, product, "rescaled product");
    ASSERT_TRUE(Square(*context_, &c, ca).ok());
    ASSERT_TRUE(Relinearise(*context_, &c, c, keys_).ok());
    Check(c, square, "square");
    ASSERT_TRUE(DropLimbs(*context_, &c, ca, limbs - 1).ok());
    Check(c, a, "dropped limb");
  }
}

TEST_P(ArithmeticTest, LazySumOfProductsRelinearisedOnce) {
  std::vector<Complex> expected(context_->slots(), 0);
  Ciphertext sum;
  for (int k = 0; k < 4; ++k) {
    const auto a = Random(), b = Random();
    for (size_t i = 0; i < a.size(); ++i) expected[i] += a[i] * b[i];
    Ciphertext product;
    ASSERT_TRUE(Multiply(*context_, &product, EncryptFresh(a, top()), EncryptFresh(b, top())).ok());
    if (k == 0) {
      sum = product;
    } else {
      ASSERT_TRUE(Add(*context_, &sum, sum, product).ok());
    }
  }
  Check(sum, expected, "degree 2 sum");
  ASSERT_TRUE(Relinearise(*context_, &sum, sum, keys_).ok());
  Check(sum, expected, "relinearised sum");
}

TEST_P(ArithmeticTest, ErrorsLeaveTheOutputAlone) {
  const Ciphertext a = EncryptFresh(Random(), top());
  Ciphertext low, out = a;
  ASSERT_TRUE(DropLimbs(*context_, &low, a, 1).ok());
  EXPECT_FALSE(Add(*context_, &out, a, low).ok());
  Ciphertext other_scale = a;
  other_scale.scale *= 2;
  EXPECT_FALSE(Add(*context_, &out, a, other_scale).ok());
  EXPECT_FALSE(Rescale(*context_, &out, low).ok());
  EXPECT_FALSE(Multiply(*context_, &out, low, low).ok());  // 2^56 in 30 bits
  EXPECT_FALSE(Rotate(*context_, &out, a, 17, keys_).ok());
  EXPECT_FALSE(DropLimbs(*context_, &out, low, 2).ok());
  Ciphertext three;
  ASSERT_TRUE(Multiply(*context_, &three, a, a).ok());
  EXPECT_FALSE(Rotate(*context_, &out, three, 1, keys_).ok());
  EXPECT_FALSE(Multiply(*context_, &out, three, a).ok());
  EXPECT_TRUE(std::equal(out.parts[0].values().begin(), out.parts[0].values().end(),
                         a.parts[0].values().begin()));
}

TEST_P(ArithmeticTest, AnotherSecretDecryptsNothing) {
  const auto a = Random();
  const Ciphertext c = EncryptFresh(a, top());
  const SecretKey other = *SecretKey::Generate(*context_, rng_);
  const auto slots = encoder_->Decode(Decrypt(*context_, c, other));
  double correlation = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    correlation += (slots[i] / std::abs(slots[i]) * std::conj(a[i])).real();
  }
  EXPECT_LT(std::abs(correlation) / a.size(), 6 / std::sqrt(a.size()));
}

TEST_P(ArithmeticTest, SerialisationRoundTripsAndRefusesLargeResidues) {
  const Ciphertext a = EncryptFresh(Random(), 2);
  ByteWriter writer;
  WriteCiphertext(writer, *context_, a);
  ByteReader reader(writer.bytes(), "ciphertext");
  const Ciphertext back = ReadCiphertext(reader, *context_);
  ASSERT_TRUE(reader.Finish().ok());
  EXPECT_TRUE(std::equal(a.parts[1].values().begin(), a.parts[1].values().end(),
                         back.parts[1].values().begin()));
  Ciphertext bad = a;
  bad.parts[1].limb(1)[3] = context_->modulus(1).value();
  ByteWriter bad_writer;
  WriteCiphertext(bad_writer, *context_, bad);
  ByteReader bad_reader(bad_writer.bytes(), "ciphertext");
  ReadCiphertext(bad_reader, *context_);
  EXPECT_EQ(bad_reader.status().code(), absl::StatusCode::kDataLoss);
}

INSTANTIATE_TEST_SUITE_P(All, ArithmeticTest, ::testing::ValuesIn(testing::Setups()),
                         testing::SetupName);

}  // namespace
}  // namespace heft::ckks
