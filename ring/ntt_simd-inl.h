// SPDX-License-Identifier: Apache-2.0
// Negacyclic NTT, one source for all instruction sets. Stages whose butterflies span at least two
// vectors run two at a time (radix 4) over memory; the others in registers (ntt_blocks_simd-inl.h).

#if defined(HEFT_RING_NTT_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEFT_RING_NTT_SIMD_INL_H_
#undef HEFT_RING_NTT_SIMD_INL_H_
#else
#define HEFT_RING_NTT_SIMD_INL_H_
#endif

#include "hwy/highway.h"
#include "ring/kernels.h"
#include "ring/ntt.h"
#include "ring/ntt_blocks_simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heft::ring {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

// UniformRoot: one root in all lanes.
struct UniformRoot {
  V32 w, wq;
  HWY_INLINE UniformRoot(const uint32_t* roots, const uint32_t* quotients, size_t at)
      : w(hn::Set(d32, roots[at])), wq(hn::Set(d32, quotients[at])) {}
};

// ForwardRadix2: one stage over memory, m blocks of 2t values.
template <typename Fetch>
HWY_INLINE void ForwardRadix2(uint32_t* a, const NttTables& tables, size_t m, size_t t, V32 q,
                              V32 two_q, Fetch& fetch) {
  for (size_t i = 0; i < m; ++i) {
    const UniformRoot r(tables.forward(), tables.forward_quotient(), m + i);
    uint32_t* p = a + 2 * i * t;
    for (size_t j = 0; j < t; j += Lanes()) {
      fetch();
      V32 x = hn::Load(d32, p + j);
      V32 y = hn::Load(d32, p + j + t);
      ForwardButterfly<true>(x, y, r.w, r.wq, q, two_q);
      hn::Store(x, d32, p + j);
      hn::Store(y, d32, p + j + t);
    }
  }
}

// ForwardRadix4: two stages, (m, t) and (2m, t / 2), in one pass.
template <typename Fetch>
HWY_INLINE void ForwardRadix4(uint32_t* a, const NttTables& tables, size_t m, size_t t, V32 q,
                              V32 two_q, Fetch& fetch) {
  const size_t s = t / 2;
  for (size_t i = 0; i < m; ++i) {
    const UniformRoot r1(tables.forward(), tables.forward_quotient(), m + i);
    const UniformRoot r2(tables.forward(), tables.forward_quotient(), 2 * m + 2 * i);
    const UniformRoot r3(tables.forward(), tables.forward_quotient(), 2 * m + 2 * i + 1);
    uint32_t* p = a + 2 * i * t;
    for (size_t j = 0; j < s; j += Lanes()) {
      fetch();
      V32 x0 = hn::Load(d32, p + j);
      V32 x1 = hn::Load(d32, p + j + s);
      V32 x2 = hn::Load(d32, p + j + 2 * s);
      V32 x3 = hn::Load(d32, p + j + 3 * s);
      ForwardButterfly<true>(x0, x2, r1.w, r1.wq, q, two_q);
      ForwardButterfly<true>(x1, x3, r1.w, r1.wq, q, two_q);
      ForwardButterfly<true>(x0, x1, r2.w, r2.wq, q, two_q);
      ForwardButterfly<true>(x2, x3, r3.w, r3.wq, q, two_q);
      hn::Store(x0, d32, p + j);
      hn::Store(x1, d32, p + j + s);
      hn::Store(x2, d32, p + j + 2 * s);
      hn::Store(x3, d32, p + j + 3 * s);
    }
  }
}

// InverseRadix2: one stage over memory.
template <typename Fetch>
HWY_INLINE void InverseRadix2(uint32_t* a, const NttTables& tables, size_t m, size_t t, V32 q,
                              V32 two_q, Fetch& fetch) {
  for (size_t i = 0; i < m; ++i) {
    const UniformRoot r(tables.inverse(), tables.inverse_quotient(), m + i);
    uint32_t* p = a + 2 * i * t;
    for (size_t j = 0; j < t; j += Lanes()) {
      fetch();
      V32 x = hn::Load(d32, p + j);
      V32 y = hn::Load(d32, p + j + t);
      InverseButterfly<true>(x, y, r.w, r.wq, q, two_q);
      hn::Store(x, d32, p + j);
      hn::Store(y, d32, p + j + t);
    }
  }
}

// InverseRadix4: two stages, (2m, t) and (m, 2t), in one pass.
template <typename Fetch>
HWY_INLINE void InverseRadix4(uint32_t* a, const NttTables& tables, size_t m, size_t t, V32 q,
                              V32 two_q, Fetch& fetch) {
  for (size_t i = 0; i < m; ++i) {
    const UniformRoot r1(tables.inverse(), tables.inverse_quotient(), 2 * m + 2 * i);
    const UniformRoot r2(tables.inverse(), tables.inverse_quotient(), 2 * m + 2 * i + 1);
    const UniformRoot r3(tables.inverse(), tables.inverse_quotient(), m + i);
    uint32_t* p = a + 4 * i * t;
    for (size_t j = 0; j < t; j += Lanes()) {
      fetch();
      V32 x0 = hn::Load(d32, p + j);
      V32 x1 = hn::Load(d32, p + j + t);
      V32 x2 = hn::Load(d32, p + j + 2 * t);
      V32 x3 = hn::Load(d32, p + j + 3 * t);
      InverseButterfly<true>(x0, x1, r1.w, r1.wq, q, two_q);
      InverseButterfly<true>(x2, x3, r2.w, r2.wq, q, two_q);
      InverseButterfly<true>(x0, x2, r3.w, r3.wq, q, two_q);
      InverseButterfly<true>(x1, x3, r3.w, r3.wq, q, two_q);
      hn::Store(x0, d32, p + j);
      hn::Store(x1, d32, p + j + t);
      hn::Store(x2, d32, p + j + 2 * t);
      hn::Store(x3, d32, p + j + 3 * t);
    }
  }
}

