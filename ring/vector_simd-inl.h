// SPDX-License-Identifier: Apache-2.0
// Vectors of residues: their type and the arithmetic that all kernels share, one source for all
// instruction sets.

#if defined(HEFT_RING_VECTOR_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEFT_RING_VECTOR_SIMD_INL_H_
#undef HEFT_RING_VECTOR_SIMD_INL_H_
#else
#define HEFT_RING_VECTOR_SIMD_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heft::ring {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

namespace hn = hwy::HWY_NAMESPACE;

// D32: at most 16 lanes, whatever the instruction set.
using D32 = hn::CappedTag<uint32_t, 16>;
using D64 = hn::Repartition<uint64_t, D32>;
using V32 = hn::Vec<D32>;
using V64 = hn::Vec<D64>;
inline constexpr D32 d32;
inline constexpr D64 d64;
HWY_INLINE constexpr size_t Lanes() { return HWY_MIN(16, HWY_MAX_BYTES / 4); }

HWY_INLINE V32 As32(V64 v) { return hn::BitCast(d32, v); }
HWY_INLINE V64 As64(V32 v) { return hn::BitCast(d64, v); }

// HighHalves: of 64-bit values, for the even and the odd lanes.
HWY_INLINE V32 HighHalves(V64 even, V64 odd) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  // One masked shuffle in place of a shuffle and a blend.
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

// kSmallestVectorLoop: below this many values the callers' arrays may be shorter than a vector.
inline constexpr size_t kSmallestVectorLoop = 16;

#endif  // HWY_TARGET != HWY_SCALAR
}  // namespace HWY_NAMESPACE
}  // namespace heft::ring
HWY_AFTER_NAMESPACE();

#endif  // include guard
