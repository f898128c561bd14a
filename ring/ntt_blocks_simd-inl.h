// SPDX-License-Identifier: Apache-2.0
// The stages of a negacyclic NTT that run in registers, on pairs of vectors: the last log2(lanes) +
// 1 of a forward transform, the first ones of an inverse transform. One source for all instruction
// sets.

#if defined(HEFT_RING_NTT_BLOCKS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEFT_RING_NTT_BLOCKS_SIMD_INL_H_
#undef HEFT_RING_NTT_BLOCKS_SIMD_INL_H_
#else
#define HEFT_RING_NTT_BLOCKS_SIMD_INL_H_
#endif

#include "hwy/highway.h"
#include "ring/kernels.h"
#include "ring/ntt.h"
#include "ring/vector_simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heft::ring {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

// FetchNothing, FetchAhead: prefetch one line of memory between the steps of a transform, or none.
struct FetchNothing {
  HWY_INLINE void operator()() const {}
};
struct FetchAhead {
  HWY_INLINE void operator()() {
    __builtin_prefetch(at);
    at += kTile;
  }
  const uint32_t* at;
};
// Fetching: calls run(fetch), where `fetch` prefetches from `ahead` and advances it.
template <typename Run>
HWY_INLINE void Fetching(const uint32_t** ahead, const Run& run) {
  if (ahead == nullptr) {
    FetchNothing fetch;
    return run(fetch);
  }
  FetchAhead fetch{*ahead};
  run(fetch);
  *ahead = fetch.at;
}

// ForwardButterfly: x, y in [0, 4q), out [0, 4q).
template <bool kPairs>
HWY_INLINE void ForwardButterfly(V32& x, V32& y, V32 w, V32 w_quotient, V32 q, V32 two_q) {
  const V32 a = ReduceOnce(x, two_q);
  const V32 b = MultiplyLazy<kPairs>(y, w, w_quotient, q);
  x = hn::Add(a, b);
  y = hn::Add(hn::Sub(a, b), two_q);
}

// InverseButterfly: x, y in [0, 2q), out [0, 2q).
template <bool kPairs>
HWY_INLINE void InverseButterfly(V32& x, V32& y, V32 w, V32 w_quotient, V32 q, V32 two_q) {
  const V32 sum = hn::Add(x, y);
  const V32 difference = hn::Add(hn::Sub(x, y), two_q);
  x = ReduceOnce(sum, two_q);
  y = MultiplyLazy<kPairs>(difference, w, w_quotient, q);
}

// ---- Shuffles between the in-register stages. In stage t, the pair (x, y) holds the values whose
// position has bit t equal to 0 and 1, in ascending order within the block of 2 * lanes values.

HWY_INLINE V32 InterleaveEven(V32 a, V32 b) { return hn::OddEven(hn::DupEven(b), a); }
HWY_INLINE V32 InterleaveOdd(V32 a, V32 b) { return hn::OddEven(b, hn::DupOdd(a)); }

// SwapHalves: natural order <-> stage lanes / 2.
HWY_INLINE void SwapHalves(V32& x, V32& y) {
  const V32 a = hn::ConcatLowerLower(d32, y, x);
  y = hn::ConcatUpperUpper(d32, y, x);
  x = a;
}
// SwapSingles: stage 2 <-> stage 1.
HWY_INLINE void SwapSingles(V32& x, V32& y) {
  const V32 a = InterleaveEven(x, y);
  y = InterleaveOdd(x, y);
  x = a;
}
// SwapPairs: stage 4 <-> stage 2 (at least 8 lanes).
HWY_INLINE void SwapPairs(V32& x, V32& y) {
  const V32 a = As32(hn::InterleaveLower(d64, As64(x), As64(y)));
  y = As32(hn::InterleaveUpper(d64, As64(x), As64(y)));
  x = a;
}
// SwapQuads: stage 8 <-> stage 4 (16 lanes).
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
// MergeSingles: stage 1 -> natural order.
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
// SplitSingles: natural order -> stage 1.
HWY_INLINE void SplitSingles(V32& x, V32& y) {
  const V32 a = hn::ConcatEven(d32, y, x);
  y = hn::ConcatOdd(d32, y, x);
  x = a;
}

// LoadTwiddles: roots of an in-register stage; lane i takes entry i / t of those at `at`.
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

