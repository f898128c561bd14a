// SPDX-License-Identifier: Apache-2.0
// Every instruction set of this machine against the scalar reference, on the same input: random,
// all-zero, all-largest.
#include "ring/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/aligned.h"
#include "ring/ntt.h"

namespace heft::ring {
namespace {

enum class Fill { kRandom, kZero, kLargest };

AlignedVector<uint32_t> Input(size_t n, uint32_t bound, Fill fill, uint32_t seed) {
  std::mt19937 rng(seed);
  AlignedVector<uint32_t> v(n);
  for (uint32_t& x : v) {
    x = fill == Fill::kZero ? 0 : fill == Fill::kLargest ? bound - 1 : rng() % bound;
  }
  return v;
}

struct Case {
  const Kernels* kernels;
  uint32_t n;
  int bits;
  Fill fill;
};

class KernelsTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    modulus_ = std::make_unique<Modulus>((*GeneratePrimes(n(), {bits()}))[0]);
  }
  const Kernels& fast() const { return *GetParam().kernels; }
  const Kernels& reference() const { return ReferenceKernels(); }
  uint32_t n() const { return GetParam().n; }
  int bits() const { return GetParam().bits; }
  const Modulus& q() const { return *modulus_; }
  AlignedVector<uint32_t> In(uint32_t seed, uint32_t times = 1) const {
    return Input(n(), times * q().value(), GetParam().fill, seed);
  }

 private:
  std::unique_ptr<Modulus> modulus_;
};

TEST_P(KernelsTest, Transforms) {
  const NttTables tables(q(), n());
  AlignedVector<uint32_t> a = In(1, 4), b = a;
  fast().ntt_forward(a.data(), tables, nullptr);
  reference().ntt_forward(b.data(), tables, nullptr);
  EXPECT_EQ(a, b);
  const size_t tile = std::min<size_t>(n(), kTile);
  const size_t stride = 3 * tile;
  a = In(1, 4);
  AlignedVector<uint32_t> tiled(n() * 3, 0);
  const uint32_t* ahead = b.data();
  fast().ntt_forward_tiled(tiled.data(), stride, a.data(), tables, &ahead);
  for (size_t i = 0; i < n(); ++i) ASSERT_EQ(tiled[i / tile * stride + i % tile], b[i]);
  a = In(2, 2);
  b = a;
  fast().ntt_inverse(a.data(), tables, &ahead);
  reference().ntt_inverse(b.data(), tables, nullptr);
  EXPECT_EQ(a, b);
}

TEST_P(KernelsTest, Pointwise) {
  const AlignedVector<uint32_t> a = In(3), b = In(4);
  AlignedVector<uint32_t> x(n()), y(n());
  auto same = [&](auto member) {
    (fast().*member)(x.data(), a.data(), b.data(), n(), q());
    (reference().*member)(y.data(), a.data(), b.data(), n(), q());
    EXPECT_EQ(x, y);
  };
  same(&Kernels::add);
  same(&Kernels::subtract);
  same(&Kernels::multiply);
  fast().negate(x.data(), a.data(), n(), q());
  reference().negate(y.data(), a.data(), n(), q());
  EXPECT_EQ(x, y);
  const ShoupFactor w = q().Shoup(q().value() - 3);
  fast().multiply_scalar(x.data(), a.data(), w, n(), q());
  reference().multiply_scalar(y.data(), a.data(), w, n(), q());
  EXPECT_EQ(x, y);
  fast().subtract_multiply_scalar(x.data(), a.data(), b.data(), w, n(), q());
  reference().subtract_multiply_scalar(y.data(), a.data(), b.data(), w, n(), q());
  EXPECT_EQ(x, y);
  x = y = b;
  fast().add_multiply_scalar(x.data(), a.data(), w, n(), q());
  reference().add_multiply_scalar(y.data(), a.data(), w, n(), q());
  EXPECT_EQ(x, y);
}

