// SPDX-License-Identifier: Apache-2.0
#include "ckks/zero_sample.h"

#include <gtest/gtest.h>

#include "ckks/digits.h"
#include "ckks/encoder.h"
#include "ckks/owner/secret_key.h"
#include "ring/kernels.h"

namespace heft::ckks {
namespace {

class ZeroSampleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ParamsSpec spec;
    spec.n = 4096;
    spec.data_bits = {27, 26, 25};
    spec.special_bits = 28;
    auto params = Params::Create(spec);
    ASSERT_TRUE(params.ok()) << params.status();
    context_ = std::make_unique<Context>(*params);
    secret_ = std::make_unique<SecretKey>(std::move(*SecretKey::Generate(*context_, rng_)));
  }
  SwitchKey Key(uint32_t element, size_t limbs) {
    return SwitchKey(*context_, MakeGaloisKey(*context_, *secret_, element, limbs, rng_), element);
  }
  // The largest coefficient of c0 + c1 s modulo one prime of the extended basis.
  double Largest(const ring::RnsPoly part[2], size_t l, size_t limbs) {
    const size_t prime = ExtendedPrime(*context_, l, limbs);
    const ring::Modulus& q = context_->modulus(prime);
    const ring::Kernels& kernels = ring::ActiveKernels();
    AlignedVector<uint32_t> v(context_->n());
    kernels.multiply(v.data(), part[1].limb(l).data(), secret_->residues(prime).data(), v.size(),
                     q);
    kernels.add(v.data(), v.data(), part[0].limb(l).data(), v.size(), q);
    context_->ntt(prime).Inverse(v);
    double largest = 0;
    for (uint32_t x : v) largest = std::max<double>(largest, std::min(x, q.value() - x));
    return largest;
  }

  Csprng rng_;
  std::unique_ptr<Context> context_;
  std::unique_ptr<SecretKey> secret_;
};

TEST_F(ZeroSampleTest, EncryptsZeroUnderTheKeysSecret) {
  const size_t limbs = 2;
  for (const uint32_t element : {3u, 9u, 1u}) {
    const auto sample = ZeroSample::Of(*context_, Key(element, 3), element, limbs);
    ASSERT_TRUE(sample.ok()) << sample.status();
    ring::RnsPoly first[2], second[2];
    for (ring::RnsPoly* parts : {first, second}) {
      for (size_t p = 0; p < 2; ++p) {
        parts[p] = ring::RnsPoly(context_->n(), limbs + 1);
        std::ranges::fill(parts[p].values(), 0u);
      }
      sample->Hide(*context_, &parts[0], &parts[1], rng_);
      for (size_t l = 0; l <= limbs; ++l) {
        const double largest = Largest(parts, l, limbs);
        EXPECT_LT(largest, 0x1p21) << l;
        EXPECT_GT(largest, 0x1p19) << l;
      }
    }
    // Two samples have nothing in common, and each is spread over all residues.
    for (size_t l = 0; l <= limbs; ++l) {
      const auto a = first[1].limb(l), b = second[1].limb(l);
      size_t same = 0;
      double mean = 0;
      for (size_t i = 0; i < a.size(); ++i) {
        same += a[i] == b[i] ? 1 : 0;
        mean += a[i];
      }
      EXPECT_LE(same, 2u);
      const uint32_t q = context_->modulus(ExtendedPrime(*context_, l, limbs)).value();
      EXPECT_NEAR(mean / double(a.size()) / q, 0.5, 0.03);
    }
  }
}

TEST_F(ZeroSampleTest, NeedsADigitToSpare) {
  EXPECT_EQ(ZeroSample::Of(*context_, Key(3, 2), 3, 2).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ZeroSample::Of(*context_, SwitchKey(), 3, 2).status().code(),
            absl::StatusCode::kFailedPrecondition);
  const SwitchKey pairs = Key(3, 3).WithDigits(*context_, {1, 2});
  EXPECT_FALSE(ZeroSample::Of(*context_, pairs, 3, 2).ok());
  EXPECT_TRUE(ZeroSample::Of(*context_, pairs, 3, 1).ok());
}

}  // namespace
}  // namespace heft::ckks
