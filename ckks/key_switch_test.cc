// SPDX-License-Identifier: Apache-2.0
// Rotations, their sums and their keys, compared with plain complex vectors, at several degrees and
// levels. The noise estimate must bound the measured error, by at most a factor of 8.
#include "ckks/key_switch.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ckks/arithmetic.h"
#include "ckks/extended_ciphertext.h"
#include "ckks/operation_counts.h"
#include "ckks/owner/testing.h"
#include "ckks/subchain.h"

namespace heft::ckks {
namespace {

class KeySwitchTest : public testing::CkksTest {};

TEST_P(KeySwitchTest, Rotations) {
  for (size_t limbs : {top(), size_t{2}}) {
    const auto a = Random();
    const Ciphertext ca = EncryptFresh(a, limbs);
    std::vector<uint32_t> elements;
    for (int64_t steps : {1, 3, -1, 32}) {
      Ciphertext c;
      ASSERT_TRUE(Rotate(*context_, &c, ca, steps, keys_).ok());
      Check(c, Rotated(a, steps), "rotation");
      elements.push_back(RotationElement(context_->params(), steps));
    }
    Ciphertext c;
    ASSERT_TRUE(Conjugate(*context_, &c, ca, keys_).ok());
    std::vector<Complex> conjugated = a;
    for (Complex& x : conjugated) x = std::conj(x);
    Check(c, conjugated, "conjugation");
    auto hoisted = ApplyGaloisHoisted(*context_, ca, elements, keys_);
    ASSERT_TRUE(hoisted.ok());
    for (size_t i = 0; i < elements.size(); ++i) {
      Ciphertext plain;
      ASSERT_TRUE(ApplyGalois(*context_, &plain, ca, elements[i], keys_).ok());
      EXPECT_TRUE(std::equal(plain.parts[1].values().begin(), plain.parts[1].values().end(),
                             (*hoisted)[i].parts[1].values().begin()));
    }
  }
}

TEST_P(KeySwitchTest, SumsOfRotations) {
  const auto a = Random();
  const Ciphertext ca = EncryptFresh(a, top());
  const Params& params = context_->params();
  const int64_t steps[] = {0, 1, 2, 32};
  std::vector<uint32_t> elements;
  std::vector<Complex> sum(a.size(), 0), weighted(a.size(), 0);
  std::vector<Plaintext> factors;
  for (int64_t s : steps) {
    elements.push_back(RotationElement(params, s));
    const auto image = Rotated(a, s);
    const auto factor = Random();
    factors.push_back(Encode(factor, top(), 0x1p20, true));
    for (size_t i = 0; i < a.size(); ++i) {
      sum[i] += image[i];
      weighted[i] += image[i] * factor[i];
    }
  }
  Ciphertext c;
  ASSERT_TRUE(SumGalois(*context_, &c, ca, elements, keys_).ok());
  Check(c, sum, "sum of rotations");
  ASSERT_TRUE(SumGaloisProducts(*context_, &c, ca, elements, factors, keys_).ok());
  Check(c, weighted, "weighted sum of rotations");
}

// Without divisions in between the sum is the same, with fewer roundings.
TEST_P(KeySwitchTest, ExtendedSums) {
  const auto a = Random(), factor = Random();
  const Params& params = context_->params();
  const Ciphertext ca = EncryptFresh(a, top());
  const uint32_t elements[] = {1, RotationElement(params, 1)};
  const std::vector<Plaintext> factors(2, Encode(factor, top(), 0x1p20, true));
  const std::span<const Plaintext> sets[] = {factors, factors};
  auto sums = SumGaloisProductsExtended(*context_, ca, elements, sets, keys_);
  ASSERT_TRUE(sums.ok());
  ExtendedCiphertext& sum = (*sums)[0];
  ASSERT_TRUE(SumGalois(*context_, &sum, sum, elements, keys_).ok());
  ASSERT_TRUE(AddGalois(*context_, &sum, (*sums)[1], std::span(elements).subspan(1), keys_).ok());
  ASSERT_TRUE(Add(*context_, &sum, (*sums)[1]).ok());
  std::vector<Complex> expected = Rotated(a, 1);
  for (size_t i = 0; i < a.size(); ++i) expected[i] = (expected[i] + a[i]) * factor[i];
  const auto image = Rotated(expected, 1);
  for (size_t i = 0; i < a.size(); ++i) expected[i] = 2.0 * (expected[i] + image[i]);
  Ciphertext c;
  ASSERT_TRUE(DivideAndRescale(*context_, &c, sum).ok());
  Check(c, expected, "sums that stay multiplied by the special prime");
}

// Products in baby and giant steps: four factors, rotated back by the giant in plain.
TEST_P(KeySwitchTest, ProductsInSteps) {
  const auto a = Random();
  const Params& params = context_->params();
  const Ciphertext ca = EncryptFresh(a, top());
  const uint32_t babies[] = {1, RotationElement(params, 1)};
  const uint32_t giants[] = {1, RotationElement(params, 2)};
  std::vector<Complex> expected[2] = {std::vector<Complex>(a.size(), 0),
                                      std::vector<Complex>(a.size(), 0)};
  std::vector<Plaintext> factors[2];
  for (int set = 0; set < 2; ++set) {
    for (const int64_t giant : {0, 2}) {
      for (const int64_t baby : {0, 1}) {
        const auto factor = Random();
        factors[set].push_back(Encode(Rotated(factor, -giant), top(), 0x1p20, true));
        const auto image = Rotated(a, giant + baby);
        for (size_t i = 0; i < a.size(); ++i) expected[set][i] += image[i] * factor[i];
      }
    }
  }
  const std::span<const Plaintext> sets[] = {factors[0], factors[1]};
  const OperationCounts before = TotalOperations();
  auto sums = SumGaloisProductsInSteps(*context_, ca, babies, giants, sets, keys_);
  const OperationCounts counts = TotalOperations() - before;
  ASSERT_TRUE(sums.ok()) << sums.status();
  EXPECT_EQ(counts.rotations, 1u + 2);       // a baby for all, a giant a set
  EXPECT_EQ(counts.decompositions, 1u + 2);  // the same
  EXPECT_EQ(counts.plain_products, 8u);
  for (int set = 0; set < 2; ++set) {
    Ciphertext c;
    Divide(*context_, &c, (*sums)[set]);
    Check(c, expected[set], "products in steps");
  }
  const std::span<const Plaintext> short_sets[] = {std::span(factors[0]).first(3)};
  EXPECT_EQ(
      SumGaloisProductsInSteps(*context_, ca, babies, giants, short_sets, keys_).status().code(),
      absl::StatusCode::kInvalidArgument);
}

TEST_P(KeySwitchTest, DigitsOfTwoPrimes) {
  const DigitSizes pairs((top() + 1) / 2, 2);
  EvaluationKeys wide;
  wide.relinearisation = keys_.relinearisation.WithDigits(*context_, pairs);
  EXPECT_EQ(wide.relinearisation.digits(), (top() + 1) / 2);
  EXPECT_EQ(wide.relinearisation.limbs(), top());
  const uint32_t one = RotationElement(context_->params(), 1);
  const uint32_t three = RotationElement(context_->params(), 3);
  wide.galois[one] = keys_.galois.at(one).WithDigits(*context_, pairs);
  wide.galois[three] = keys_.galois.at(three);
  // At the scale of a product, where errors are small, for even and odd numbers of limbs.
  const auto a = Random(), b = Random();
  for (size_t limbs = 2; limbs <= top(); ++limbs) {
    if (context_->params().Bits(limbs) < 58) continue;  // the product would not fit
    const Ciphertext ca = EncryptFresh(a, limbs), cb = EncryptFresh(b, limbs);
    std::vector<Complex> product = a;
    for (size_t i = 0; i < product.size(); ++i) product[i] *= b[i];
    Ciphertext c;
    ASSERT_TRUE(Multiply(*context_, &c, ca, cb).ok());
    ASSERT_TRUE(Relinearise(*context_, &c, c, wide).ok());
    Check(c, product, "product");
    ASSERT_TRUE(Rotate(*context_, &c, c, 1, wide).ok());
    Check(c, Rotated(product, 1), "rotated product");
    const uint32_t mixed[] = {1, one, three};
    const absl::Status status = SumGalois(*context_, &c, c, mixed, wide);
    EXPECT_EQ(status.ok(), false) << "keys of different digits in one sum";
  }
  // The error determines which primes form a digit.
  const Params& params = context_->params();
  EXPECT_EQ(DigitsWithin(params, top(), 0), DigitSizes(top(), 1));
  EXPECT_EQ(DigitsWithin(params, 2, 1e300), DigitSizes{2});
  EXPECT_EQ(KeySwitchError(params, top(), DigitSizes(top(), 1)), KeySwitchError(params, top()));
}

TEST_P(KeySwitchTest, APrimeLeftOutLeavesMessageAndKeysAsTheyAre) {
  if (top() < 3) GTEST_SKIP() << "too few primes";
  const auto a = Random();
  const Ciphertext ca = EncryptFresh(a, top());
  for (size_t limb : {size_t{1}, top() - 1}) {
    auto params = WithoutPrime(context_->params(), limb);
    ASSERT_TRUE(params.ok()) << params.status();
    const Context shorter(*params);
    const EvaluationKeys keys = WithoutPrime(keys_, limb);
    Ciphertext c = *WithoutPrime(ca, limb);
    ASSERT_TRUE(CheckCiphertext(shorter, c).ok());
    ASSERT_TRUE(Rotate(shorter, &c, c, 3, keys).ok());
    // The secret key has the whole chain; both ciphertexts share the limbs below the gap.
    ASSERT_TRUE(DropLimbs(shorter, &c, c, limb).ok());
    Check(c, Rotated(a, 3), "rotated without a prime");
  }
  EXPECT_FALSE(WithoutPrime(context_->params(), top()).ok());
  EXPECT_FALSE(WithoutPrime(ca, top()).ok());
  EXPECT_EQ(WithoutPrime(keys_.relinearisation, top()).limbs(), top());
}

TEST_P(KeySwitchTest, KeysCutToALevelServeThatLevelAndBelow) {
  const uint32_t element = RotationElement(context_->params(), 5);
  AddKey(element, 2);
  const auto a = Random();
  Ciphertext c;
  ASSERT_TRUE(ApplyGalois(*context_, &c, EncryptFresh(a, 2), element, keys_).ok());
  Check(c, Rotated(a, 5), "cut key");
  ASSERT_TRUE(ApplyGalois(*context_, &c, EncryptFresh(a, 1), element, keys_).ok());
  Check(c, Rotated(a, 5), "cut key, one level below");
  EXPECT_EQ(ApplyGalois(*context_, &c, EncryptFresh(a, 3), element, keys_).code(),
            absl::StatusCode::kFailedPrecondition);
}

INSTANTIATE_TEST_SUITE_P(All, KeySwitchTest, ::testing::ValuesIn(testing::Setups()),
                         testing::SetupName);

}  // namespace
}  // namespace heft::ckks
