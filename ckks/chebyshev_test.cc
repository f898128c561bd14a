// SPDX-License-Identifier: Apache-2.0
// Polynomials and inner products of ciphertexts against plain numbers, on a small ring.
#include "ckks/chebyshev.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "ckks/encoder.h"
#include "ckks/encryptor.h"
#include "ckks/inner_product.h"
#include "ckks/key_switch.h"
#include "ckks/operation_counts.h"
#include "ckks/owner/secret_key.h"

namespace heft::ckks {
namespace {

class ChebyshevTest : public ::testing::Test {
 protected:
  ChebyshevTest() {
    ParamsSpec spec;
    spec.n = 512;
    spec.data_bits = std::vector<int>(9, 29);
    spec.data_bits[0] = 30;
    spec.allow_insecure = true;
    context_ = std::make_shared<Context>(*Params::Create(spec));
    encoder_.emplace(context_);
    secret_.emplace(*SecretKey::Generate(*context_, rng_));
    public_key_ = MakePublicKey(*context_, *secret_, rng_);
    keys_.relinearisation =
        SwitchKey(*context_, MakeRelinearisationKey(*context_, *secret_, 9, rng_), 1);
  }
  Ciphertext Encrypt(const std::vector<double>& values, double scale) {
    const Plaintext plain = *encoder_->Encode(std::span<const double>(values), scale, 9);
    return ckks::Encrypt(*context_, plain, public_key_, rng_);
  }

  std::shared_ptr<const Context> context_;
  std::optional<Encoder> encoder_;
  Csprng rng_;
  std::optional<SecretKey> secret_;
  PublicKey public_key_;
  EvaluationKeys keys_;
};

TEST_F(ChebyshevTest, EvaluatesEveryDegreeAtItsLevelsAndScale) {
  const double centre = 1.5, half_width = 0.8;
  std::vector<double> x(context_->slots());
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = centre + half_width * (2.0 * i / (x.size() - 1) - 1);
  }
  const Ciphertext encrypted = Encrypt(x, context_->modulus(8).value() / half_width);
  for (int degree = 1; degree <= 31; ++degree) {
    std::vector<double> c;
    for (int k = 0; k <= degree; ++k) c.push_back((k % 3 == 1 ? -1.0 : 1.0) / (k + 1));
    const size_t limbs = 9 - ChebyshevLevels(degree);
    const double scale = 0x1.8p28;
    const auto out =
        EvaluateChebyshev(*context_, encrypted, c, centre, half_width, limbs, scale, keys_);
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ(out->limbs(), limbs);
    EXPECT_DOUBLE_EQ(out->scale, scale);
    const auto slots = encoder_->Decode(Decrypt(*context_, *out, *secret_));
    for (size_t i = 0; i < x.size(); ++i) {
      double expected = 0;
      for (int k = 0; k <= degree; ++k) {
        const double t = std::clamp((x[i] - centre) / half_width, -1.0, 1.0);
        expected += c[k] * std::cos(k * std::acos(t));
      }
      ASSERT_NEAR(slots[i].real(), expected, 1e-4) << degree << " " << x[i];
    }
    EXPECT_FALSE(
        EvaluateChebyshev(*context_, encrypted, c, centre, half_width, limbs + 1, scale, keys_)
            .ok());
  }
}

TEST_F(ChebyshevTest, RefusesConstants) {
  const Ciphertext x = Encrypt({1, 2}, 0x1p28);
  const std::vector<double> constant = {2, 0, 0};
  EXPECT_FALSE(EvaluateChebyshev(*context_, x, constant, 0, 1, 3, 0x1p28, keys_).ok());
}

TEST_F(ChebyshevTest, InnerProductsSumAndCount) {
  const std::vector<Ciphertext> a = {Encrypt({1, 2}, 0x1p28), Encrypt({3, -1}, 0x1p28)};
  const std::vector<Ciphertext> b = {Encrypt({0.5, 1}, 0x1p27), Encrypt({2, 4}, 0x1p27)};
  const OperationCounts before = TotalOperations();
  auto sum = InnerProduct(*context_, a, b);
  ASSERT_TRUE(sum.ok()) << sum.status();
  ASSERT_TRUE(RelineariseAndRescale(*context_, &*sum, *sum, keys_).ok());
  const OperationCounts counts = TotalOperations() - before;
  EXPECT_EQ(counts, (OperationCounts{.additions = 1,
                                     .ciphertext_products = 2,
                                     .relinearisations = 1,
                                     .rescales = 1,
                                     .decompositions = 1,
                                     .special_divisions = 1}));
  const auto slots = encoder_->Decode(Decrypt(*context_, *sum, *secret_));
  EXPECT_NEAR(slots[0].real(), 6.5, 1e-3);
  EXPECT_NEAR(slots[1].real(), -2, 1e-3);
  EXPECT_FALSE(InnerProduct(*context_, a, std::span(b).first(1)).ok());
  EXPECT_FALSE(InnerProduct(*context_, std::vector<Ciphertext>{a[0], b[0]}, a).ok());
}

}  // namespace
}  // namespace heft::ckks
