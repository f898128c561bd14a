// SPDX-License-Identifier: Apache-2.0
// Known answers from exact integer arithmetic (tests/known_answers/make_known_answers.py): every
// residue must agree. All instruction sets.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/bytes.h"
#include "base/testing.h"
#include "ckks/arithmetic.h"
#include "ckks/encoder.h"
#include "ckks/key_switch.h"
#include "ckks/owner/secret_key.h"
#include "ckks/serialization.h"

namespace heft::ckks {
namespace {

using Json = nlohmann::json;

class KnownAnswersTest : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void SetUp() override {
    best_ = ring::ActiveKernels().name;
    if (!ring::ForceKernels(std::get<1>(GetParam()))) GTEST_SKIP() << "not on this machine";
    std::ifstream file(heft::testing::SourcePath("tests/known_answers/") + std::get<0>(GetParam()));
    known_ = Json::parse(file);
    auto params = Params::FromPrimes(known_["n"], known_["primes"].get<std::vector<uint32_t>>(),
                                     /*allow_insecure=*/true);
    ASSERT_TRUE(params.ok()) << params.status();
    context_ = std::make_shared<Context>(*params);
  }
  void TearDown() override { ring::ForceKernels(best_); }

  // One array of residues for each limb.
  static ring::RnsPoly Poly(const Json& limbs) {
    ring::RnsPoly poly(limbs[0].size(), limbs.size());
    for (size_t l = 0; l < limbs.size(); ++l) {
      for (size_t i = 0; i < limbs[l].size(); ++i) poly.limb(l)[i] = limbs[l][i];
    }
    return poly;
  }
  static Ciphertext Load(const Json& parts) {
    Ciphertext c;
    c.scale = 0x1p26;
    for (const Json& part : parts) c.parts.push_back(Poly(part));
    return c;
  }
  EvaluationKeys Keys() const {
    EvaluationKeys keys;
    for (const Json& j : known_["keys"]) {
      std::vector<ring::RnsPoly> b, a;
      for (const Json& digit : j["digits"]) {
        b.push_back(Poly(digit[0]));
        a.push_back(Poly(digit[1]));
      }
      const uint32_t element = j["element"];
      (element == 1 ? keys.relinearisation : keys.galois[element]) =
          SwitchKey(*context_, b, a, element);
    }
    return keys;
  }
  static void ExpectSame(const ring::RnsPoly& poly, const Json& limbs) {
    ASSERT_EQ(poly.limbs(), limbs.size());
    for (size_t l = 0; l < limbs.size(); ++l) {
      for (size_t i = 0; i < poly.n(); ++i) {
        ASSERT_EQ(poly.limb(l)[i], limbs[l][i].get<uint32_t>()) << "limb " << l << ", value " << i;
      }
    }
  }
  static void ExpectSame(const Ciphertext& c, const Json& parts) {
    ASSERT_EQ(c.size(), parts.size());
    for (size_t p = 0; p < parts.size(); ++p) ExpectSame(c.parts[p], parts[p]);
  }

