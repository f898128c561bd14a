// SPDX-License-Identifier: Apache-2.0
// Every operation against the same on plain complex vectors, at several degrees and levels, and the
// noise estimate against the error measured: the estimate must bound it, by at most a factor of 8.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "ckks/arithmetic.h"
#include "ckks/encoder.h"
#include "ckks/encryptor.h"
#include "ckks/key_switch.h"
#include "ckks/owner/secret_key.h"
#include "ckks/seeded.h"
#include "ckks/serialization.h"
#include "ckks/subchain.h"

namespace heft::ckks {
namespace {

constexpr double kLooseness = 8;

struct Setup {
  const char* name;
  uint32_t n;
  std::vector<int> bits;
  const char* kernels;
};

class CkksTest : public testing::TestWithParam<Setup> {
 protected:
  void SetUp() override {
    best_ = ring::ActiveKernels().name;
    if (!ring::ForceKernels(GetParam().kernels)) GTEST_SKIP() << "not on this machine";
    ParamsSpec spec;
    spec.n = GetParam().n;
    spec.data_bits = GetParam().bits;
    auto params = Params::Create(spec);
    ASSERT_TRUE(params.ok()) << params.status();
    context_ = std::make_shared<Context>(*params);
    encoder_ = std::make_unique<Encoder>(context_);
    secret_ = std::make_unique<SecretKey>(std::move(*SecretKey::Generate(*context_, rng_)));
    const size_t limbs = params->limbs();
    keys_.relinearisation =
        SwitchKey(*context_, MakeRelinearisationKey(*context_, *secret_, limbs, rng_), 1);
    for (int64_t steps : {1, 2, 3, -1, 32}) AddKey(RotationElement(*params, steps), limbs);
    AddKey(ConjugationElement(*params), limbs);
  }
  void TearDown() override { ring::ForceKernels(best_); }

  void AddKey(uint32_t element, size_t limbs) {
    keys_.galois[element] =
        SwitchKey(*context_, MakeGaloisKey(*context_, *secret_, element, limbs, rng_), element);
  }
  size_t top() const { return context_->params().limbs(); }
  // Slots on the unit circle: the estimator knows the largest message only.
  std::vector<Complex> Random() {
    std::uniform_real_distribution<double> angle(0, 2 * std::numbers::pi);
    std::vector<Complex> v(context_->slots());
    for (Complex& x : v) x = std::polar(1.0, angle(random_));
    return v;
  }
  Plaintext Encode(const std::vector<Complex>& v, size_t limbs, double scale = 0x1p28,
                   bool extended = false) {
    auto p = encoder_->Encode(std::span<const Complex>(v), scale, limbs, extended);
    EXPECT_TRUE(p.ok()) << p.status();
    return *p;
  }
  Ciphertext EncryptFresh(const std::vector<Complex>& v, size_t limbs) {
    return Expand(*context_, EncryptSymmetric(*context_, Encode(v, limbs), *secret_, rng_));
  }
  void Check(const Ciphertext& c, const std::vector<Complex>& expected, const char* what) {
    ASSERT_TRUE(CheckCiphertext(*context_, c).ok()) << what;
    const auto slots = encoder_->Decode(Decrypt(*context_, c, *secret_));
    double worst = 0;
    for (size_t i = 0; i < slots.size(); ++i) {
      worst = std::max(worst, std::abs(slots[i] - expected[i]));
    }
    const double bound = SlotErrorBound(context_->params(), c.noise, c.scale);
    EXPECT_LE(worst, bound) << what;
    EXPECT_LE(bound, kLooseness * worst) << what;
  }
  std::vector<Complex> Rotated(const std::vector<Complex>& v, int64_t steps) const {
    const int64_t s = v.size();
    std::vector<Complex> out(s);
    for (int64_t i = 0; i < s; ++i) out[i] = v[((i + steps) % s + s) % s];
    return out;
  }

