// SPDX-License-Identifier: Apache-2.0
// Loops over sums of many products, lazily in 64 bits, one source for all instruction sets: inner
// products, key switches, matching, scalar sums.

#if defined(HEFT_RING_PRODUCTS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEFT_RING_PRODUCTS_SIMD_INL_H_
#undef HEFT_RING_PRODUCTS_SIMD_INL_H_
#else
#define HEFT_RING_PRODUCTS_SIMD_INL_H_
#endif

#include <algorithm>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "ring/kernels.h"
#include "ring/ntt_simd-inl.h"
#include "ring/pointwise_simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heft::ring {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

// Reduces any 64-bit lane: hi * (2^32 mod q) + lo, both by Shoup. Out [0, 4q).
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

// Sums of products in 64-bit lanes, even and odd values apart.
struct WideSum {
  HWY_INLINE WideSum() : even(hn::Zero(d64)), odd(hn::Zero(d64)) {}
  HWY_INLINE void Add(V32 a, V32 a_odd, V32 b) {
    even = hn::Add(even, hn::MulEven(a, b));
    odd = hn::Add(odd, hn::MulEven(a_odd, hn::DupOdd(b)));
  }
  HWY_INLINE V32 Finish(const WideReduction& wide) const { return wide.Finish(even, odd); }
  V64 even, odd;
};

// A load that stays in its register: GCC would otherwise read memory again for every use, and loads
// are then what limits the loop.
HWY_INLINE V32 LoadOnce(const uint32_t* p) {
  V32 v = hn::Load(d32, p);
#if HWY_COMPILER_GCC && HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  asm("" : "+v"(v.raw));
#endif
  return v;
}

// Tiles to fetch ahead of a key or a gallery block: they come from memory, tens of megabytes a
// call, and the hardware alone keeps too few lines in flight. (Measured: 32 to 256 tiles, 128
// best.)
inline constexpr size_t kAhead = 128;

// Montgomery's reduction of sums of at most kMost products of two residues: 2^-32 times the sum,
// out [0, q).
struct Montgomery {
  static constexpr size_t kMost = 8;
  explicit HWY_INLINE Montgomery(const Modulus& modulus) : q(hn::Set(d32, modulus.value())) {
    uint32_t inverse = modulus.value();  // of q modulo 2^32; right to 3 bits, doubled four times
    for (int i = 0; i < 4; ++i) inverse *= 2 - modulus.value() * inverse;
    q_inverse = hn::Set(d32, inverse);
  }
  // The sum less the multiple of q with the same low half, which then is zero.
  HWY_INLINE V64 Clear(V64 sum) const {
    return hn::Sub(sum, hn::MulEven(As32(hn::MulEven(As32(sum), q_inverse)), q));
  }
  // High halves below 2 q for 8 products, q < 2^30, less one below q: (-q, 2q), or (-q, q) for 4.
  template <size_t kCount>
  HWY_INLINE V32 Finish(const WideSum& s) const {
    static_assert(kCount <= kMost);
    const V32 r = HighHalves(Clear(s.even), Clear(s.odd));
    if constexpr (kCount <= 4) return hn::Min(r, hn::Add(r, q));
    return ReduceOnce(ReduceOnce(hn::Add(r, q), hn::Add(q, q)), q);
  }
  V32 q, q_inverse;
};

// Key tiles are fetched this many values ahead: at least kAhead tiles, in whole rows of the key, so
// that what is fetched are the tiles that will be read where fewer digits are used than it has.
HWY_INLINE size_t KeyAhead(size_t key_digits) {
  const size_t row = key_digits * 2;
  return (kAhead + row - 1) / row * row * kTile;
}

// Adds the products of digit j, at one place of a tile; `key` is its first part's.
HWY_INLINE void AddDigit(WideSum* sum0, WideSum* sum1, const uint32_t* digit, const uint32_t* key,
                         size_t ahead) {
  const V32 d = LoadOnce(digit);
  const V32 d_odd = hn::DupOdd(d);
  hwy::Prefetch(key + ahead);
  hwy::Prefetch(key + ahead + kTile);
  sum0->Add(d, d_odd, LoadOnce(key));
  sum1->Add(d, d_odd, LoadOnce(key + kTile));
}

