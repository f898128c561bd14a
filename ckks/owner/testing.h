// SPDX-License-Identifier: Apache-2.0
// Fixtures that hold a secret key, for the tests of the scheme.
#ifndef HEFT_CKKS_OWNER_TESTING_H_
#define HEFT_CKKS_OWNER_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "base/testing.h"
#include "ckks/encoder.h"
#include "ckks/encryptor.h"
#include "ckks/key_switch.h"
#include "ckks/owner/secret_key.h"
#include "ckks/seeded.h"

namespace heft::ckks::testing {

using Slots = std::vector<Complex>;

// World: all random draws of one case of a property.
class World {
 public:
  explicit World(uint64_t number) : random_(number), rng_(SeedOf(number)) {
    ParamsSpec spec;
    spec.n = 1u << Draw(7, 11);
    spec.data_bits = {30};
    const int levels = Draw(2, 5);
    for (int i = 0; i < levels; ++i) spec.data_bits.push_back(Draw(20, 30));
    spec.special_bits = 30;
    spec.allow_insecure = true;
    auto params = Params::Create(spec);
    EXPECT_TRUE(params.ok()) << params.status();
    context_ = std::make_shared<Context>(*params);
    encoder_ = std::make_unique<Encoder>(context_);
    secret_ = std::make_unique<SecretKey>(std::move(*SecretKey::Generate(*context_, rng_)));
    limbs_ = Draw(2, static_cast<int>(params->limbs()));
    scale_bits_ = Draw(17, 24);
    keys_.relinearisation =
        SwitchKey(*context_, MakeRelinearisationKey(*context_, *secret_, limbs_, rng_), 1);
  }

  int Draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  const Context& context() const { return *context_; }
  size_t limbs() const { return limbs_; }
  double scale() const { return std::ldexp(1.0, scale_bits_); }
  int64_t DrawSteps() { return Draw(0, static_cast<int>(context_->slots()) - 1); }
  std::string Describe() const {
    return context_->params().Describe() + ", " + std::to_string(limbs_) + " limbs, scale 2^" +
           std::to_string(scale_bits_);
  }

  Slots DrawSlots() {
    std::uniform_real_distribution<double> uniform(-1, 1);
    Slots v(context_->slots());
    for (Complex& x : v) x = {uniform(random_), uniform(random_)};
    return v;
  }
  Plaintext Encode(const Slots& v, size_t limbs, bool extended = false) const {
    auto plain = encoder_->Encode(std::span<const Complex>(v), scale(), limbs, extended);
    EXPECT_TRUE(plain.ok()) << plain.status();
    return *plain;
  }
  Ciphertext Encrypt(const Slots& v) {
    const Plaintext plain = Encode(v, limbs_);
    if (Draw(0, 1) == 0) {
      return Expand(*context_, EncryptSymmetric(*context_, plain, *secret_, rng_));
    }
    return ckks::Encrypt(*context_, plain, MakePublicKey(*context_, *secret_, rng_), rng_);
  }
  const EvaluationKeys& Keys(std::initializer_list<uint32_t> elements) {
    for (uint32_t element : elements) {
      if (element == 1 || keys_.galois.contains(element)) continue;
      keys_.galois[element] =
          SwitchKey(*context_, MakeGaloisKey(*context_, *secret_, element, limbs_, rng_), element);
    }
    return keys_;
  }
  uint32_t Element(int64_t steps) const { return RotationElement(context_->params(), steps); }
  uint32_t Conjugation() const { return ConjugationElement(context_->params()); }

  Slots Open(const Ciphertext& c) const {
    return encoder_->Decode(Decrypt(*context_, c, *secret_));
  }
  // `c` must contain `expected`, within its own noise estimate.
  void ExpectHolds(const Ciphertext& c, const Slots& expected, const char* what) const {
    const absl::Status valid = CheckCiphertext(*context_, c);
    ASSERT_TRUE(valid.ok()) << what << ": " << valid;
    const Slots slots = Open(c);
    double worst = 0;
    for (size_t i = 0; i < slots.size(); ++i) {
      worst = std::max(worst, std::abs(slots[i] - expected[i]));
    }
    EXPECT_LE(worst, SlotErrorBound(context_->params(), c.noise, c.scale)) << what;
  }
  // Two ciphertexts of the same message and scale.
  void ExpectAgree(const Ciphertext& a, const Ciphertext& b, const char* what) const {
    ASSERT_EQ(a.limbs(), b.limbs()) << what;
    EXPECT_NEAR(a.scale / b.scale, 1, 1e-9) << what;
    Ciphertext difference;
    ASSERT_TRUE(Subtract(*context_, &difference, a, b).ok()) << what;
    ExpectHolds(difference, Slots(context_->slots(), 0), what);
  }

 private:
  static Seed SeedOf(uint64_t number) {
    Seed seed{};
    for (size_t i = 0; i < 8; ++i) seed[i] = static_cast<uint8_t>(number >> (8 * i));
    return seed;
  }

  std::mt19937_64 random_;
  TestCsprng rng_;
  std::shared_ptr<const Context> context_;
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<SecretKey> secret_;
  EvaluationKeys keys_;
  size_t limbs_ = 0;
  int scale_bits_ = 0;
};

// kLooseness: a noise estimate must bound the measured error, by at most this factor.
inline constexpr double kLooseness = 8;

// Setup: parameters, and the kernels for the computation.
struct Setup {
  const char* name;
  uint32_t n;
  std::vector<int> bits;
  const char* kernels;
};

// CkksTest: a secret and its keys under the parameters and kernels of a Setup.
class CkksTest : public ::testing::TestWithParam<Setup> {
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
  // Slots on the unit circle: the estimator uses the largest message only.
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

  // The same draws for all kernels, which agree bit for bit: a result is valid for every machine.
  static Seed SeedOf(uint32_t n) { return Seed{static_cast<uint8_t>(std::countr_zero(n))}; }

  const char* best_ = "";
  TestCsprng rng_{SeedOf(GetParam().n)};
  std::mt19937_64 random_{7};
  std::shared_ptr<const Context> context_;
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<SecretKey> secret_;
  EvaluationKeys keys_;
};

// The same tests on the scalar reference and on every instruction set.
inline std::vector<Setup> Setups() {
  std::vector<Setup> all;
  for (const char* kernels : {"reference", "sse4", "avx2", "avx512", "neon"}) {
    all.push_back({"n4096", 4096, {30, 20, 26}, kernels});
    all.push_back({"n8192", 8192, {30, 29, 20, 28, 28, 28, 20}, kernels});
  }
  all.push_back({"n16384", 16384, {30, 28, 28, 28, 28, 28, 28}, "avx512"});
  return all;
}

inline void PrintTo(const Setup& setup, std::ostream* out) {
  *out << setup.name << " " << setup.kernels;
}

// SetupName: the name of a test's instance.
inline std::string SetupName(const ::testing::TestParamInfo<Setup>& test) {
  return std::string(test.param.name) + "_" + test.param.kernels;
}

}  // namespace heft::ckks::testing

#endif  // HEFT_CKKS_OWNER_TESTING_H_
