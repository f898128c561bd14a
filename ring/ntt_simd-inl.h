// SPDX-License-Identifier: Apache-2.0
// Negacyclic NTT, one source for all instruction sets. Stages whose butterflies span at least two
// vectors run two at a time (radix 4) over memory; the last log2(lanes) + 1 stages run in registers
// on pairs of vectors.

#if defined(HEFT_RING_NTT_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEFT_RING_NTT_SIMD_INL_H_
#undef HEFT_RING_NTT_SIMD_INL_H_
#else
#define HEFT_RING_NTT_SIMD_INL_H_
#endif

#include "hwy/highway.h"
#include "ring/kernels.h"
#include "ring/ntt.h"

HWY_BEFORE_NAMESPACE();
namespace heft::ring {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

namespace hn = hwy::HWY_NAMESPACE;

// At most 16 lanes, whatever the instruction set.
using D32 = hn::CappedTag<uint32_t, 16>;
using D64 = hn::Repartition<uint64_t, D32>;
using V32 = hn::Vec<D32>;
using V64 = hn::Vec<D64>;
inline constexpr D32 d32;
inline constexpr D64 d64;
HWY_INLINE constexpr size_t Lanes() { return HWY_MIN(16, HWY_MAX_BYTES / 4); }

HWY_INLINE V32 As32(V64 v) { return hn::BitCast(d32, v); }
HWY_INLINE V64 As64(V32 v) { return hn::BitCast(d64, v); }

// The high halves of 64-bit values for the even and the odd lanes.
HWY_INLINE V32 HighHalves(V64 even, V64 odd) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  // One masked shuffle in place of a shuffle and a blend.
  return V32{_mm512_mask_shuffle_epi32(odd.raw, 0x5555, even.raw, _MM_PERM_DDBB)};
#else
  return hn::OddEven(As32(odd), hn::DupOdd(As32(even)));
#endif
}

// The high halves of the products of all lanes. kPairs: lanes 2i and 2i + 1 of b are equal.
template <bool kPairs>
HWY_INLINE V32 MultiplyHigh(V32 a, V32 b) {
  return HighHalves(hn::MulEven(a, b), hn::MulEven(hn::DupOdd(a), kPairs ? b : hn::DupOdd(b)));
}

// x any, out [0, 2q).
template <bool kPairs>
HWY_INLINE V32 MultiplyLazy(V32 x, V32 w, V32 w_quotient, V32 q) {
  const V32 hi = MultiplyHigh<kPairs>(x, w_quotient);
  return hn::Sub(hn::Mul(x, w), hn::Mul(hi, q));
}

// In [0, 2m), out [0, m).
HWY_INLINE V32 ReduceOnce(V32 x, V32 m) { return hn::Min(x, hn::Sub(x, m)); }

// x, y in [0, 4q), out [0, 4q).
template <bool kPairs>
HWY_INLINE void ForwardButterfly(V32& x, V32& y, V32 w, V32 w_quotient, V32 q, V32 two_q) {
  const V32 a = ReduceOnce(x, two_q);
  const V32 b = MultiplyLazy<kPairs>(y, w, w_quotient, q);
  x = hn::Add(a, b);
  y = hn::Add(hn::Sub(a, b), two_q);
}

// x, y in [0, 2q), out [0, 2q).
template <bool kPairs>
HWY_INLINE void InverseButterfly(V32& x, V32& y, V32 w, V32 w_quotient, V32 q, V32 two_q) {
  const V32 sum = hn::Add(x, y);
  const V32 difference = hn::Add(hn::Sub(x, y), two_q);
  x = ReduceOnce(sum, two_q);
  y = MultiplyLazy<kPairs>(difference, w, w_quotient, q);
}

// ---- Shuffles between the in-register stages. A pair (x, y) of stage t holds, in ascending order
// of position within the block of 2 * lanes values, those whose bit t is 0 and 1.

