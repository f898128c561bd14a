// SPDX-License-Identifier: Apache-2.0
#include "ckks/owner/joint_keys.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "base/aligned.h"
#include "base/testing.h"
#include "ckks/arithmetic.h"
#include "ckks/encoder.h"
#include "ckks/encryptor.h"
#include "ckks/key_switch.h"
#include "ckks/noise.h"
#include "ckks/owner/secret_share.h"
#include "ring/kernels.h"
#include "ring/sampling.h"

namespace heft::ckks {
namespace {

using ring::ActiveKernels;

// Levels of two primes, as those of profile flooded, whose scales have room for a flood.
class JointKeysTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  JointKeysTest()
      : context_(std::make_shared<Context>(*Params::Create(
            {.n = 8192, .data_bits = {30, 30, 28, 28}, .special_bits = 30, .level_primes = 2}))),
        encoder_(context_) {
    for (uint32_t i = 0; i < GetParam(); ++i) {
      own_.push_back(*SecretKey::Generate(*context_, rng_));
      ephemeral_.push_back(*SecretKey::Generate(*context_, rng_));
      owners_.push_back(i + 1);
    }
    for (Seed* seed : {&first_, &second_}) *seed = rng_.NewSeed();
  }

  template <typename Make>
  auto SumOf(const Make& make) {
    auto sum = make(own_[0], 0);
    for (size_t i = 1; i < own_.size(); ++i) AddPart(*context_, make(own_[i], i), &sum);
    return sum;
  }
  SeededSwitchKey GaloisKey(uint32_t element) {
    return SumOf([&](const SecretKey& own, size_t) {
      return MakeGaloisKey(*context_, own, element, Limbs(), rng_, &first_);
    });
  }
  PublicKey Encryption() {
    return SumOf(
        [&](const SecretKey& own, size_t) { return MakePublicKey(*context_, own, rng_, &first_); });
  }
  SeededSwitchKey Relinearisation() {
    std::vector<RelinearisationPart> parts;
    for (size_t i = 0; i < own_.size(); ++i) {
      parts.push_back(
          MakeRelinearisationPart(*context_, own_[i], ephemeral_[i], Limbs(), rng_, first_));
      if (i == 0) continue;
      AddPart(*context_, parts[i].h0, &parts[0].h0);
      AddPart(*context_, parts[i].h1, &parts[0].h1);
    }
    return SumOf([&](const SecretKey& own, size_t i) {
      return FinishRelinearisationPart(*context_, own, ephemeral_[i], parts[0], rng_, second_);
    });
  }
  size_t Limbs() const { return context_->params().limbs(); }
  // The sum of all secrets modulo one prime: what no owner ever has.
  AlignedVector<uint32_t> Secret(size_t prime) const {
    AlignedVector<uint32_t> sum(context_->n(), 0);
    for (const SecretKey& own : own_) {
      ActiveKernels().add(sum.data(), sum.data(), own.residues(prime).data(), sum.size(),
                          context_->modulus(prime));
    }
    return sum;
  }
  // The standard deviation of the coefficients of b + a s - `message`, modulo one prime.
  double Deviation(std::span<const uint32_t> b, std::span<const uint32_t> a,
                   std::span<const uint32_t> message, size_t prime) const {
    const ring::Modulus& q = context_->modulus(prime);
    const AlignedVector<uint32_t> s = Secret(prime);
    AlignedVector<uint32_t> e(context_->n());
    ActiveKernels().multiply(e.data(), a.data(), s.data(), e.size(), q);
    ActiveKernels().add(e.data(), e.data(), b.data(), e.size(), q);
    ActiveKernels().subtract(e.data(), e.data(), message.data(), e.size(), q);
    context_->ntt(prime).Inverse(e);
    double squares = 0;
    for (const uint32_t r : e) {
      const double value = r > q.value() / 2 ? double(r) - q.value() : double(r);
      squares += value * value;
    }
    return std::sqrt(squares / e.size());
  }
  // Of one digit of a key for `target`, in the limb of the digit itself.
  double KeyDeviation(const SeededSwitchKey& key, AlignedVector<uint32_t> target,
                      size_t digit) const {
    const ring::Modulus& q = context_->modulus(digit);
    const uint32_t special = q.Reduce(context_->params().special().value());
    ActiveKernels().multiply_scalar(target.data(), target.data(), q.Shoup(special), target.size(),
                                    q);
    AlignedVector<uint32_t> a(context_->n());
    ExpandUniform(*context_, a, key.seed, digit, digit);
    return Deviation(key.b[digit].limb(digit), a, target, digit);
  }