// A fixed count lets the compiler unroll, and keep all sums of a tile in registers.
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

// Any count, reducing after each kMost digits.
HWY_INLINE void SwitchProductsOfMany(uint32_t* out0, uint32_t* out1, const uint32_t* digits,
                                     const uint32_t* key, size_t key_digits, size_t count, size_t n,
                                     const Modulus& q) {
  constexpr size_t kMost = Montgomery::kMost;
  const Montgomery montgomery(q);
  const size_t ahead = KeyAhead(key_digits);
  for (size_t i = 0; i < n; i += kTile, digits += count * kTile, key += key_digits * 2 * kTile) {
    for (size_t lane = 0; lane < kTile; lane += Lanes()) {
      V32 total0 = hn::Zero(d32);
      V32 total1 = hn::Zero(d32);
      for (size_t j = 0; j < count;) {
        const size_t end = count - j < kMost ? count : j + kMost;
        WideSum sum0, sum1;
        for (; j < end; ++j) {
          AddDigit(&sum0, &sum1, digits + j * kTile + lane, key + 2 * j * kTile + lane, ahead);
        }
        total0 = ReduceOnce(hn::Add(total0, montgomery.Finish<kMost>(sum0)), montgomery.q);
        total1 = ReduceOnce(hn::Add(total1, montgomery.Finish<kMost>(sum1)), montgomery.q);
      }
      hn::Store(total0, d32, out0 + i + lane);
      hn::Store(total1, d32, out1 + i + lane);
    }
  }
}

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
  if (count <= Montgomery::kMost) {
    return SwitchProductsUpTo<Montgomery::kMost>(out0, out1, digits, key, key_digits, count, n, q);
  }
  SwitchProductsOfMany(out0, out1, digits, key, key_digits, count, n, q);
}

// Keeps sums of products of two residues within 64 bits: a sum below 2 limit() comes out below
// limit(), which leaves room for steps() more products.
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

// The three sums of one tile, in registers.
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

void Match(uint32_t* const* out, const uint32_t* probe, size_t probe_stride,
           const uint32_t* const* galleries, size_t gallery_count, size_t count, size_t n,
           const Modulus& q) {
  if (n < kTile) {
    return ReferenceKernels().match(out, probe, probe_stride, galleries, gallery_count, count, n,
                                    q);
  }
  const WideReduction wide(q);
  const LazyLimit lazy(q);
  const size_t run = lazy.steps / 2;  // c1 takes two products a step
  const size_t size = count * 2 * kTile;
  // The galleries' tiles are read in turn; what is fetched ahead is the tile that will be read
  // after `ahead` others.
  const size_t ahead = (kAhead * kTile + size - 1) / size;
  size_t next_tile = std::min(ahead / gallery_count * kTile, n - kTile);
  size_t next_gallery = ahead % gallery_count;
  for (size_t tile = 0; tile < n; tile += kTile, probe += probe_stride) {
    for (size_t gallery = 0; gallery < gallery_count; ++gallery) {
      const uint32_t* next = galleries[next_gallery] + next_tile * count * 2;
      if (++next_gallery == gallery_count) {
        next_gallery = 0;
        if (next_tile + kTile < n) next_tile += kTile;
      }
      for (size_t lane = 0; lane < kTile; lane += Lanes()) {
        const uint32_t* p = probe + lane;
        const uint32_t* g = galleries[gallery] + tile * count * 2 + lane;
        const uint32_t* fetch = next + lane;
        MatchSums sums;
        bool all = false;
        for (size_t k = 0; k < count; all = !all) {
          const size_t end = count - k < run ? count : k + run;
          for (; k < end; ++k, p += 2 * kTile, g += 2 * kTile, fetch += 2 * kTile) {
            hwy::Prefetch(fetch);
            hwy::Prefetch(fetch + kTile);
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

// One tile of kGalleries galleries and all probes. `odd` holds the galleries' values with the odd
// ones in even places, [gallery][k][part][tile]: split once for all probes.
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

// Adds sums of `count` < q.lazy_products() products for each of kRows rows to out + at. The inputs
// lie packed, `piece` values each: all sums of one vector stay in registers.
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
