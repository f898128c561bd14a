// SPDX-License-Identifier: Apache-2.0
// Sums of products of residues in 64-bit lanes, reduced once: what the loops over many products
// share. One source for all instruction sets.

#if defined(HEFT_RING_WIDE_SUMS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEFT_RING_WIDE_SUMS_SIMD_INL_H_
#undef HEFT_RING_WIDE_SUMS_SIMD_INL_H_
#else
#define HEFT_RING_WIDE_SUMS_SIMD_INL_H_
#endif

#include "hwy/highway.h"
#include "ring/kernels.h"
#include "ring/vector_simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heft::ring {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

// WideReduction reduces any 64-bit lane, hi * (2^32 mod q) + lo, both by Shoup. Out [0, 4q).
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

// WideSum: sums of products in 64-bit lanes, even and odd values apart.
struct WideSum {
  HWY_INLINE WideSum() : even(hn::Zero(d64)), odd(hn::Zero(d64)) {}
  HWY_INLINE void Add(V32 a, V32 a_odd, V32 b) {
    even = hn::Add(even, hn::MulEven(a, b));
    odd = hn::Add(odd, hn::MulEven(a_odd, hn::DupOdd(b)));
  }
  HWY_INLINE V32 Finish(const WideReduction& wide) const { return wide.Finish(even, odd); }
  V64 even, odd;
};

// LoadOnce: a load that stays in its register: GCC would otherwise read memory again for every use,
// and loads are then what limits the loop.
HWY_INLINE V32 LoadOnce(const uint32_t* p) {
  V32 v = hn::Load(d32, p);
#if HWY_COMPILER_GCC && HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  asm("" : "+v"(v.raw));
#endif
  return v;
}

// kAhead: tiles to fetch ahead of a key or a gallery block: they come from memory, tens of
// megabytes a call, and the hardware alone keeps too few lines in flight. (Measured: 32 to 256
// tiles, 128 best.)
inline constexpr size_t kAhead = 128;

#endif  // HWY_TARGET != HWY_SCALAR
}  // namespace HWY_NAMESPACE
}  // namespace heft::ring
HWY_AFTER_NAMESPACE();

#endif  // include guard
