// SPDX-License-Identifier: Apache-2.0
// The assertions around the kernels: breaks each contract once, for each instruction set. All other
// tests of a debug build show that valid calls pass.
#include "ring/kernels_checked.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/check.h"
#include "ring/ntt.h"

namespace heft::ring {
namespace {

constexpr size_t kN = 64;

class KernelContractsTest : public testing::TestWithParam<const Kernels*> {
 protected:
  void SetUp() override {
    if (!kDebugChecks) GTEST_SKIP() << "release build: contracts are not checked";
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
  }
  const Kernels& checked() const { return CheckedKernels(*GetParam()); }

  const Modulus q_{(*GeneratePrimes(kN, {28}))[0]};
  const NttTables tables_{q_, kN};
  AlignedVector<uint32_t> a_ = AlignedVector<uint32_t>(2 * kN, 5);
  AlignedVector<uint32_t> b_ = AlignedVector<uint32_t>(2 * kN, 7);
  AlignedVector<uint32_t> out_ = AlignedVector<uint32_t>(2 * kN, 0);
};

TEST_P(KernelContractsTest, ResultsAreThoseOfTheTableBehindThem) {
  EXPECT_STREQ(checked().name, GetParam()->name);
  checked().multiply(out_.data(), a_.data(), b_.data(), kN, q_);
  EXPECT_EQ(out_[kN - 1], 35u);
  checked().ntt_forward(a_.data(), tables_, nullptr);
  checked().ntt_inverse(a_.data(), tables_, nullptr);
  EXPECT_EQ(a_[kN - 1], 5u);
}

TEST_P(KernelContractsTest, RangesOfTransforms) {
  a_[3] = 4 * q_.value() - 1;
  checked().ntt_forward(a_.data(), tables_, nullptr);
  a_[3] = 4 * q_.value();
  EXPECT_DEATH(checked().ntt_forward(a_.data(), tables_, nullptr), "input is in range");
  a_[3] = 2 * q_.value();
  EXPECT_DEATH(checked().ntt_inverse(a_.data(), tables_, nullptr), "input is in range");
}

TEST_P(KernelContractsTest, PointwiseInputsAreReduced) {
  b_[kN - 1] = q_.value();
  EXPECT_DEATH(checked().add(out_.data(), a_.data(), b_.data(), kN, q_), "input is in range");
  EXPECT_DEATH(checked().multiply(out_.data(), b_.data(), a_.data(), kN, q_), "input is in range");
  EXPECT_DEATH(checked().add_multiply_scalar(b_.data(), a_.data(), q_.Shoup(3), kN, q_),
               "input is in range");
  // Values beyond n are not checked.
  checked().add(out_.data(), a_.data(), b_.data(), kN / 2, q_);
}

TEST_P(KernelContractsTest, LengthAlignmentAndAliases) {
  EXPECT_DEATH(checked().add(out_.data(), a_.data(), b_.data(), 48, q_), "power of two");
  EXPECT_DEATH(checked().add(out_.data(), a_.data() + 1, b_.data(), kN, q_), "aligned arrays");
  const uint32_t* left[] = {a_.data()};
  const uint32_t* right[] = {b_.data()};
  EXPECT_DEATH(checked().inner_product(b_.data(), left, right, 1, kN, q_), "none of its inputs");
}

TEST_P(KernelContractsTest, FactorsAreOfTheirPrime) {
  const Modulus other((*GeneratePrimes(kN, {27}))[0]);
  EXPECT_DEATH(checked().multiply_scalar(out_.data(), a_.data(), other.Shoup(1000), kN, q_),
               "quotient is of this prime");
  const LiftConstants constants(q_, other);
  checked().lift(out_.data(), a_.data(), constants, kN, other);
  EXPECT_DEATH(checked().lift(out_.data(), a_.data(), constants, kN, q_), "of its primes");
}

TEST_P(KernelContractsTest, KeysHaveAllDigits) {
  AlignedVector<uint32_t> key(2 * kN, 1);
  checked().switch_products(out_.data(), out_.data() + kN, a_.data(), key.data(), 1, 1, kN, q_);
  EXPECT_DEATH(
      checked().switch_products(out_.data(), out_.data() + kN, a_.data(), key.data(), 1, 2, kN, q_),
      "all the digits");
}

TEST_P(KernelContractsTest, TilesOfPermutationsComeFromOneTile) {
  Permutation p(kN);
  std::iota(p.rbegin(), p.rend(), 0);  // reversed: tiles from tiles
  checked().permute(out_.data(), a_.data(), p, kN);
  std::swap(p[0], p[kN - 1]);
  EXPECT_DEATH(checked().permute(out_.data(), a_.data(), p, kN), "comes from one tile");
  EXPECT_DEATH(checked().permute(a_.data(), a_.data(), GaloisPermutation(kN, 3), kN),
               "another place");
}

TEST_P(KernelContractsTest, ProbesAndGalleriesOfAMatch) {
  const size_t count = 2;
  AlignedVector<uint32_t> probe(kN * 2 * count, 1), gallery(kN * 2 * count, 1), sums(3 * kN);
  uint32_t* out[] = {sums.data(), sums.data() + kN, sums.data() + 2 * kN};
  const uint32_t* galleries[] = {gallery.data()};
  const size_t stride = 2 * count * kTile;
  checked().match(out, probe.data(), stride, galleries, stride, 1, count, kN, q_);
  EXPECT_DEATH(checked().match(out, probe.data(), stride / 2, galleries, stride, 1, count, kN, q_),
               "do not overlap");
  EXPECT_DEATH(checked().match(out, probe.data(), stride, galleries, stride / 2, 1, count, kN, q_),
               "do not overlap");
  gallery.back() = q_.value();
  EXPECT_DEATH(checked().match(out, probe.data(), stride, galleries, stride, 1, count, kN, q_),
               "input is in range");
}

std::string NameOf(const testing::TestParamInfo<const Kernels*>& info) { return info.param->name; }

INSTANTIATE_TEST_SUITE_P(All, KernelContractsTest, testing::ValuesIn(AllKernels()), NameOf);

TEST(ActiveKernelsTest, AreCheckedInDebugBuilds) {
  const Modulus q((*GeneratePrimes(kN, {28}))[0]);
  AlignedVector<uint32_t> a(kN, q.value());
  if (!kDebugChecks) GTEST_SKIP() << "release build: contracts are not checked";
  EXPECT_DEATH(ActiveKernels().negate(a.data(), a.data(), kN, q), "input is in range");
}

}  // namespace
}  // namespace heft::ring
