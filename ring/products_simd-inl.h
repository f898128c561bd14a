// SPDX-License-Identifier: Apache-2.0
// Inner products and scalar sums, lazily in 64 bits, one source for all instruction sets.

#if defined(HEFT_RING_PRODUCTS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEFT_RING_PRODUCTS_SIMD_INL_H_
#undef HEFT_RING_PRODUCTS_SIMD_INL_H_
#else
#define HEFT_RING_PRODUCTS_SIMD_INL_H_
#endif

#include "hwy/highway.h"
#include "ring/kernels.h"
#include "ring/wide_sums_simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heft::ring {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

void InnerProduct(uint32_t* out, const uint32_t* const* a, const uint32_t* const* b, size_t count,
                  size_t n, const Modulus& q) {
  if (n < kSmallestVectorLoop) return ReferenceKernels().inner_product(out, a, b, count, n, q);
  const WideReduction wide(q);
  // One product's room is left for what a partial reduction leaves.
  const size_t run = q.lazy_products() - 1;
  for (size_t i = 0; i < n; i += Lanes()) {
    V64 even = hn::Zero(d64);
    V64 odd = hn::Zero(d64);
    for (size_t k = 0; k < count;) {
      const size_t end = count - k < run ? count : k + run;
      for (; k < end; ++k) {
        const V32 va = hn::Load(d32, a[k] + i);
        const V32 vb = hn::Load(d32, b[k] + i);
        even = hn::Add(even, hn::MulEven(va, vb));
        odd = hn::Add(odd, hn::MulEven(hn::DupOdd(va), hn::DupOdd(vb)));
      }
      if (k < count) {
        even = wide.Reduce(even);
        odd = wide.Reduce(odd);
      }
    }
    hn::Store(wide.Finish(even, odd), d32, out + i);
  }
}

// ScalarSumsOf adds sums of `count` < q.lazy_products() products for each of kRows rows to out +
// at. The inputs lie packed, `piece` values each: all sums of one vector stay in registers.
template <size_t kRows>
HWY_INLINE void ScalarSumsOf(uint32_t* const* out, const uint32_t* packed, const uint32_t* weights,
                             size_t stride, size_t count, size_t at, size_t piece,
                             const WideReduction& wide) {
  for (size_t i = 0; i < piece; i += Lanes()) {
    WideSum sum[kRows];
    for (size_t d = 0; d < count; ++d) {
      const V32 x = hn::Load(d32, packed + d * piece + i);
      const V32 x_odd = hn::DupOdd(x);
      for (size_t r = 0; r < kRows; ++r) {
        const V32 w = hn::Set(d32, weights[r * stride + d]);
        sum[r].even = hn::Add(sum[r].even, hn::MulEven(x, w));
        sum[r].odd = hn::Add(sum[r].odd, hn::MulEven(x_odd, w));
      }
    }
    for (size_t r = 0; r < kRows; ++r) {
      const V32 total = hn::Add(hn::Load(d32, out[r] + at + i), sum[r].Finish(wide));
      hn::Store(ReduceOnce(total, wide.q), d32, out[r] + at + i);
    }
  }
}

void ScalarSums(uint32_t* const* out, const uint32_t* const* in, const uint32_t* weights,
                size_t rows, size_t count, size_t n, const Modulus& q) {
  if (n % kSmallestVectorLoop != 0) {
    return ReferenceKernels().scalar_sums(out, in, weights, rows, count, n, q);
  }
  // Inputs are often whole pages apart, where they would fall into the same few sets of the caches:
  // pieces are packed first, 64 inputs of 128 values, 32 kB.
  constexpr size_t kPiece = 128;
  constexpr size_t kInputs = 64;
  constexpr size_t kRows = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 8 : 4;
  alignas(64) uint32_t packed[kInputs * kPiece];
  const WideReduction wide(q);
  const size_t run = q.lazy_products() - 1;
  for (size_t at = 0; at < n; at += kPiece) {
    const size_t piece = n - at < kPiece ? n - at : kPiece;
    for (size_t start = 0; start < count; start += kInputs) {
      const size_t inputs = count - start < kInputs ? count - start : kInputs;
      for (size_t d = 0; d < inputs; ++d) {
        for (size_t i = 0; i < piece; i += Lanes()) {
          hn::Store(hn::Load(d32, in[start + d] + at + i), d32, packed + d * piece + i);
        }
      }
      for (size_t first = 0; first < inputs; first += run) {
        const size_t some = inputs - first < run ? inputs - first : run;
        const uint32_t* from = packed + first * piece;
        const uint32_t* w = weights + start + first;
        size_t r = 0;
        for (; r + kRows <= rows; r += kRows) {
          ScalarSumsOf<kRows>(out + r, from, w + r * count, count, some, at, piece, wide);
        }
        for (; r < rows; ++r) {
          ScalarSumsOf<1>(out + r, from, w + r * count, count, some, at, piece, wide);
        }
      }
    }
  }
}

#endif  // HWY_TARGET != HWY_SCALAR
}  // namespace HWY_NAMESPACE
}  // namespace heft::ring
HWY_AFTER_NAMESPACE();

#endif  // include guard