HWY_INLINE V32 InterleaveEven(V32 a, V32 b) { return hn::OddEven(hn::DupEven(b), a); }
HWY_INLINE V32 InterleaveOdd(V32 a, V32 b) { return hn::OddEven(b, hn::DupOdd(a)); }

// Natural order <-> stage lanes / 2.
HWY_INLINE void SwapHalves(V32& x, V32& y) {
  const V32 a = hn::ConcatLowerLower(d32, y, x);
  y = hn::ConcatUpperUpper(d32, y, x);
  x = a;
}
// Stage 2 <-> stage 1.
HWY_INLINE void SwapSingles(V32& x, V32& y) {
  const V32 a = InterleaveEven(x, y);
  y = InterleaveOdd(x, y);
  x = a;
}
// Stage 4 <-> stage 2 (at least 8 lanes).
HWY_INLINE void SwapPairs(V32& x, V32& y) {
  const V32 a = As32(hn::InterleaveLower(d64, As64(x), As64(y)));
  y = As32(hn::InterleaveUpper(d64, As64(x), As64(y)));
  x = a;
}
// Stage 8 <-> stage 4 (16 lanes).
HWY_INLINE void SwapQuads(V32& x, V32& y) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  const __m512i even = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
  const __m512i odd = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
  const V32 a{_mm512_permutex2var_epi64(x.raw, even, y.raw)};
  y = V32{_mm512_permutex2var_epi64(x.raw, odd, y.raw)};
  x = a;
#else
  (void)x;
  (void)y;
#endif
}
// Stage 1 -> natural order.
HWY_INLINE void MergeSingles(V32& x, V32& y) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i high =
      _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  const V32 a{_mm512_permutex2var_epi32(x.raw, low, y.raw)};
  y = V32{_mm512_permutex2var_epi32(x.raw, high, y.raw)};
  x = a;
#else
  const V32 low = hn::InterleaveLower(d32, x, y);
  const V32 high = hn::InterleaveUpper(d32, x, y);
  x = low;
  y = high;
  if constexpr (Lanes() == 8) SwapHalves(x, y);
#endif
}
// Natural order -> stage 1.
HWY_INLINE void SplitSingles(V32& x, V32& y) {
  const V32 a = hn::ConcatEven(d32, y, x);
  y = hn::ConcatOdd(d32, y, x);
  x = a;
}

// ---- Twiddles of an in-register stage: lane i takes entry i / t of those at `at`.
template <size_t kStage>
HWY_INLINE void LoadTwiddles(const uint32_t* w, const uint32_t* wq, size_t at, V32& root,
                             V32& quotient) {
  if constexpr (kStage == Lanes()) {
    root = hn::Set(d32, w[at]);
    quotient = hn::Set(d32, wq[at]);
    return;
  }
  root = hn::LoadU(d32, w + at);
  quotient = hn::LoadU(d32, wq + at);
  if constexpr (kStage > 1) {
    alignas(64) static constexpr auto kIndices = [] {
      struct {
        uint32_t at[16];
      } table{};
      for (size_t i = 0; i < 16; ++i) table.at[i] = static_cast<uint32_t>(i / kStage);
      return table;
    }();
    const auto indices = hn::SetTableIndices(d32, kIndices.at);
    root = hn::TableLookupLanes(root, indices);
    quotient = hn::TableLookupLanes(quotient, indices);
  }
}

// Blocks of the in-register stages that run side by side: a block is one long chain of dependent
// instructions, and several hide each other's latency.
inline constexpr size_t kBlocks = Lanes() == 16 ? 4 : 2;
using Blocks = V32[kBlocks];

template <size_t kStage>
HWY_INLINE void ForwardStage(Blocks& x, Blocks& y, const NttTables& tables, size_t block, V32 q,
                             V32 two_q) {
  const size_t at = tables.n() / (2 * kStage) + block * (Lanes() / kStage);
  Blocks w, wq;
  for (size_t i = 0; i < kBlocks; ++i) {
    LoadTwiddles<kStage>(tables.forward(), tables.forward_quotient(), at + i * (Lanes() / kStage),
                         w[i], wq[i]);
  }
  for (size_t i = 0; i < kBlocks; ++i) {
    ForwardButterfly<(kStage > 1)>(x[i], y[i], w[i], wq[i], q, two_q);
  }
}

