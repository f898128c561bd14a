// SPDX-License-Identifier: Apache-2.0
// Vectors of residues: their type, the arithmetic of all kernels, and sums of products in 64-bit
// lanes that are reduced once. One source for all instruction sets.

#if defined(HEFT_RING_VECTOR_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEFT_RING_VECTOR_SIMD_INL_H_
#undef HEFT_RING_VECTOR_SIMD_INL_H_
#else
#define HEFT_RING_VECTOR_SIMD_INL_H_
#endif

#include "hwy/highway.h"
#include "ring/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace heft::ring {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

namespace hn = hwy::HWY_NAMESPACE;

// D32: at most 16 lanes, for every instruction set.
using D32 = hn::CappedTag<uint32_t, 16>;
using D64 = hn::Repartition<uint64_t, D32>;
using DI32 = hn::Repartition<int32_t, D32>;
using V32 = hn::Vec<D32>;
using V64 = hn::Vec<D64>;
inline constexpr D32 d32;
inline constexpr D64 d64;
inline constexpr DI32 di32;
HWY_INLINE constexpr size_t Lanes() { return HWY_MIN(16, HWY_MAX_BYTES / 4); }

HWY_INLINE V32 As32(V64 v) { return hn::BitCast(d32, v); }
HWY_INLINE V64 As64(V32 v) { return hn::BitCast(d64, v); }

// HighHalves: of 64-bit values, for the even and the odd lanes.
HWY_INLINE V32 HighHalves(V64 even, V64 odd) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  // One masked shuffle instead of a shuffle and a blend.
  return V32{_mm512_mask_shuffle_epi32(odd.raw, 0x5555, even.raw, _MM_PERM_DDBB)};
#else
  return hn::OddEven(As32(odd), hn::DupOdd(As32(even)));
#endif
}

// MultiplyHigh: the high halves of the products of all lanes. kPairs: lanes 2i and 2i + 1 of b are
// equal.
template <bool kPairs>
HWY_INLINE V32 MultiplyHigh(V32 a, V32 b) {
  return HighHalves(hn::MulEven(a, b), hn::MulEven(hn::DupOdd(a), kPairs ? b : hn::DupOdd(b)));
}

// MultiplyLazy: x any, out [0, 2q).
template <bool kPairs>
HWY_INLINE V32 MultiplyLazy(V32 x, V32 w, V32 w_quotient, V32 q) {
  const V32 hi = MultiplyHigh<kPairs>(x, w_quotient);
  return hn::Sub(hn::Mul(x, w), hn::Mul(hi, q));
}

// ReduceOnce: in [0, 2m), out [0, m).
HWY_INLINE V32 ReduceOnce(V32 x, V32 m) { return hn::Min(x, hn::Sub(x, m)); }

// Combine: even and odd 64-bit results, each below 2^32, as one vector.
HWY_INLINE V32 Combine(V64 even, V64 odd) {
  return hn::OddEven(As32(hn::ShiftLeft<32>(odd)), As32(even));
}

// kSmallestVectorLoop: with fewer values the caller's arrays may be shorter than a vector.
inline constexpr size_t kSmallestVectorLoop = 16;

// WideReduction: reduces any 64-bit lane, hi * (2^32 mod q) + lo, both by Shoup. Out [0, 4q).
struct WideReduction {
  explicit HWY_INLINE WideReduction(const Modulus& modulus)
      : q(hn::Set(d32, modulus.value())),
        hi(hn::Set(d32, modulus.two32().value)),
        hi_quotient(hn::Set(d32, modulus.two32().quotient)),
        lo_quotient(hn::Set(d32, modulus.one().quotient)) {}
  HWY_INLINE V64 Reduce(V64 sum) const {
    const V32 low = As32(sum);
    const V32 high = As32(hn::ShiftRight<32>(sum));
    const V64 q1 = hn::ShiftRight<32>(hn::MulEven(high, hi_quotient));
    const V64 r1 = hn::Sub(hn::MulEven(high, hi), hn::MulEven(As32(q1), q));
    const V64 q2 = hn::ShiftRight<32>(hn::MulEven(low, lo_quotient));
    const V64 low64 = hn::And(sum, hn::Set(d64, 0xFFFFFFFFu));
    const V64 r2 = hn::Sub(low64, hn::MulEven(As32(q2), q));
    return hn::Add(r1, r2);
  }
  HWY_INLINE V32 Finish(V64 even, V64 odd) const {
    const V32 r = Combine(Reduce(even), Reduce(odd));
    return ReduceOnce(ReduceOnce(r, hn::Add(q, q)), q);
  }
  V32 q, hi, hi_quotient, lo_quotient;
};

// WideSum: sums of products in 64-bit lanes, separate for even and odd values.
struct WideSum {
  HWY_INLINE WideSum() : even(hn::Zero(d64)), odd(hn::Zero(d64)) {}
  HWY_INLINE void Add(V32 a, V32 a_odd, V32 b) {
    even = hn::Add(even, hn::MulEven(a, b));
    odd = hn::Add(odd, hn::MulEven(a_odd, hn::DupOdd(b)));
  }
  HWY_INLINE V32 Finish(const WideReduction& wide) const { return wide.Finish(even, odd); }
  V64 even, odd;
};

// LoadOnce: a load that stays in its register. GCC would otherwise read memory again for every use,
// and loads would limit the loop.
HWY_INLINE V32 LoadOnce(const uint32_t* p) {
  V32 v = hn::Load(d32, p);
#if HWY_COMPILER_GCC && HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  asm("" : "+v"(v.raw));
#endif
  return v;
}

// kAhead: tiles of a key to prefetch. Keys are megabytes, and the hardware alone keeps too few
// lines in flight. (Measured: 32 to 256 tiles, 128 is best. With prefetches into the second level,
// a preparation takes 3 to 10% longer.)
inline constexpr size_t kAhead = 128;

#endif  // HWY_TARGET != HWY_SCALAR
}  // namespace HWY_NAMESPACE
}  // namespace heft::ring
HWY_AFTER_NAMESPACE();

#endif  // include guard