// Several blocks run side by side in the in-register stages: a block is one long chain of dependent
// instructions, and several blocks hide each other's latency.
inline constexpr size_t kBlocks = Lanes() == 16 ? 4 : 2;
using Blocks = V32[kBlocks];

template <size_t kStage, typename Fetch>
HWY_INLINE void ForwardStage(Blocks& x, Blocks& y, const NttTables& tables, size_t block, V32 q,
                             V32 two_q, Fetch& fetch) {
  fetch();
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

template <size_t kStage, typename Fetch>
HWY_INLINE void InverseStage(Blocks& x, Blocks& y, const NttTables& tables, size_t block, V32 q,
                             V32 two_q, Fetch& fetch) {
  fetch();
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

// ForwardBlocks: stages t = lanes ... 1 of kBlocks blocks of 2 * lanes values from `block` on.
// place(i) is the address for the values from i on, one vector at a time. In [0, 4q), out [0, q).
template <typename Place, typename Fetch>
HWY_INLINE void ForwardBlocks(const Place& place, const uint32_t* a, const NttTables& tables,
                              size_t block, V32 q, V32 two_q, Fetch& fetch) {
  constexpr size_t L = Lanes();
  Blocks x, y;
  for (size_t i = 0; i < kBlocks; ++i) {
    x[i] = hn::Load(d32, a + (block + i) * 2 * L);
    y[i] = hn::Load(d32, a + (block + i) * 2 * L + L);
  }
  ForwardStage<L>(x, y, tables, block, q, two_q, fetch);
  SwapAll<SwapHalves>(x, y);
  ForwardStage<L / 2>(x, y, tables, block, q, two_q, fetch);
  if constexpr (L == 16) {
    SwapAll<SwapQuads>(x, y);
    ForwardStage<4>(x, y, tables, block, q, two_q, fetch);
  }
  if constexpr (L >= 8) {
    SwapAll<SwapPairs>(x, y);
    ForwardStage<2>(x, y, tables, block, q, two_q, fetch);
  }
  SwapAll<SwapSingles>(x, y);
  ForwardStage<1>(x, y, tables, block, q, two_q, fetch);
  for (size_t i = 0; i < kBlocks; ++i) {
    x[i] = ReduceOnce(ReduceOnce(x[i], two_q), q);
    y[i] = ReduceOnce(ReduceOnce(y[i], two_q), q);
    MergeSingles(x[i], y[i]);
    hn::Store(x[i], d32, place((block + i) * 2 * L));
    hn::Store(y[i], d32, place((block + i) * 2 * L + L));
  }
}

// InverseBlocks: stages t = 1 ... lanes of kBlocks blocks. In and out [0, 2q). Requires that the
// last stage is not among them.
template <typename Fetch>
HWY_INLINE void InverseBlocks(uint32_t* a, const NttTables& tables, size_t block, V32 q, V32 two_q,
                              Fetch& fetch) {
  constexpr size_t L = Lanes();
  Blocks x, y;
  for (size_t i = 0; i < kBlocks; ++i) {
    x[i] = hn::Load(d32, a + (block + i) * 2 * L);
    y[i] = hn::Load(d32, a + (block + i) * 2 * L + L);
    SplitSingles(x[i], y[i]);
  }
  InverseStage<1>(x, y, tables, block, q, two_q, fetch);
  SwapAll<SwapSingles>(x, y);
  if constexpr (L >= 8) {
    InverseStage<2>(x, y, tables, block, q, two_q, fetch);
    SwapAll<SwapPairs>(x, y);
  }
  if constexpr (L == 16) {
    InverseStage<4>(x, y, tables, block, q, two_q, fetch);
    SwapAll<SwapQuads>(x, y);
  }
  InverseStage<L / 2>(x, y, tables, block, q, two_q, fetch);
  SwapAll<SwapHalves>(x, y);
  InverseStage<L>(x, y, tables, block, q, two_q, fetch);
  for (size_t i = 0; i < kBlocks; ++i) {
    hn::Store(x[i], d32, a + (block + i) * 2 * L);
    hn::Store(y[i], d32, a + (block + i) * 2 * L + L);
  }
}

#endif  // HWY_TARGET != HWY_SCALAR
}  // namespace HWY_NAMESPACE
}  // namespace heft::ring
HWY_AFTER_NAMESPACE();

#endif  // include guard
