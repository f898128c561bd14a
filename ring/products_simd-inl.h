// SPDX-License-Identifier: Apache-2.0
// Inner products and scalar sums, lazily in 64 bits, and the products of a key switch: one source
// for all instruction sets.

#if defined(HEFT_RING_PRODUCTS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEFT_RING_PRODUCTS_SIMD_INL_H_
#undef HEFT_RING_PRODUCTS_SIMD_INL_H_
#else
#define HEFT_RING_PRODUCTS_SIMD_INL_H_
#endif

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "ring/kernels.h"
#include "ring/vector_simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heft::ring {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

void InnerProduct(uint32_t* out, const uint32_t* const* a, const uint32_t* const* b, size_t count,
                  size_t n, const Modulus& q) {
  if (n < kSmallestVectorLoop) return ReferenceKernels().inner_product(out, a, b, count, n, q);
  const WideReduction wide(q);
  // Leave room of one product for the rest after a partial reduction.
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

// SignedSums: `lazy` products of a value in [0, q) and a signed weight fit in a signed 64-bit sum,
// which is kept from 0 by a multiple of q.
struct SignedSums {
  SignedSums(const Modulus& q, uint32_t largest_weight)
      : multiples((uint64_t{1} << 63) / q.value()),
        start(multiples * q.value()),
        lazy(multiples / (largest_weight == 0 ? 1 : largest_weight)) {}
  uint64_t multiples, start, lazy;
};

// ScalarSumsOf: adds sums of `count` products for each of kRows rows to out + at; `start` is the
// multiple of q. The inputs are packed, `piece` values each, and all sums of one vector stay in
// registers.
template <size_t kRows>
HWY_INLINE void ScalarSumsOf(uint32_t* const* out, const uint32_t* packed, const int32_t* weights,
                             size_t stride, size_t count, size_t at, size_t piece, uint64_t start,
                             const WideReduction& wide) {
  for (size_t i = 0; i < piece; i += Lanes()) {
    V64 even[kRows], odd[kRows];
    for (size_t r = 0; r < kRows; ++r) even[r] = odd[r] = hn::Set(d64, start);
    for (size_t d = 0; d < count; ++d) {
      const V32 x = LoadOnce(packed + d * piece + i);
      const auto x_even = hn::BitCast(di32, x);
      const auto x_odd = hn::BitCast(di32, hn::DupOdd(x));
      for (size_t r = 0; r < kRows; ++r) {
        const auto w = hn::Set(di32, weights[r * stride + d]);
        even[r] = hn::Add(even[r], hn::BitCast(d64, hn::MulEven(x_even, w)));
        odd[r] = hn::Add(odd[r], hn::BitCast(d64, hn::MulEven(x_odd, w)));
      }
    }
    for (size_t r = 0; r < kRows; ++r) {
      const V32 total = hn::Add(hn::Load(d32, out[r] + at + i), wide.Finish(even[r], odd[r]));
      hn::Store(ReduceOnce(total, wide.q), d32, out[r] + at + i);
    }
  }
}

void ScalarSums(uint32_t* const* out, const uint32_t* const* in, const int32_t* weights,
                size_t rows, size_t count, size_t n, const Modulus& q) {
  if (n % kSmallestVectorLoop != 0) {
    return ReferenceKernels().scalar_sums(out, in, weights, rows, count, n, q);
  }
  // Inputs are often whole pages apart and would share a few sets of the caches, so pieces are
  // packed first: 128 inputs of 128 values, 64 kB. The hardware does not foresee so many streams,
  // so inputs are prefetched.
  constexpr size_t kPiece = 128, kInputs = 128, kAheadInputs = 12;
  constexpr size_t kRows = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 8 : 4;
  alignas(64) uint32_t packed[kInputs * kPiece];
  uint32_t largest = 0;
  for (size_t k = 0; k < rows * count; ++k) {
    const auto w = static_cast<uint32_t>(weights[k] < 0 ? -weights[k] : weights[k]);
    if (w > largest) largest = w;
  }
  const SignedSums sums(q, largest);
  const WideReduction wide(q);
  for (size_t at = 0; at < n; at += kPiece) {
    const size_t piece = n - at < kPiece ? n - at : kPiece;
    for (size_t start = 0; start < count; start += kInputs) {
      const size_t inputs = count - start < kInputs ? count - start : kInputs;
      for (size_t d = 0; d < inputs; ++d) {
        const uint32_t* from = in[start + d] + at;
        const size_t next = start + d + kAheadInputs;
        const uint32_t* ahead = next < count ? in[next] + at : from;
        for (size_t i = 0; i < piece; i += Lanes()) {
          hwy::Prefetch(ahead + i);
          hn::Store(hn::Load(d32, from + i), d32, packed + d * piece + i);
        }
      }
      for (size_t first = 0; first < inputs; first += sums.lazy) {
        const size_t some = inputs - first < sums.lazy ? inputs - first : sums.lazy;
        const uint32_t* from = packed + first * piece;
        const int32_t* w = weights + start + first;
        size_t r = 0;
        for (; r + kRows <= rows; r += kRows) {
          ScalarSumsOf<kRows>(out + r, from, w + r * count, count, some, at, piece, sums.start,
                              wide);
        }
        for (; r < rows; ++r) {
          ScalarSumsOf<1>(out + r, from, w + r * count, count, some, at, piece, sums.start, wide);
        }
      }
    }
  }
}

// ---- The products of a key switch: digits times a key that streams from memory.

// Montgomery: reduces sums of at most kMax products of two residues by Montgomery's method: 2^-32
// times the sum, out [0, q).
struct Montgomery {
  static constexpr size_t kMax = 8;
  explicit HWY_INLINE Montgomery(const Modulus& modulus) : q(hn::Set(d32, modulus.value())) {
    uint32_t inverse = modulus.value();  // of q modulo 2^32; right to 3 bits, doubled four times
    for (int i = 0; i < 4; ++i) inverse *= 2 - modulus.value() * inverse;
    q_inverse = hn::Set(d32, inverse);
  }
  // The sum minus the multiple of q with the same low half, which then is zero.
  HWY_INLINE V64 Clear(V64 sum) const {
    return hn::Sub(sum, hn::MulEven(As32(hn::MulEven(As32(sum), q_inverse)), q));
  }
  // High halves: below 2q for 8 products (q < 2^30), minus a value below q: (-q, 2q), or (-q, q)
  // for 4.
  template <size_t kCount>
  HWY_INLINE V32 Finish(const WideSum& s) const {
    static_assert(kCount <= kMax);
    const V32 r = HighHalves(Clear(s.even), Clear(s.odd));
    if constexpr (kCount <= 4) return hn::Min(r, hn::Add(r, q));
    return ReduceOnce(ReduceOnce(hn::Add(r, q), hn::Add(q, q)), q);
  }
  V32 q, q_inverse;
};

// KeyAhead: how many values ahead key tiles are prefetched: at least kAhead tiles, in whole rows of
// the key, so that the right tiles are prefetched even if fewer digits are used than the key has.
HWY_INLINE size_t KeyAhead(size_t key_digits) {
  const size_t row = key_digits * 2;
  return (kAhead + row - 1) / row * row * kTile;
}

// AddDigit: adds the products of digit j at one place of a tile; `key` points to its first part.
HWY_INLINE void AddDigit(WideSum* sum0, WideSum* sum1, const uint32_t* digit, const uint32_t* key,
                         size_t ahead) {
  const V32 d = LoadOnce(digit);
  const V32 d_odd = hn::DupOdd(d);
  hwy::Prefetch(key + ahead);
  hwy::Prefetch(key + ahead + kTile);
  sum0->Add(d, d_odd, LoadOnce(key));
  sum1->Add(d, d_odd, LoadOnce(key + kTile));
}

// SwitchProductsOf: with a fixed count the compiler unrolls and keeps all sums of a tile in
// registers.
template <size_t kCount>
HWY_INLINE void SwitchProductsOf(uint32_t* out0, uint32_t* out1, const uint32_t* digits,
                                 const uint32_t* key, size_t key_digits, size_t n,
                                 const Modulus& q) {
  const Montgomery montgomery(q);
  const size_t ahead = KeyAhead(key_digits);
  for (size_t i = 0; i < n; i += kTile, digits += kCount * kTile, key += key_digits * 2 * kTile) {
    for (size_t lane = 0; lane < kTile; lane += Lanes()) {
      WideSum sum0, sum1;
      for (size_t j = 0; j < kCount; ++j) {
        AddDigit(&sum0, &sum1, digits + j * kTile + lane, key + 2 * j * kTile + lane, ahead);
      }
      hn::Store(montgomery.Finish<kCount>(sum0), d32, out0 + i + lane);
      hn::Store(montgomery.Finish<kCount>(sum1), d32, out1 + i + lane);
    }
  }
}

// SwitchProductsOfMany: any count; reduces after each kMax digits.
HWY_INLINE void SwitchProductsOfMany(uint32_t* out0, uint32_t* out1, const uint32_t* digits,
                                     const uint32_t* key, size_t key_digits, size_t count, size_t n,
                                     const Modulus& q) {
  constexpr size_t kMax = Montgomery::kMax;
  const Montgomery montgomery(q);
  const size_t ahead = KeyAhead(key_digits);
  for (size_t i = 0; i < n; i += kTile, digits += count * kTile, key += key_digits * 2 * kTile) {
    for (size_t lane = 0; lane < kTile; lane += Lanes()) {
      V32 total0 = hn::Zero(d32);
      V32 total1 = hn::Zero(d32);
      for (size_t j = 0; j < count;) {
        const size_t end = count - j < kMax ? count : j + kMax;
        WideSum sum0, sum1;
        for (; j < end; ++j) {
          AddDigit(&sum0, &sum1, digits + j * kTile + lane, key + 2 * j * kTile + lane, ahead);
        }
        total0 = ReduceOnce(hn::Add(total0, montgomery.Finish<kMax>(sum0)), montgomery.q);
        total1 = ReduceOnce(hn::Add(total1, montgomery.Finish<kMax>(sum1)), montgomery.q);
      }
      hn::Store(total0, d32, out0 + i + lane);
      hn::Store(total1, d32, out1 + i + lane);
    }
  }
}

// SwitchProductsUpTo: selects the fixed count.
template <size_t kCount>
HWY_INLINE void SwitchProductsUpTo(uint32_t* out0, uint32_t* out1, const uint32_t* digits,
                                   const uint32_t* key, size_t key_digits, size_t count, size_t n,
                                   const Modulus& q) {
  if constexpr (kCount > 1) {
    if (count < kCount) {
      return SwitchProductsUpTo<kCount - 1>(out0, out1, digits, key, key_digits, count, n, q);
    }
  }
  SwitchProductsOf<kCount>(out0, out1, digits, key, key_digits, n, q);
}

void SwitchProducts(uint32_t* out0, uint32_t* out1, const uint32_t* digits, const uint32_t* key,
                    size_t key_digits, size_t count, size_t n, const Modulus& q) {
  if (n < kSmallestVectorLoop) {
    return ReferenceKernels().switch_products(out0, out1, digits, key, key_digits, count, n, q);
  }
  if (count <= Montgomery::kMax) {
    return SwitchProductsUpTo<Montgomery::kMax>(out0, out1, digits, key, key_digits, count, n, q);
  }
  SwitchProductsOfMany(out0, out1, digits, key, key_digits, count, n, q);
}

#endif  // HWY_TARGET != HWY_SCALAR
}  // namespace HWY_NAMESPACE
}  // namespace heft::ring
HWY_AFTER_NAMESPACE();

#endif  // include guard