  const char* best_ = "";
  Csprng rng_;
  std::mt19937_64 random_{7};
  std::shared_ptr<const Context> context_;
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<SecretKey> secret_;
  EvaluationKeys keys_;
};

TEST_P(CkksTest, EncodingRoundTrips) {
  const auto v = Random();
  const auto back = encoder_->Decode(Encode(v, top()));
  for (size_t i = 0; i < v.size(); ++i) ASSERT_NEAR(std::abs(back[i] - v[i]), 0, 1e-5);
  auto constant = encoder_->EncodeConstant(-0.75, 0x1p28, top());
  for (Complex x : encoder_->Decode(*constant)) ASSERT_NEAR(std::abs(x + 0.75), 0, 1e-8);
}

TEST_P(CkksTest, EncodingRefusesWhatDoesNotFit) {
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

TEST_P(CkksTest, FreshEncryptions) {
  for (size_t limbs : {top(), size_t{1}}) {
    const auto v = Random();
    // One limb of 30 bits holds 2^28 with room to spare.
    Check(EncryptFresh(v, limbs), v, "symmetric");
    const PublicKey key = MakePublicKey(*context_, *secret_, rng_);
    Check(Encrypt(*context_, Encode(v, limbs), key, rng_), v, "public key");
  }
}

TEST_P(CkksTest, LinearOperations) {
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

TEST_P(CkksTest, ProductsAndRescaling) {
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

TEST_P(CkksTest, LazySumOfProductsRelinearisedOnce) {
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

TEST_P(CkksTest, Rotations) {
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

TEST_P(CkksTest, SumsOfRotations) {
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

TEST_P(CkksTest, DigitsOfTwoPrimes) {
  const DigitSizes pairs((top() + 1) / 2, 2);
  EvaluationKeys wide;
  wide.relinearisation = keys_.relinearisation.WithDigits(*context_, pairs);
  EXPECT_EQ(wide.relinearisation.digits(), (top() + 1) / 2);
  EXPECT_EQ(wide.relinearisation.limbs(), top());
  const uint32_t one = RotationElement(context_->params(), 1);
  const uint32_t three = RotationElement(context_->params(), 3);
  wide.galois[one] = keys_.galois.at(one).WithDigits(*context_, pairs);
  wide.galois[three] = keys_.galois.at(three);
  // At the scale of a product, where their error is small, for even and odd numbers of limbs.
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
  // The error decides which primes go together.
  const Params& params = context_->params();
  EXPECT_EQ(DigitsWithin(params, top(), 0), DigitSizes(top(), 1));
  EXPECT_EQ(DigitsWithin(params, 2, 1e300), DigitSizes{2});
  EXPECT_EQ(KeySwitchError(params, top(), DigitSizes(top(), 1)), KeySwitchError(params, top()));
}

TEST_P(CkksTest, APrimeLeftOutLeavesMessageAndKeysAsTheyAre) {
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
    // The secret key knows the whole chain: what is left below the gap is common to both.
    ASSERT_TRUE(DropLimbs(shorter, &c, c, limb).ok());
    Check(c, Rotated(a, 3), "rotated without a prime");
  }
  EXPECT_FALSE(WithoutPrime(context_->params(), top()).ok());
  EXPECT_FALSE(WithoutPrime(ca, top()).ok());
  EXPECT_EQ(WithoutPrime(keys_.relinearisation, top()).limbs(), top());
}

TEST_P(CkksTest, KeysCutToALevelServeThatLevelAndBelow) {
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

TEST_P(CkksTest, ErrorsLeaveTheOutputAlone) {
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

TEST_P(CkksTest, AnotherSecretDecryptsNothing) {
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

TEST_P(CkksTest, SerialisationRoundTripsAndRefusesLargeResidues) {
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

// The same tests on the scalar reference and on every instruction set.
std::vector<Setup> Setups() {
  std::vector<Setup> all;
  for (const char* kernels : {"reference", "sse4", "avx2", "avx512", "neon"}) {
    all.push_back({"n4096", 4096, {30, 20, 26}, kernels});
    all.push_back({"n8192", 8192, {30, 29, 20, 28, 28, 28, 20}, kernels});
  }
  all.push_back({"n16384", 16384, {30, 28, 28, 28, 28, 28, 28}, "avx512"});
  return all;
}

void PrintTo(const Setup& setup, std::ostream* out) { *out << setup.name << " " << setup.kernels; }

INSTANTIATE_TEST_SUITE_P(All, CkksTest, testing::ValuesIn(Setups()), [](const auto& test) {
  return std::string(test.param.name) + "_" + test.param.kernels;
});

}  // namespace
}  // namespace heft::ckks