TEST_P(KernelsTest, InnerProductsOfAnyLength) {
  for (size_t count : {1, 2, 7, 15, 16, 17, 40, 130}) {
    std::vector<AlignedVector<uint32_t>> a, b;
    std::vector<const uint32_t*> pa, pb;
    for (size_t k = 0; k < count; ++k) {
      a.push_back(In(10 + k));
      b.push_back(In(300 + k));
    }
    for (size_t k = 0; k < count; ++k) {
      pa.push_back(a[k].data());
      pb.push_back(b[k].data());
    }
    AlignedVector<uint32_t> x(n()), y(n());
    fast().inner_product(x.data(), pa.data(), pb.data(), count, n(), q());
    reference().inner_product(y.data(), pa.data(), pb.data(), count, n(), q());
    EXPECT_EQ(x, y) << count;
  }
}

TEST_P(KernelsTest, Lifts) {
  for (int from_bits : {30, 28, 20}) {
    if (from_bits == 20 && n() > 8192) continue;
    const Modulus from((*GeneratePrimes(n(), {from_bits, from_bits}))[1]);
    const LiftConstants constants(from, q());
    const AlignedVector<uint32_t> a = Input(n(), from.value(), GetParam().fill, 5);
    AlignedVector<uint32_t> x(n()), y(n());
    fast().lift(x.data(), a.data(), constants, n(), q());
    reference().lift(y.data(), a.data(), constants, n(), q());
    EXPECT_EQ(x, y);
    for (uint32_t i = 0; i < n(); ++i) {  // the definition
      const int64_t centred = a[i] > from.value() / 2 ? int64_t{a[i]} - from.value() : a[i];
      ASSERT_EQ(y[i], q().ReduceSigned(centred));
    }
    // lift(a) + lift(b) * w, from the kernels that are checked above.
    const ShoupFactor w = q().Shoup(q().Reduce(123456789));
    const AlignedVector<uint32_t> b = Input(n(), from.value(), GetParam().fill, 6);
    AlignedVector<uint32_t> sum(n()), lifted(n());
    fast().lift_sum(sum.data(), a.data(), constants, b.data(), constants, w, n(), q());
    reference().lift(lifted.data(), b.data(), constants, n(), q());
    for (uint32_t i = 0; i < n(); ++i) {
      ASSERT_EQ(sum[i], q().Add(y[i], q().Multiply(lifted[i], w.value)));
    }
  }
}

TEST_P(KernelsTest, RoundsScaledFloats) {
  const auto bound = static_cast<float>(q().value() - 1);
  const float factor = GetParam().fill == Fill::kRandom ? 0.31F : 0.5F;
  std::mt19937 rng(7);
  AlignedVector<float> a(n());
  for (float& v : a) {  // kLargest: halves, which are rounded to even
    const float unit = static_cast<float>(rng() % 2'000'001) / 1e6F - 1;
    v = GetParam().fill == Fill::kZero ? 0
        : GetParam().fill == Fill::kLargest
            ? static_cast<float>(static_cast<int>(rng() % 999) - 499)
            : unit * bound;
  }
  AlignedVector<uint32_t> x(n()), y(n());
  fast().round_scaled(x.data(), a.data(), factor, n(), q());
  reference().round_scaled(y.data(), a.data(), factor, n(), q());
  EXPECT_EQ(x, y);
  for (uint32_t i = 0; i < n(); ++i) {  // the definition
    ASSERT_EQ(y[i], q().ReduceSigned(std::llrint(a[i] * factor)));
  }
}