  // The largest and the root mean square error of a ciphertext's slots, opened by all owners
  // without a flood.
  struct Errors {
    double largest = 0, deviation = 0;
  };
  Errors ErrorsOf(const Ciphertext& c, const std::vector<double>& truth) const {
    Plaintext plain;
    plain.scale = c.scale;
    plain.poly = c.parts[0];
    for (size_t l = 0; l < c.limbs(); ++l) {
      const ring::Modulus& q = context_->modulus(l);
      const AlignedVector<uint32_t> s = Secret(l);
      AlignedVector<uint32_t> product(context_->n());
      ActiveKernels().multiply(product.data(), c.parts[1].limb(l).data(), s.data(), s.size(), q);
      uint32_t* v = plain.poly.limb(l).data();
      ActiveKernels().add(v, v, product.data(), s.size(), q);
    }
    const std::vector<Complex> slots = encoder_.Decode(plain);
    Errors out;
    for (size_t i = 0; i < slots.size(); ++i) {
      const double error = std::abs(slots[i] - truth[i]);
      out.largest = std::max(out.largest, error);
      out.deviation += error * error / slots.size();
    }
    out.deviation = std::sqrt(out.deviation);
    return out;
  }

  Csprng rng_;
  std::shared_ptr<const Context> context_;
  Encoder encoder_;
  std::vector<SecretKey> own_, ephemeral_;
  OwnerSet owners_;
  Seed first_{}, second_{};
};

TEST_P(JointKeysTest, ErrorsOfKeysAreTheSumsThatAreStated) {
  const double one = std::sqrt(ring::kErrorVariance), all = std::sqrt(double(GetParam())) * one;
  const PublicKey encryption = Encryption();
  const AlignedVector<uint32_t> zero(context_->n(), 0);
  EXPECT_NEAR(Deviation(encryption.b.limb(1), encryption.a.limb(1), zero, 1), all, 0.05 * all);

  const uint32_t element = RotationElement(context_->params(), 3);
  const SeededSwitchKey galois = GaloisKey(element);
  const SeededSwitchKey relinearisation = Relinearisation();
  const double stated = one * JointRelinearisationError(context_->params(), GetParam());
  for (size_t digit = 0; digit < Limbs(); ++digit) {
    const AlignedVector<uint32_t> s = Secret(digit);
    AlignedVector<uint32_t> image(s.size()), square(s.size());
    ActiveKernels().permute(image.data(), s.data(), context_->permutation(element), s.size());
    ActiveKernels().multiply(square.data(), s.data(), s.data(), s.size(), context_->modulus(digit));
    EXPECT_NEAR(KeyDeviation(galois, image, digit), all, 0.05 * all) << digit;
    EXPECT_NEAR(KeyDeviation(relinearisation, square, digit), stated, 0.05 * stated) << digit;
  }
}

// Flooding relies on this: with a joint key of n owners an error is at most sqrt(n) times the
// estimate, which is of one owner's key.
TEST_P(JointKeysTest, ErrorsAreWithinTheRootOfOwnersTimesTheEstimate) {
  EvaluationKeys keys;
  const uint32_t element = RotationElement(context_->params(), 1);
  keys.relinearisation = SwitchKey(*context_, Relinearisation(), 1);
  keys.galois[element] = SwitchKey(*context_, GaloisKey(element), element);
  const PublicKey encryption = Encryption();
  const double scale = std::ldexp(1.0, 56), root = std::sqrt(double(GetParam()));
  std::vector<double> values(context_->slots());
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i));
  const Plaintext plain = *encoder_.Encode(values, scale, Limbs());
  const auto within = [&](const Ciphertext& c, const std::vector<double>& truth) {
    const double estimate = root * c.noise.error / c.scale;
    const Errors errors = ErrorsOf(c, truth);
    EXPECT_LE(errors.deviation, 1.02 * estimate);
    EXPECT_GE(errors.deviation, estimate / 8);
    EXPECT_LE(errors.largest, root * SlotErrorBound(context_->params(), c.noise, c.scale));
  };
  Ciphertext c = Encrypt(*context_, plain, encryption, rng_);
  within(c, values);
  // A rotation: its error is not divided by a rescale.
  Ciphertext rotated;
  ASSERT_TRUE(Rotate(*context_, &rotated, c, 1, keys).ok());
  std::vector<double> turned(values.begin() + 1, values.end());
  turned.push_back(values[0]);
  within(rotated, turned);
  // A product: relinearisation's error grows more, but is divided.
  Ciphertext square;
  ASSERT_TRUE(Square(*context_, &square, c).ok());
  ASSERT_TRUE(RelineariseAndRescale(*context_, &square, square, keys).ok());
  std::vector<double> squares(values);
  for (double& v : squares) v *= v;
  within(square, squares);
  const double relinearised = JointRelinearisationError(context_->params(), GetParam()) *
                              KeySwitchError(context_->params(), Limbs()) /
                              context_->params().LevelModulus(Limbs());
  EXPECT_LT(relinearised, 1e-3 * RoundingError(context_->params()));
}