template <size_t kStage>
HWY_INLINE void InverseStage(Blocks& x, Blocks& y, const NttTables& tables, size_t block, V32 q,
                             V32 two_q) {
  const size_t at = tables.n() / (2 * kStage) + block * (Lanes() / kStage);
  Blocks w, wq;
  for (size_t i = 0; i < kBlocks; ++i) {
    LoadTwiddles<kStage>(tables.inverse(), tables.inverse_quotient(), at + i * (Lanes() / kStage),
                         w[i], wq[i]);
  }
  for (size_t i = 0; i < kBlocks; ++i) {
    InverseButterfly<(kStage > 1)>(x[i], y[i], w[i], wq[i], q, two_q);
  }
}

template <void (*kSwap)(V32&, V32&)>
HWY_INLINE void SwapAll(Blocks& x, Blocks& y) {
  for (size_t i = 0; i < kBlocks; ++i) kSwap(x[i], y[i]);
}

// Stages t = lanes ... 1 of kBlocks blocks of 2 * lanes values from `block` on; place(i) is where
// the values from i on are stored, a vector at a time. In [0, 4q), out [0, q).
template <typename Place>
HWY_INLINE void ForwardBlocks(const Place& place, const uint32_t* a, const NttTables& tables,
                              size_t block, V32 q, V32 two_q) {
  constexpr size_t L = Lanes();
  Blocks x, y;
  for (size_t i = 0; i < kBlocks; ++i) {
    x[i] = hn::Load(d32, a + (block + i) * 2 * L);
    y[i] = hn::Load(d32, a + (block + i) * 2 * L + L);
  }
  ForwardStage<L>(x, y, tables, block, q, two_q);
  SwapAll<SwapHalves>(x, y);
  ForwardStage<L / 2>(x, y, tables, block, q, two_q);
  if constexpr (L == 16) {
    SwapAll<SwapQuads>(x, y);
    ForwardStage<4>(x, y, tables, block, q, two_q);
  }
  if constexpr (L >= 8) {
    SwapAll<SwapPairs>(x, y);
    ForwardStage<2>(x, y, tables, block, q, two_q);
  }
  SwapAll<SwapSingles>(x, y);
  ForwardStage<1>(x, y, tables, block, q, two_q);
  for (size_t i = 0; i < kBlocks; ++i) {
    x[i] = ReduceOnce(ReduceOnce(x[i], two_q), q);
    y[i] = ReduceOnce(ReduceOnce(y[i], two_q), q);
    MergeSingles(x[i], y[i]);
    hn::Store(x[i], d32, place((block + i) * 2 * L));
    hn::Store(y[i], d32, place((block + i) * 2 * L + L));
  }
}

// Stages t = 1 ... lanes of kBlocks blocks. In and out [0, 2q). Requires that the last stage is not
// among them.
HWY_INLINE void InverseBlocks(uint32_t* a, const NttTables& tables, size_t block, V32 q,
                              V32 two_q) {
  constexpr size_t L = Lanes();
  Blocks x, y;
  for (size_t i = 0; i < kBlocks; ++i) {
    x[i] = hn::Load(d32, a + (block + i) * 2 * L);
    y[i] = hn::Load(d32, a + (block + i) * 2 * L + L);
    SplitSingles(x[i], y[i]);
  }
  InverseStage<1>(x, y, tables, block, q, two_q);
  SwapAll<SwapSingles>(x, y);
  if constexpr (L >= 8) {
    InverseStage<2>(x, y, tables, block, q, two_q);
    SwapAll<SwapPairs>(x, y);
  }
  if constexpr (L == 16) {
    InverseStage<4>(x, y, tables, block, q, two_q);
    SwapAll<SwapQuads>(x, y);
  }
  InverseStage<L / 2>(x, y, tables, block, q, two_q);
  SwapAll<SwapHalves>(x, y);
  InverseStage<L>(x, y, tables, block, q, two_q);
  for (size_t i = 0; i < kBlocks; ++i) {
    hn::Store(x[i], d32, a + (block + i) * 2 * L);
    hn::Store(y[i], d32, a + (block + i) * 2 * L + L);
  }
}