TEST_P(KernelsTest, Permutations) {
  const AlignedVector<uint32_t> a = In(6), start = In(60);
  // Elements that move values within ever smaller blocks, and the reversal.
  for (uint32_t element : {3u, 1 + n() / 16, 1 + n() / 8, 1 + n() / 4, n() + 1, 2 * n() - 1}) {
    const Permutation p = GaloisPermutation(n(), element | 1);
    AlignedVector<uint32_t> x(n()), y(n());
    fast().permute(x.data(), a.data(), p, n());
    reference().permute(y.data(), a.data(), p, n());
    EXPECT_EQ(x, y);
    const size_t tile = std::min<size_t>(n(), kTile);
    AlignedVector<uint32_t> tiled(2 * n());
    AlignedVector<uint32_t> expected(tiled.size());
    const auto b = Input(n(), q().value(), GetParam().fill, 14);
    const auto c = Input(n(), q().value(), GetParam().fill, 15);
    const uint32_t* const sums[] = {a.data(), b.data()};
    const uint32_t* const rests[] = {c.data(), a.data()};
    const ShoupFactor w = q().Shoup(q().value() - 1);
    fast().quotient_tiled(tiled.data(), 2 * tile, sums, rests, b.data(), w, p, n(), q());
    reference().quotient_tiled(expected.data(), 2 * tile, sums, rests, b.data(), w, p, n(), q());
    EXPECT_EQ(tiled, expected);
    for (size_t i = 0; i < n(); ++i) {
      ASSERT_EQ(tiled[i / tile * 2 * tile + i % tile],
                q().Negate(q().Add(q().Add(a[p[i]], q().Negate(c[p[i]])), b[p[i]])));
    }
    x = y = start;
    fast().permute_add(x.data(), a.data(), p, n(), q());
    reference().permute_add(y.data(), a.data(), p, n(), q());
    EXPECT_EQ(x, y);
  }
}

TEST_P(KernelsTest, SwitchProductsOfAnyLength) {
  for (size_t count : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 28}) {
    for (size_t key_digits : {count, count + 3}) {
      const auto digits = Input(n() * count, q().value(), GetParam().fill, 20);
      const auto key = Input(n() * 2 * key_digits, q().value(), GetParam().fill, 21);
      AlignedVector<uint32_t> x0(n()), x1(n()), y0(n()), y1(n());
      fast().switch_products(x0.data(), x1.data(), digits.data(), key.data(), key_digits, count,
                             n(), q());
      reference().switch_products(y0.data(), y1.data(), digits.data(), key.data(), key_digits,
                                  count, n(), q());
      EXPECT_EQ(x0, y0);
      EXPECT_EQ(x1, y1);
    }
  }
}

TEST_P(KernelsTest, Matches) {
  const size_t tiles = std::max<size_t>(n() / kTile, 1);
  for (size_t count : {4, 16, 32, 64}) {
    for (size_t galleries : {1, 2, 3, 4}) {
      if (n() > 4096 && count != 32) continue;
      const size_t stride = count * 2 * kTile + kTile;
      // Galleries one after another, or interleaved tile by tile.
      const bool side_by_side = galleries % 2 == 0;
      const size_t row = count * 2 * kTile, gallery_stride = side_by_side ? galleries * row : row;
      const size_t size = tiles * row, apart = side_by_side ? row : size;
      const auto probe = Input(tiles * stride, q().value(), GetParam().fill, 7);
      const auto gallery = Input(galleries * size, q().value(), GetParam().fill, 8);
      std::vector<const uint32_t*> pointers;
      for (size_t g = 0; g < galleries; ++g) pointers.push_back(gallery.data() + g * apart);
      const size_t parts = 3 * galleries;
      std::vector<AlignedVector<uint32_t>> x(parts, AlignedVector<uint32_t>(n())), y = x;
      std::vector<uint32_t*> px, py;
      for (auto& v : x) px.push_back(v.data());
      for (auto& v : y) py.push_back(v.data());
      fast().match(px.data(), probe.data(), stride, pointers.data(), gallery_stride, galleries,
                   count, n(), q());
      reference().match(py.data(), probe.data(), stride, pointers.data(), gallery_stride, galleries,
                        count, n(), q());
      EXPECT_EQ(x, y) << count << " products, " << galleries << " galleries";
    }
  }
}

