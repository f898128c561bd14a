// SPDX-License-Identifier: Apache-2.0
// Known answers made with Microsoft SEAL 4.4.3 (tests/data/README.md): encodings and products must
// agree exactly; SEAL's keys must work in our key switching, with at most SEAL's own error.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/testing.h"
#include "ckks/arithmetic.h"
#include "ckks/encoder.h"
#include "ckks/key_switch.h"
#include "ckks/owner/secret_key.h"

namespace heft::ckks {
namespace {

using Json = nlohmann::json;

class SealVectorsTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::ifstream file(heft::testing::SourcePath("tests/data/") + GetParam());
    known_ = Json::parse(file);
    auto params = Params::FromPrimes(known_["N"], known_["primes"].get<std::vector<uint32_t>>(),
                                     /*allow_insecure=*/true);
    ASSERT_TRUE(params.ok()) << params.status();
    context_ = std::make_shared<Context>(*params);
    encoder_ = std::make_unique<Encoder>(context_);
  }

  ring::RnsPoly Poly(const Json& residues, size_t limbs, size_t part = 0) const {
    ring::RnsPoly poly(context_->n(), limbs);
    for (size_t i = 0; i < poly.values().size(); ++i) {
      poly.values()[i] = residues[part * limbs * context_->n() + i];
    }
    return poly;
  }
  Ciphertext Load(const char* name) const {
    const Json& j = known_[name];
    Ciphertext c;
    c.scale = j["scale"];
    for (size_t p = 0; p < j["size"]; ++p) c.parts.push_back(Poly(j["residues"], j["limbs"], p));
    return c;
  }
  std::vector<Complex> Slots(const char* name) const {
    std::vector<Complex> slots;
    for (const Json& v : known_[name]) slots.emplace_back(v[0], v[1]);
    return slots;
  }
  // SEAL's key: for each digit a two-part polynomial over all primes.
  SwitchKey LoadKey(const char* name, uint32_t element) const {
    const size_t limbs = context_->params().limbs();
    std::vector<ring::RnsPoly> a, b;
    for (const Json& digit : known_[name]) {
      b.push_back(Poly(digit["digit"], limbs + 1, 0));
      a.push_back(Poly(digit["digit"], limbs + 1, 1));
    }
    return SwitchKey(*context_, b, a, element);
  }
  SecretKey Secret() const {
    ring::RnsPoly s = Poly(known_["secret_key"], context_->params().limbs() + 1);
    context_->ntt(0).Inverse(s.limb(0));
    std::vector<int8_t> coefficients;
    for (uint32_t v : s.limb(0)) coefficients.push_back(v > 1 ? -1 : static_cast<int8_t>(v));
    return *SecretKey::FromCoefficients(*context_, {}, coefficients);
  }
  double WorstError(const Ciphertext& c, const std::vector<Complex>& expected) const {
    const auto slots = encoder_->Decode(Decrypt(*context_, c, Secret()));
    double worst = 0;
    for (size_t i = 0; i < slots.size(); ++i) {
      worst = std::max(worst, std::abs(slots[i] - expected[i]));
    }
    return worst;
  }
  void ExpectSame(const Ciphertext& a, const Ciphertext& b) const {
    ASSERT_EQ(a.size(), b.size());
    EXPECT_NEAR(a.scale / b.scale, 1, 1e-12);
    for (size_t p = 0; p < a.size(); ++p) {
      EXPECT_TRUE(std::equal(a.parts[p].values().begin(), a.parts[p].values().end(),
                             b.parts[p].values().begin(), b.parts[p].values().end()));
    }
  }

  Json known_;
  std::shared_ptr<const Context> context_;
  std::unique_ptr<Encoder> encoder_;
};

TEST_P(SealVectorsTest, EncodingIsExact) {
  auto plain = encoder_->Encode(std::span<const Complex>(Slots("a")), known_["scale"], 3);
  ASSERT_TRUE(plain.ok()) << plain.status();
  const ring::RnsPoly expected = Poly(known_["encode_a"], 3);
  for (size_t i = 0; i < expected.values().size(); ++i) {
    ASSERT_EQ(plain->poly.values()[i], expected.values()[i]) << i;
  }
}

TEST_P(SealVectorsTest, SecretKeyTransformIsExact) {
  const SecretKey secret = Secret();
  const ring::RnsPoly expected = Poly(known_["secret_key"], 4);
  for (size_t l = 0; l < 4; ++l) {
    for (size_t i = 0; i < context_->n(); ++i) {
      ASSERT_EQ(secret.residues(l)[i], expected.limb(l)[i]);
    }
  }
}

TEST_P(SealVectorsTest, DecryptsSealCiphertexts) {
  const std::vector<Complex> a = Slots("a");
  const std::vector<Complex> seal = Slots("decrypted_a");
  EXPECT_LT(WorstError(Load("encrypt_a"), seal), 1e-6);
  EXPECT_LT(WorstError(Load("encrypt_symmetric_a"), a), 1e-4);
}

TEST_P(SealVectorsTest, ProductAndRescaleAreExact) {
  Ciphertext product;
  ASSERT_TRUE(Multiply(*context_, &product, Load("encrypt_a"), Load("encrypt_b")).ok());
  ExpectSame(product, Load("multiply"));
  Ciphertext rescaled;
  ASSERT_TRUE(Rescale(*context_, &rescaled, Load("relinearize")).ok());
  ExpectSame(rescaled, Load("rescale"));
}

TEST_P(SealVectorsTest, KeySwitchingWithSealKeysIsAtLeastAsExactAsSeals) {
  EvaluationKeys keys;
  keys.relinearisation = LoadKey("relin_key", 1);
  const uint32_t conjugation = 2 * context_->n() - 1;
  const std::string conjugation_name = "galois_key_" + std::to_string(conjugation);
  keys.galois[3] = LoadKey("galois_key_3", 3);
  keys.galois[conjugation] = LoadKey(conjugation_name.c_str(), conjugation);

  const std::vector<Complex> a = Slots("decrypted_a");
  std::vector<Complex> rotated(a.size()), conjugated(a.size()), product(a.size());
  const std::vector<Complex> exact_a = Slots("a"), exact_b = Slots("b");
  for (size_t i = 0; i < a.size(); ++i) {
    rotated[i] = a[(i + 1) % a.size()];
    conjugated[i] = std::conj(a[i]);
    product[i] = exact_a[i] * exact_b[i];
  }
  // SEAL's own errors on the same ciphertexts; ours may be as large, plus the cost of rounding.
  const double slack = 1e-6 * std::sqrt(context_->n());
  Ciphertext c;
  ASSERT_TRUE(Relinearise(*context_, &c, Load("multiply"), keys).ok());
  EXPECT_LE(WorstError(c, product), WorstError(Load("relinearize"), product) + slack);
  ASSERT_TRUE(Rotate(*context_, &c, Load("encrypt_a"), 1, keys).ok());
  EXPECT_LE(WorstError(c, rotated), WorstError(Load("rotate_1"), rotated) + slack);
  ASSERT_TRUE(Conjugate(*context_, &c, Load("encrypt_a"), keys).ok());
  EXPECT_LE(WorstError(c, conjugated), WorstError(Load("conjugate"), conjugated) + slack);
}

INSTANTIATE_TEST_SUITE_P(All, SealVectorsTest, ::testing::Values("seal-n16.json", "seal-n256.json"),
                         [](const auto& param) { return param.index == 0 ? "n16" : "n256"; });

}  // namespace
}  // namespace heft::ckks