  const char* best_ = "";
  Json known_;
  std::shared_ptr<const Context> context_;
};

TEST_P(KnownAnswersTest, Transforms) {
  ring::RnsPoly poly = Poly(known_["ntt"]["coefficients"]);
  for (size_t l = 0; l < poly.limbs(); ++l) {
    EXPECT_EQ(context_->ntt(l).root(), known_["roots"][l].get<uint32_t>());
    context_->ntt(l).Forward(poly.limb(l));
  }
  ExpectSame(poly, known_["ntt"]["values"]);
  for (size_t l = 0; l < poly.limbs(); ++l) context_->ntt(l).Inverse(poly.limb(l));
  ExpectSame(poly, known_["ntt"]["coefficients"]);
}

TEST_P(KnownAnswersTest, Products) {
  const ring::RnsPoly a = Poly(known_["product"]["a"]), b = Poly(known_["product"]["b"]);
  ring::RnsPoly product(a.n(), a.limbs());
  for (size_t l = 0; l < a.limbs(); ++l) {
    ring::ActiveKernels().multiply(product.limb(l).data(), a.limb(l).data(), b.limb(l).data(),
                                   a.n(), context_->modulus(l));
  }
  ExpectSame(product, known_["product"]["result"]);
}

TEST_P(KnownAnswersTest, PackedPolynomials) {
  const ring::RnsPoly poly = Poly(known_["packed"]["poly"]);
  ByteWriter writer;
  WritePoly(writer, *context_, poly, /*extended=*/false);
  EXPECT_EQ(HexString(writer.bytes()), known_["packed"]["hex"].get<std::string>());
  ByteReader reader(writer.bytes(), "polynomial");
  ExpectSame(ReadPoly(reader, *context_, poly.limbs(), false), known_["packed"]["poly"]);
  EXPECT_TRUE(reader.Finish().ok());
}

TEST_P(KnownAnswersTest, Encodings) {
  const Json& known = known_["encoding"];
  std::vector<Complex> slots;
  for (const Json& v : known["slots"]) slots.emplace_back(v[0], v[1]);
  const Encoder encoder(context_);
  const double scale = std::ldexp(1.0, known["scale_bits"].get<int>());
  auto plain = encoder.Encode(std::span<const Complex>(slots), scale, 2);
  ASSERT_TRUE(plain.ok()) << plain.status();
  ExpectSame(plain->poly, known["values"]);
  EXPECT_EQ(CentredCoefficients(*context_, *plain),
            known["coefficients"].get<std::vector<double>>());
  const auto decoded = encoder.Decode(*plain);
  for (size_t j = 0; j < slots.size(); ++j) {
    EXPECT_LT(std::abs(decoded[j] - slots[j]), context_->n() / scale) << j;
  }
}

TEST_P(KnownAnswersTest, ExpansionOfSeeds) {
  const Json& known = known_["expansion"];
  Seed seed;
  const std::string hex = known["seed"];
  for (size_t i = 0; i < seed.size(); ++i) seed[i] = std::stoi(hex.substr(2 * i, 2), nullptr, 16);
  std::vector<uint32_t> residues(context_->n());
  for (const Json& v : known["values"]) {
    ExpandUniform(*context_, residues, seed, v["digit"], v["prime"]);
    EXPECT_EQ(residues, v["residues"].get<std::vector<uint32_t>>());
  }
}

TEST_P(KnownAnswersTest, Decryption) {
  const auto secret =
      SecretKey::FromCoefficients(*context_, {}, known_["secret"].get<std::vector<int8_t>>());
  ASSERT_TRUE(secret.ok()) << secret.status();
  const Plaintext opened = Decrypt(*context_, Load(known_["ciphertexts"]["x"]), *secret);
  EXPECT_EQ(CentredCoefficients(*context_, opened),
            known_["ciphertexts"]["x_opened"].get<std::vector<double>>());
}

TEST_P(KnownAnswersTest, ProductsOfCiphertextsAndRescaling) {
  const Ciphertext x = Load(known_["ciphertexts"]["x"]), y = Load(known_["ciphertexts"]["y"]);
  Ciphertext c;
  ASSERT_TRUE(Multiply(*context_, &c, x, y).ok());
  ExpectSame(c, known_["multiply"]);
  ASSERT_TRUE(Rescale(*context_, &c, x).ok());
  ExpectSame(c, known_["rescale"]);
}

TEST_P(KnownAnswersTest, KeySwitches) {
  const EvaluationKeys keys = Keys();
  const Ciphertext product = Load(known_["multiply"]), x = Load(known_["ciphertexts"]["x"]);
  Ciphertext c;
  ASSERT_TRUE(Relinearise(*context_, &c, product, keys).ok());
  ExpectSame(c, known_["relinearise"]);
  ASSERT_TRUE(RelineariseAndRescale(*context_, &c, product, keys).ok());
  ExpectSame(c, known_["relinearise_and_rescale"]);
  const uint32_t element = known_["galois"]["element"];
  ASSERT_TRUE(ApplyGalois(*context_, &c, x, element, keys).ok());
  ExpectSame(c, known_["galois"]["result"]);
  const uint32_t elements[] = {element};
  const auto hoisted = ApplyGaloisHoisted(*context_, x, elements, keys);
  ASSERT_TRUE(hoisted.ok()) << hoisted.status();
  ExpectSame(hoisted->at(0), known_["galois"]["result"]);
  Ciphertext low;
  ASSERT_TRUE(DropLimbs(*context_, &low, x, known_["galois_below"]["limbs"]).ok());
  ASSERT_TRUE(ApplyGalois(*context_, &c, low, element, keys).ok());
  ExpectSame(c, known_["galois_below"]["result"]);
}

INSTANTIATE_TEST_SUITE_P(All, KnownAnswersTest,
                         ::testing::Combine(::testing::Values("known-n16.json", "known-n64.json"),
                                            ::testing::Values("reference", "sse4", "avx2", "avx512",
                                                              "neon")),
                         [](const auto& test) {
                           const std::string file = std::get<0>(test.param);
                           return file.substr(6, file.find('.') - 6) + "_" +
                                  std::get<1>(test.param);
                         });

}  // namespace
}  // namespace heft::ckks
