// SPDX-License-Identifier: Apache-2.0
// No randomness is used twice: every key and every encryption has its own uniform parts and errors,
// also those that one generator makes in sequence. The test extracts the errors with the secret key
// and compares them. (scripts/check-randomness checks the sources of generators.)
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ckks/encoder.h"
#include "ckks/encryptor.h"
#include "ckks/key_switch.h"
#include "ckks/owner/secret_key.h"

namespace heft::ckks {
namespace {

class RandomnessTest : public ::testing::Test {
 protected:
  RandomnessTest() {
    context_ = std::make_shared<Context>(*Params::Create({4096, {30, 26, 20}, 30}));
    secret_ = std::make_unique<SecretKey>(std::move(*SecretKey::Generate(*context_, rng_)));
    const Encoder encoder(context_);
    plain_ = *encoder.EncodeConstant(0.5, 0x1p26, 3);
  }

  // Centred coefficients of a polynomial in NTT form modulo prime `prime`.
  std::vector<double> Centred(std::span<const uint32_t> values, size_t prime) const {
    AlignedVector<uint32_t> v(values.begin(), values.end());
    context_->ntt(prime).Inverse(v);
    const double q = context_->modulus(prime).value();
    std::vector<double> out;
    for (uint32_t x : v) out.push_back(x > q / 2 ? x - q : x);
    return out;
  }
  // b + a s modulo `prime`, minus `message`.
  std::vector<double> Error(std::span<const uint32_t> b, std::span<const uint32_t> a, size_t prime,
                            std::span<const uint32_t> message = {}) const {
    const ring::Modulus& q = context_->modulus(prime);
    AlignedVector<uint32_t> v(context_->n());
    for (size_t i = 0; i < v.size(); ++i) {
      v[i] = q.Add(b[i], q.Multiply(a[i], secret_->residues(prime)[i]));
      if (!message.empty()) v[i] = q.Sub(v[i], message[i]);
    }
    return Centred(v, prime);
  }
  std::vector<double> Error(const Ciphertext& c) const {
    return Error(c.parts[0].limb(0), c.parts[1].limb(0), 0, plain_.poly.limb(0));
  }
  // One error polynomial for each digit. Limb j of digit j also contains P t, so another limb is
  // read.
  std::vector<std::vector<double>> Errors(const SeededSwitchKey& key) const {
    std::vector<std::vector<double>> out;
    AlignedVector<uint32_t> a(context_->n());
    for (size_t digit = 0; digit < key.limbs; ++digit) {
      const size_t prime = digit == 0 ? 1 : 0;
      ExpandUniform(*context_, a, key.seed, digit, prime);
      out.push_back(Error(key.b[digit].limb(prime), a, prime));
    }
    return out;
  }

  // Small, and no two related: a correlation of independent errors exceeds 6 / sqrt(n) once in
  // 10^9.
  static void ExpectIndependent(const std::vector<std::vector<double>>& errors) {
    for (size_t i = 0; i < errors.size(); ++i) {
      for (double e : errors[i]) ASSERT_LE(std::abs(e), 21 * 64) << "not an error polynomial";
      for (size_t j = 0; j < i; ++j) {
        double product = 0, left = 0, right = 0;
        for (size_t k = 0; k < errors[i].size(); ++k) {
          product += errors[i][k] * errors[j][k];
          left += errors[i][k] * errors[i][k];
          right += errors[j][k] * errors[j][k];
        }
        ASSERT_GT(left * right, 0);
        EXPECT_LT(std::abs(product) / std::sqrt(left * right), 6 / std::sqrt(errors[i].size()))
            << "errors " << i << " and " << j;
      }
    }
  }
  template <typename Span>
  static std::vector<uint32_t> Vector(const Span& span) {
    return {span.begin(), span.end()};
  }

  Csprng rng_;
  std::shared_ptr<const Context> context_;
  std::unique_ptr<SecretKey> secret_;
  Plaintext plain_;
};

TEST_F(RandomnessTest, EncryptionsOfOneGenerator) {
  const PublicKey key = MakePublicKey(*context_, *secret_, rng_);
  std::set<Seed> seeds = {key.seed};
  std::set<std::vector<uint32_t>> uniform = {Vector(key.a.limb(0))};
  std::vector<std::vector<double>> errors = {Error(key.b.limb(0), key.a.limb(0), 0)};
  for (int i = 0; i < 6; ++i) {
    const SeededCiphertext seeded = EncryptSymmetric(*context_, plain_, *secret_, rng_);
    seeds.insert(seeded.seed);
    for (const Ciphertext& c : {Expand(*context_, seeded), Encrypt(*context_, plain_, key, rng_)}) {
      uniform.insert(Vector(c.parts[1].limb(0)));
      errors.push_back(Error(c));
    }
  }
  EXPECT_EQ(seeds.size(), 7u);
  EXPECT_EQ(uniform.size(), 13u);
  ExpectIndependent(errors);
}

TEST_F(RandomnessTest, KeysOfOneGenerator) {
  std::set<Seed> seeds;
  std::vector<std::vector<double>> errors;
  for (const SeededSwitchKey& key : {MakeRelinearisationKey(*context_, *secret_, 3, rng_),
                                     MakeRelinearisationKey(*context_, *secret_, 3, rng_),
                                     MakeGaloisKey(*context_, *secret_, 3, 3, rng_),
                                     MakeGaloisKey(*context_, *secret_, 3, 2, rng_)}) {
    seeds.insert(key.seed);
    for (auto& error : Errors(key)) errors.push_back(std::move(error));
  }
  EXPECT_EQ(seeds.size(), 4u);
  EXPECT_EQ(errors.size(), 11u);
  ExpectIndependent(errors);
}

TEST_F(RandomnessTest, SecretsAndKeyIds) {
  std::set<std::vector<int8_t>> secrets;
  std::set<KeyId> ids;
  for (int i = 0; i < 4; ++i) {
    const SecretKey one = *SecretKey::Generate(*context_, rng_);
    Csprng fresh;
    const SecretKey other = *SecretKey::Generate(*context_, fresh);
    for (const SecretKey* key : {&one, &other}) {
      secrets.insert({key->coefficients().begin(), key->coefficients().end()});
      ids.insert(key->key_id());
    }
  }
  EXPECT_EQ(secrets.size(), 8u);
  EXPECT_EQ(ids.size(), 8u);
}

// Digit and prime number the streams of a seed; 256 digit + prime must differ for each pair.
TEST_F(RandomnessTest, EveryDigitAndPrimeHasAStreamOfItsOwn) {
  ASSERT_LT(context_->special_index(), 256u);
  std::set<std::vector<uint32_t>> streams;
  const Seed seed = rng_.NewSeed();
  const uint32_t smallest = context_->modulus(2).value();
  for (size_t digit = 0; digit < 3; ++digit) {
    for (size_t prime = 0; prime < 4; ++prime) {
      std::vector<uint32_t> values(context_->n());
      ExpandUniform(*context_, values, seed, digit, prime);
      for (uint32_t& v : values) v %= smallest;
      streams.insert(values);
    }
  }
  EXPECT_EQ(streams.size(), 12u);
  static_assert(!std::is_copy_constructible_v<Csprng> && !std::is_copy_assignable_v<Csprng>);
}

}  // namespace
}  // namespace heft::ckks
