// SPDX-License-Identifier: Apache-2.0
// Matching: sums of products of a probe and of blocks that are read from memory once. One source
// for all instruction sets.

#if defined(HEFT_RING_MATCH_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEFT_RING_MATCH_SIMD_INL_H_
#undef HEFT_RING_MATCH_SIMD_INL_H_
#else
#define HEFT_RING_MATCH_SIMD_INL_H_
#endif

#include <algorithm>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "ring/kernels.h"
#include "ring/vector_simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heft::ring {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

// LazyLimit: keeps sums of products of two residues within 64 bits: reduces a sum below 2 limit()
// to one below limit(), which leaves room for steps() more products.
struct LazyLimit {
  explicit HWY_INLINE LazyLimit(const Modulus& q)
      : steps(static_cast<size_t>(q.lazy_products() / 2)),
        limit(hn::Set(d64, uint64_t{steps} * q.value() * q.value())) {}
  HWY_INLINE void Lower(WideSum& s) const {
    s.even = hn::Min(s.even, hn::Sub(s.even, limit));
    s.odd = hn::Min(s.odd, hn::Sub(s.odd, limit));
  }
  size_t steps;
  V64 limit;
};

// MatchSums: the three sums of one tile, in registers.
struct MatchSums {
  HWY_INLINE MatchSums() {}
  HWY_INLINE void Add(V32 p0, V32 p0_odd, V32 p1, V32 p1_odd, V32 g0, V32 g0_odd, V32 g1,
                      V32 g1_odd) {
    c0.even = hn::Add(c0.even, hn::MulEven(p0, g0));
    c0.odd = hn::Add(c0.odd, hn::MulEven(p0_odd, g0_odd));
    c1.even = hn::Add(c1.even, hn::MulEven(p0, g1));
    c1.odd = hn::Add(c1.odd, hn::MulEven(p0_odd, g1_odd));
    c1.even = hn::Add(c1.even, hn::MulEven(p1, g0));
    c1.odd = hn::Add(c1.odd, hn::MulEven(p1_odd, g0_odd));
    c2.even = hn::Add(c2.even, hn::MulEven(p1, g1));
    c2.odd = hn::Add(c2.odd, hn::MulEven(p1_odd, g1_odd));
  }
  HWY_INLINE void Lower(const LazyLimit& lazy, bool all) {
    lazy.Lower(c1);
    if (!all) return;
    lazy.Lower(c0);
    lazy.Lower(c2);
  }
  WideSum c0, c1, c2;
};

// FetchSoon: prefetches into the second-level cache. Prefetches into the first level wait for one
// of its miss registers. A Zen 4 has 24 of these, which limits reads from memory to 14 GB/s; with
// the second level a core reads 22 GB/s of its 34 (measured with four blocks side by side).
HWY_INLINE void FetchSoon(const uint32_t* at) { __builtin_prefetch(at, /*rw=*/0, /*locality=*/2); }
// kMatchAhead: tiles of a block to prefetch. (Measured: 64 to 1,024; no difference from 256 on.)
constexpr size_t kMatchAhead = 512;

void Match(uint32_t* const* out, const uint32_t* probe, size_t probe_stride,
           const uint32_t* const* galleries, size_t gallery_stride, size_t gallery_count,
           size_t count, size_t n, const Modulus& q) {
  if (n < kTile) {
    return ReferenceKernels().match(out, probe, probe_stride, galleries, gallery_stride,
                                    gallery_count, count, n, q);
  }
  const WideReduction wide(q);
  const LazyLimit lazy(q);
  const size_t run = lazy.steps / 2;  // c1 takes two products a step
  const size_t size = count * 2 * kTile;
  // The galleries' tiles are read alternately. The prefetched tile is the one that is read after
  // `ahead` others.
  const size_t ahead = (kMatchAhead * kTile + size - 1) / size;
  size_t next_tile = std::min(ahead / gallery_count * kTile, n - kTile);
  size_t next_gallery = ahead % gallery_count;
  for (size_t tile = 0; tile < n; tile += kTile, probe += probe_stride) {
    for (size_t gallery = 0; gallery < gallery_count; ++gallery) {
      const uint32_t* next = galleries[next_gallery] + next_tile / kTile * gallery_stride;
      if (++next_gallery == gallery_count) {
        next_gallery = 0;
        if (next_tile + kTile < n) next_tile += kTile;
      }
      for (size_t lane = 0; lane < kTile; lane += Lanes()) {
        const uint32_t* p = probe + lane;
        const uint32_t* g = galleries[gallery] + tile / kTile * gallery_stride + lane;
        const uint32_t* fetch = next + lane;
        MatchSums sums;
        bool all = false;
        for (size_t k = 0; k < count; all = !all) {
          const size_t end = count - k < run ? count : k + run;
          for (; k < end; ++k, p += 2 * kTile, g += 2 * kTile, fetch += 2 * kTile) {
            FetchSoon(fetch);
            FetchSoon(fetch + kTile);
            const V32 p0 = LoadOnce(p), p1 = LoadOnce(p + kTile);
            const V32 g0 = LoadOnce(g), g1 = LoadOnce(g + kTile);
            sums.Add(p0, hn::DupOdd(p0), p1, hn::DupOdd(p1), g0, hn::DupOdd(g0), g1,
                     hn::DupOdd(g1));
          }
          if (k < count) sums.Lower(lazy, all);
        }
        uint32_t* const* to = out + 3 * gallery;
        hn::Store(sums.c0.Finish(wide), d32, to[0] + tile + lane);
        hn::Store(sums.c1.Finish(wide), d32, to[1] + tile + lane);
        hn::Store(sums.c2.Finish(wide), d32, to[2] + tile + lane);
      }
    }
  }
}