struct UniformRoot {
  V32 w, wq;
  HWY_INLINE UniformRoot(const uint32_t* roots, const uint32_t* quotients, size_t at)
      : w(hn::Set(d32, roots[at])), wq(hn::Set(d32, quotients[at])) {}
};

// One stage over memory: m blocks of 2t values.
HWY_INLINE void ForwardRadix2(uint32_t* a, const NttTables& tables, size_t m, size_t t, V32 q,
                              V32 two_q) {
  for (size_t i = 0; i < m; ++i) {
    const UniformRoot r(tables.forward(), tables.forward_quotient(), m + i);
    uint32_t* p = a + 2 * i * t;
    for (size_t j = 0; j < t; j += Lanes()) {
      V32 x = hn::Load(d32, p + j);
      V32 y = hn::Load(d32, p + j + t);
      ForwardButterfly<true>(x, y, r.w, r.wq, q, two_q);
      hn::Store(x, d32, p + j);
      hn::Store(y, d32, p + j + t);
    }
  }
}

// Two stages, (m, t) and (2m, t / 2), in one pass.
HWY_INLINE void ForwardRadix4(uint32_t* a, const NttTables& tables, size_t m, size_t t, V32 q,
                              V32 two_q) {
  const size_t s = t / 2;
  for (size_t i = 0; i < m; ++i) {
    const UniformRoot r1(tables.forward(), tables.forward_quotient(), m + i);
    const UniformRoot r2(tables.forward(), tables.forward_quotient(), 2 * m + 2 * i);
    const UniformRoot r3(tables.forward(), tables.forward_quotient(), 2 * m + 2 * i + 1);
    uint32_t* p = a + 2 * i * t;
    for (size_t j = 0; j < s; j += Lanes()) {
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

HWY_INLINE void InverseRadix2(uint32_t* a, const NttTables& tables, size_t m, size_t t, V32 q,
                              V32 two_q) {
  for (size_t i = 0; i < m; ++i) {
    const UniformRoot r(tables.inverse(), tables.inverse_quotient(), m + i);
    uint32_t* p = a + 2 * i * t;
    for (size_t j = 0; j < t; j += Lanes()) {
      V32 x = hn::Load(d32, p + j);
      V32 y = hn::Load(d32, p + j + t);
      InverseButterfly<true>(x, y, r.w, r.wq, q, two_q);
      hn::Store(x, d32, p + j);
      hn::Store(y, d32, p + j + t);
    }
  }
}

// Two stages, (2m, t) and (m, 2t), in one pass.
HWY_INLINE void InverseRadix4(uint32_t* a, const NttTables& tables, size_t m, size_t t, V32 q,
                              V32 two_q) {
  for (size_t i = 0; i < m; ++i) {
    const UniformRoot r1(tables.inverse(), tables.inverse_quotient(), 2 * m + 2 * i);
    const UniformRoot r2(tables.inverse(), tables.inverse_quotient(), 2 * m + 2 * i + 1);
    const UniformRoot r3(tables.inverse(), tables.inverse_quotient(), m + i);
    uint32_t* p = a + 4 * i * t;
    for (size_t j = 0; j < t; j += Lanes()) {
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

// Smaller transforms than this have too few stages for the passes above.
inline constexpr size_t kSmallestVectorNtt = 128;

// Stages t = n / 2 ... 2 * lanes, over memory.
HWY_INLINE void ForwardOverMemory(uint32_t* a, const NttTables& tables, V32 q, V32 two_q) {
  size_t m = 1;
  size_t t = tables.n() / 2;
  size_t stages = 0;
  for (size_t s = t; s > Lanes(); s /= 2) ++stages;
  if (stages % 2 == 1) {
    ForwardRadix2(a, tables, m, t, q, two_q);
    m *= 2;
    t /= 2;
  }
  for (; t > Lanes(); m *= 4, t /= 4) ForwardRadix4(a, tables, m, t, q, two_q);
}

void NttForward(uint32_t* a, const NttTables& tables) {
  if (tables.n() < kSmallestVectorNtt) return ReferenceKernels().ntt_forward(a, tables);
  constexpr size_t L = Lanes();
  const V32 q = hn::Set(d32, tables.modulus().value());
  const V32 two_q = hn::Add(q, q);
  ForwardOverMemory(a, tables, q, two_q);
  auto place = [&](size_t i) { return a + i; };
  for (size_t block = 0; block < tables.n() / (2 * L); block += kBlocks) {
    ForwardBlocks(place, a, tables, block, q, two_q);
  }
}

void NttForwardTiled(uint32_t* out, size_t tile_stride, uint32_t* a, const NttTables& tables) {
  if (tables.n() < kSmallestVectorNtt) {
    return ReferenceKernels().ntt_forward_tiled(out, tile_stride, a, tables);
  }
  constexpr size_t L = Lanes();
  const V32 q = hn::Set(d32, tables.modulus().value());
  const V32 two_q = hn::Add(q, q);
  ForwardOverMemory(a, tables, q, two_q);
  auto place = [&](size_t i) { return out + i / kTile * tile_stride + i % kTile; };
  for (size_t block = 0; block < tables.n() / (2 * L); block += kBlocks) {
    ForwardBlocks(place, a, tables, block, q, two_q);
  }
}

void NttInverse(uint32_t* a, const NttTables& tables) {
  const size_t n = tables.n();
  if (n < kSmallestVectorNtt) return ReferenceKernels().ntt_inverse(a, tables);
  constexpr size_t L = Lanes();
  const V32 q = hn::Set(d32, tables.modulus().value());
  const V32 two_q = hn::Add(q, q);
  for (size_t block = 0; block < n / (2 * L); block += kBlocks) {
    InverseBlocks(a, tables, block, q, two_q);
  }
  // Stages t = 2 * lanes ... n / 4 over memory, then the last one, t = n / 2, with n^-1.
  size_t t = 2 * L;
  size_t m = n / (2 * t);
  size_t stages = 0;
  for (size_t s = t; s < n / 2; s *= 2) ++stages;
  if (stages % 2 == 1) {
    InverseRadix2(a, tables, m, t, q, two_q);
    m /= 2;
    t *= 2;
  }
  for (; t < n / 2; m /= 4, t *= 4) InverseRadix4(a, tables, m / 2, t, q, two_q);
  const V32 w = hn::Set(d32, tables.n_inverse().value);
  const V32 wq = hn::Set(d32, tables.n_inverse().quotient);
  const V32 r = hn::Set(d32, tables.n_inverse_root().value);
  const V32 rq = hn::Set(d32, tables.n_inverse_root().quotient);
  for (size_t j = 0; j < t; j += L) {
    const V32 x = hn::Load(d32, a + j);
    const V32 y = hn::Load(d32, a + j + t);
    const V32 difference = hn::Add(hn::Sub(x, y), two_q);
    hn::Store(ReduceOnce(MultiplyLazy<true>(hn::Add(x, y), w, wq, q), q), d32, a + j);
    hn::Store(ReduceOnce(MultiplyLazy<true>(difference, r, rq, q), q), d32, a + j + t);
  }
}

#endif  // HWY_TARGET != HWY_SCALAR
}  // namespace HWY_NAMESPACE
}  // namespace heft::ring
HWY_AFTER_NAMESPACE();

#endif  // include guard