TEST_P(KernelsTest, MatchesTilesOfSeveralProbesAndGalleries) {
  for (size_t count : {4, 32, 64}) {
    for (size_t probes : {1, 3}) {
      for (size_t galleries : {1, 2, 5}) {
        const size_t size = count * 2 * kTile;
        const auto probe = Input(probes * size, q().value(), GetParam().fill, 9);
        const auto gallery = Input(galleries * size, q().value(), GetParam().fill, 10);
        std::vector<const uint32_t*> pointers;
        for (size_t g = 0; g < galleries; ++g) pointers.push_back(gallery.data() + g * size);
        const size_t stride = 2 * kTile;
        AlignedVector<uint32_t> x(probes * galleries * 3 * stride), scratch(4 * count * kTile);
        std::fill(x.begin(), x.end(), 0);
        AlignedVector<uint32_t> y = x;
        fast().match_tile(x.data(), stride, probe.data(), probes, pointers.data(), galleries,
                          scratch.data(), count, q());
        reference().match_tile(y.data(), stride, probe.data(), probes, pointers.data(), galleries,
                               scratch.data(), count, q());
        EXPECT_EQ(x, y) << count << " products, " << probes << " probes, " << galleries;
      }
    }
  }
}

TEST_P(KernelsTest, ScalarSumsOfAnySize) {
  for (size_t rows : {1, 3, 8, 13}) {
    for (size_t count : {1, 15, 16, 70}) {
      if (n() > 512 && count > 16) continue;
      std::vector<AlignedVector<uint32_t>> in, x, y;
      std::vector<const uint32_t*> p_in;
      std::vector<uint32_t*> px, py;
      for (size_t d = 0; d < count; ++d) in.push_back(In(400 + d));
      for (size_t r = 0; r < rows; ++r) x.push_back(In(500 + r));
      y = x;
      for (const auto& v : in) p_in.push_back(v.data());
      for (auto& v : x) px.push_back(v.data());
      for (auto& v : y) py.push_back(v.data());
      const auto residues = Input(rows * count, q().value(), GetParam().fill, 600);
      std::vector<int32_t> weights(residues.begin(), residues.end());
      for (size_t k = 0; k < weights.size(); k += 2) weights[k] = -weights[k];
      fast().scalar_sums(px.data(), p_in.data(), weights.data(), rows, count, n(), q());
      reference().scalar_sums(py.data(), p_in.data(), weights.data(), rows, count, n(), q());
      EXPECT_EQ(x, y) << rows << " rows, " << count << " inputs";
    }
  }
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Kernels* kernels : AllKernels()) {
    for (uint32_t n : {8u, 16u, 64u, 128u, 256u, 4096u, 8192u, 16384u}) {
      for (int bits : {30, 28, 20}) {
        if (bits == 20 && n > 8192) continue;
        for (Fill fill : {Fill::kRandom, Fill::kZero, Fill::kLargest}) {
          if (n > 512 && fill != Fill::kRandom && bits != 30) continue;
          cases.push_back({kernels, n, bits, fill});
        }
      }
    }
  }
  return cases;
}

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  static const char* kFills[] = {"random", "zero", "largest"};
  return std::string(info.param.kernels->name) + "_n" + std::to_string(info.param.n) + "_bits" +
         std::to_string(info.param.bits) + "_" + kFills[static_cast<int>(info.param.fill)];
}

INSTANTIATE_TEST_SUITE_P(All, KernelsTest, ::testing::ValuesIn(Cases()), CaseName);

TEST(DispatchTest, ForcingATable) {
  const std::string best = ActiveKernels().name;
  ASSERT_TRUE(ForceKernels("reference"));
  EXPECT_STREQ(ActiveKernels().name, "reference");
  EXPECT_FALSE(ForceKernels("abacus"));
  EXPECT_TRUE(ForceKernels(best));
}

}  // namespace
}  // namespace heft::ring