// kProbesAhead: steps by which a probe is prefetched. Probes come from the second-level cache or
// from memory, and the hardware's own prefetch ends at each page. (Measured: 8 to 128 steps, 64 is
// best: a batch of 64 probes at 128 dimensions takes 0.87 of the time without.)
constexpr size_t kProbesAhead = 64;

// MatchTileOf: one tile of kGalleries galleries and all probes. `odd` holds the galleries' values
// with the odd ones in even places, [gallery][k][part][tile]; they are split once for all probes.
template <size_t kGalleries>
HWY_INLINE void MatchTileOf(uint32_t* out, size_t stride, const uint32_t* probes,
                            size_t probe_count, const uint32_t* const* galleries,
                            const uint32_t* odd, size_t count, const WideReduction& wide,
                            const LazyLimit& lazy) {
  const size_t size = count * 2 * kTile;
  const size_t run = lazy.steps / 2;
  for (size_t probe = 0; probe < probe_count; ++probe) {
    for (size_t lane = 0; lane < kTile; lane += Lanes()) {
      MatchSums sums[kGalleries];
      bool all = false;
      for (size_t k = 0; k < count; all = !all) {
        const size_t end = count - k < run ? count : k + run;
        for (; k < end; ++k) {
          const size_t at = k * 2 * kTile + lane;
          const uint32_t* p = probes + probe * size + at;
          const uint32_t* ahead = p + kProbesAhead * 2 * kTile;
          __builtin_prefetch(ahead);
          __builtin_prefetch(ahead + kTile);
          const V32 p0 = LoadOnce(p), p1 = LoadOnce(p + kTile);
          const V32 p0_odd = hn::DupOdd(p0), p1_odd = hn::DupOdd(p1);
          for (size_t i = 0; i < kGalleries; ++i) {
            const uint32_t* g = galleries[i] + at;
            const uint32_t* o = odd + i * size + at;
            sums[i].Add(p0, p0_odd, p1, p1_odd, LoadOnce(g), LoadOnce(o), LoadOnce(g + kTile),
                        LoadOnce(o + kTile));
          }
        }
        if (k < count) {
          for (size_t i = 0; i < kGalleries; ++i) sums[i].Lower(lazy, all);
        }
      }
      for (size_t i = 0; i < kGalleries; ++i) {
        uint32_t* to = out + (i * probe_count + probe) * 3 * stride + lane;
        hn::Store(sums[i].c0.Finish(wide), d32, to);
        hn::Store(sums[i].c1.Finish(wide), d32, to + stride);
        hn::Store(sums[i].c2.Finish(wide), d32, to + 2 * stride);
      }
    }
  }
}

void MatchTile(uint32_t* out, size_t stride, const uint32_t* probes, size_t probe_count,
               const uint32_t* const* galleries, size_t gallery_count, uint32_t* scratch,
               size_t count, const Modulus& q) {
  const WideReduction wide(q);
  const LazyLimit lazy(q);
  constexpr size_t kAtOnce = 2;  // their sums fill the registers
  const size_t size = count * 2 * kTile;
  for (size_t first = 0; first < gallery_count; first += kAtOnce) {
    const size_t some = gallery_count - first < kAtOnce ? gallery_count - first : kAtOnce;
    for (size_t i = 0; i < some; ++i) {
      for (size_t j = 0; j < size; j += Lanes()) {
        hn::Store(hn::DupOdd(hn::Load(d32, galleries[first + i] + j)), d32, scratch + i * size + j);
      }
    }
    uint32_t* to = out + first * probe_count * 3 * stride;
    if (some == kAtOnce) {
      MatchTileOf<kAtOnce>(to, stride, probes, probe_count, galleries + first, scratch, count, wide,
                           lazy);
    } else {
      MatchTileOf<1>(to, stride, probes, probe_count, galleries + first, scratch, count, wide,
                     lazy);
    }
  }
}

#endif  // HWY_TARGET != HWY_SCALAR
}  // namespace HWY_NAMESPACE
}  // namespace heft::ring
HWY_AFTER_NAMESPACE();

#endif  // include guard