// kSmallestVectorNtt: smaller transforms have too few stages for the passes above.
inline constexpr size_t kSmallestVectorNtt = 128;

// ForwardOverMemory: stages t = n / 2 ... 2 * lanes.
template <typename Fetch>
HWY_INLINE void ForwardOverMemory(uint32_t* a, const NttTables& tables, V32 q, V32 two_q,
                                  Fetch& fetch) {
  size_t m = 1;
  size_t t = tables.n() / 2;
  size_t stages = 0;
  for (size_t s = t; s > Lanes(); s /= 2) ++stages;
  if (stages % 2 == 1) {
    ForwardRadix2(a, tables, m, t, q, two_q, fetch);
    m *= 2;
    t /= 2;
  }
  for (; t > Lanes(); m *= 4, t /= 4) ForwardRadix4(a, tables, m, t, q, two_q, fetch);
}

// Forward: a whole transform; place(i) is the address for the values from i on.
template <typename Place, typename Fetch>
HWY_INLINE void Forward(const Place& place, uint32_t* a, const NttTables& tables, Fetch& fetch) {
  const V32 q = hn::Set(d32, tables.modulus().value());
  const V32 two_q = hn::Add(q, q);
  ForwardOverMemory(a, tables, q, two_q, fetch);
  for (size_t block = 0; block < tables.n() / (2 * Lanes()); block += kBlocks) {
    ForwardBlocks(place, a, tables, block, q, two_q, fetch);
  }
}

void NttForward(uint32_t* a, const NttTables& tables, const uint32_t** ahead) {
  if (tables.n() < kSmallestVectorNtt) return ReferenceKernels().ntt_forward(a, tables, ahead);
  auto place = [&](size_t i) { return a + i; };
  Fetching(ahead, [&](auto& fetch) { Forward(place, a, tables, fetch); });
}

void NttForwardTiled(uint32_t* out, size_t tile_stride, uint32_t* a, const NttTables& tables,
                     const uint32_t** ahead) {
  if (tables.n() < kSmallestVectorNtt) {
    return ReferenceKernels().ntt_forward_tiled(out, tile_stride, a, tables, ahead);
  }
  auto place = [&](size_t i) { return out + i / kTile * tile_stride + i % kTile; };
  Fetching(ahead, [&](auto& fetch) { Forward(place, a, tables, fetch); });
}

template <typename Fetch>
HWY_INLINE void Inverse(uint32_t* a, const NttTables& tables, Fetch& fetch) {
  const size_t n = tables.n();
  constexpr size_t L = Lanes();
  const V32 q = hn::Set(d32, tables.modulus().value());
  const V32 two_q = hn::Add(q, q);
  for (size_t block = 0; block < n / (2 * L); block += kBlocks) {
    InverseBlocks(a, tables, block, q, two_q, fetch);
  }
  // Stages t = 2 * lanes ... n / 4 over memory, then the last one, t = n / 2, with n^-1.
  size_t t = 2 * L;
  size_t m = n / (2 * t);
  size_t stages = 0;
  for (size_t s = t; s < n / 2; s *= 2) ++stages;
  if (stages % 2 == 1) {
    InverseRadix2(a, tables, m, t, q, two_q, fetch);
    m /= 2;
    t *= 2;
  }
  for (; t < n / 2; m /= 4, t *= 4) InverseRadix4(a, tables, m / 2, t, q, two_q, fetch);
  const V32 w = hn::Set(d32, tables.n_inverse().value);
  const V32 wq = hn::Set(d32, tables.n_inverse().quotient);
  const V32 r = hn::Set(d32, tables.n_inverse_root().value);
  const V32 rq = hn::Set(d32, tables.n_inverse_root().quotient);
  for (size_t j = 0; j < t; j += L) {
    fetch();
    const V32 x = hn::Load(d32, a + j);
    const V32 y = hn::Load(d32, a + j + t);
    const V32 difference = hn::Add(hn::Sub(x, y), two_q);
    hn::Store(ReduceOnce(MultiplyLazy<true>(hn::Add(x, y), w, wq, q), q), d32, a + j);
    hn::Store(ReduceOnce(MultiplyLazy<true>(difference, r, rq, q), q), d32, a + j + t);
  }
}

void NttInverse(uint32_t* a, const NttTables& tables, const uint32_t** ahead) {
  if (tables.n() < kSmallestVectorNtt) return ReferenceKernels().ntt_inverse(a, tables, ahead);
  Fetching(ahead, [&](auto& fetch) { Inverse(a, tables, fetch); });
}

#endif  // HWY_TARGET != HWY_SCALAR
}  // namespace HWY_NAMESPACE
}  // namespace heft::ring
HWY_AFTER_NAMESPACE();

#endif  // include guard