TEST_P(JointKeysTest, AllOwnersOpenWithTheirShares) {
  std::vector<SecretShare> shares;
  for (const uint32_t owner : owners_) {
    shares.push_back(*ShareOfSum(*context_, own_[owner - 1], owner, GetParam()));
  }
  std::vector<double> values(context_->slots());
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::cos(static_cast<double>(i));
  const Ciphertext c = Encrypt(*context_, *encoder_.Encode(values, std::ldexp(1.0, 56), Limbs()),
                               Encryption(), rng_);
  FloodingOptions options = {.security_bits = 30, .queries = 49};
  options.secrets = GetParam();
  std::vector<ring::RnsPoly> parts;
  for (const SecretShare& share : shares) {
    parts.push_back(*PartiallyDecrypt(*context_, c, share, owners_, options));
  }
  options.parts = GetParam();
  const auto opened = CombineParts(*context_, c, parts, options);
  ASSERT_TRUE(opened.ok());
  const std::vector<Complex> slots = encoder_.Decode(*opened);
  double squares = 0;
  for (size_t i = 0; i < slots.size(); ++i) squares += std::norm(slots[i] - values[i]);
  const double deviation = std::sqrt(squares / slots.size());
  // Nearly all of it is the flood, for the larger error.
  const double stated = opened->noise.error / opened->scale;
  EXPECT_NEAR(deviation, stated, 0.05 * stated);
  FloodingOptions alone = options;
  alone.secrets = 1;
  EXPECT_NEAR(
      FloodingDeviation(context_->params(), c.noise.error, options),
      std::sqrt(double(GetParam())) * FloodingDeviation(context_->params(), c.noise.error, alone),
      1e-6 * FloodingDeviation(context_->params(), c.noise.error, options));
  // Without one of them it is no message.
  parts.pop_back();
  const auto lacking = CombineParts(*context_, c, parts, options);
  ASSERT_TRUE(lacking.ok());
  EXPECT_GT(std::abs(encoder_.Decode(*lacking)[0] - values[0]), 1);
}

TEST(JointSharesTest, OwnersAreOfASharing) {
  const Context context(*Params::Create({.n = 4096, .data_bits = {30}}));
  Csprng rng;
  const SecretKey own = *SecretKey::Generate(context, rng);
  EXPECT_FALSE(ShareOfSum(context, own, 1, 1).ok());
  EXPECT_FALSE(ShareOfSum(context, own, 1, kMaxOwners + 1).ok());
}

INSTANTIATE_TEST_SUITE_P(Owners, JointKeysTest, ::testing::Values(2u, 3u));

}  // namespace
}  // namespace heft::ckks
