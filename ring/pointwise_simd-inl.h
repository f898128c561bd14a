// SPDX-License-Identifier: Apache-2.0
// Pointwise loops, one source for all instruction sets.

#if defined(HEFT_RING_POINTWISE_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEFT_RING_POINTWISE_SIMD_INL_H_
#undef HEFT_RING_POINTWISE_SIMD_INL_H_
#else
#define HEFT_RING_POINTWISE_SIMD_INL_H_
#endif

#include "hwy/highway.h"
#include "ring/kernels.h"
#include "ring/vector_simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heft::ring {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

void Add(uint32_t* out, const uint32_t* a, const uint32_t* b, size_t n, const Modulus& q) {
  if (n < kSmallestVectorLoop) return ReferenceKernels().add(out, a, b, n, q);
  const V32 vq = hn::Set(d32, q.value());
  for (size_t i = 0; i < n; i += Lanes()) {
    const V32 sum = hn::Add(hn::Load(d32, a + i), hn::Load(d32, b + i));
    hn::Store(ReduceOnce(sum, vq), d32, out + i);
  }
}

// SubtractMod: a - b in (-q, q) wraps to a large value when negative; adding q then gives the
// smaller one.
HWY_INLINE V32 SubtractMod(V32 a, V32 b, V32 q) {
  const V32 difference = hn::Sub(a, b);
  return hn::Min(difference, hn::Add(difference, q));
}

void Subtract(uint32_t* out, const uint32_t* a, const uint32_t* b, size_t n, const Modulus& q) {
  if (n < kSmallestVectorLoop) return ReferenceKernels().subtract(out, a, b, n, q);
  const V32 vq = hn::Set(d32, q.value());
  for (size_t i = 0; i < n; i += Lanes()) {
    hn::Store(SubtractMod(hn::Load(d32, a + i), hn::Load(d32, b + i), vq), d32, out + i);
  }
}

void Negate(uint32_t* out, const uint32_t* a, size_t n, const Modulus& q) {
  if (n < kSmallestVectorLoop) return ReferenceKernels().negate(out, a, n, q);
  const V32 vq = hn::Set(d32, q.value());
  for (size_t i = 0; i < n; i += Lanes()) {
    hn::Store(SubtractMod(hn::Zero(d32), hn::Load(d32, a + i), vq), d32, out + i);
  }
}

// Barrett: the reduction of products of two residues in [0, q), in 64-bit lanes; out [0, 3q).
struct Barrett {
  explicit HWY_INLINE Barrett(const Modulus& modulus)
      : q(hn::Set(d32, modulus.value())),
        mu(hn::Set(d32, modulus.barrett())),
        shift1(modulus.bits() - 1),
        shift2(modulus.bits() + 1) {}
  HWY_INLINE V64 Reduce(V64 product) const {
    const V64 top = hn::ShiftRightSame(product, shift1);
    const V64 quotient = hn::ShiftRightSame(hn::MulEven(As32(top), mu), shift2);
    return hn::Sub(product, hn::MulEven(As32(quotient), q));
  }
  V32 q, mu;
  int shift1, shift2;
};

void Multiply(uint32_t* out, const uint32_t* a, const uint32_t* b, size_t n, const Modulus& q) {
  if (n < kSmallestVectorLoop) return ReferenceKernels().multiply(out, a, b, n, q);
  const Barrett barrett(q);
  for (size_t i = 0; i < n; i += Lanes()) {
    const V32 va = hn::Load(d32, a + i);
    const V32 vb = hn::Load(d32, b + i);
    const V64 even = barrett.Reduce(hn::MulEven(va, vb));
    const V64 odd = barrett.Reduce(hn::MulEven(hn::DupOdd(va), hn::DupOdd(vb)));
    const V32 r = Combine(even, odd);
    hn::Store(ReduceOnce(ReduceOnce(r, barrett.q), barrett.q), d32, out + i);
  }
}

void MultiplyScalar(uint32_t* out, const uint32_t* a, ShoupFactor w, size_t n, const Modulus& q) {
  if (n < kSmallestVectorLoop) return ReferenceKernels().multiply_scalar(out, a, w, n, q);
  const V32 vq = hn::Set(d32, q.value());
  const V32 vw = hn::Set(d32, w.value);
  const V32 vwq = hn::Set(d32, w.quotient);
  for (size_t i = 0; i < n; i += Lanes()) {
    const V32 r = MultiplyLazy<true>(hn::Load(d32, a + i), vw, vwq, vq);
    hn::Store(ReduceOnce(r, vq), d32, out + i);
  }
}

void SubtractMultiplyScalar(uint32_t* out, const uint32_t* a, const uint32_t* b, ShoupFactor w,
                            size_t n, const Modulus& q) {
  if (n < kSmallestVectorLoop) {
    return ReferenceKernels().subtract_multiply_scalar(out, a, b, w, n, q);
  }
  const V32 vq = hn::Set(d32, q.value());
  const V32 vw = hn::Set(d32, w.value);
  const V32 vwq = hn::Set(d32, w.quotient);
  for (size_t i = 0; i < n; i += Lanes()) {
    // a - b + q in (0, 2q): the lazy product takes any 32-bit value.
    const V32 difference = hn::Add(hn::Sub(hn::Load(d32, a + i), hn::Load(d32, b + i)), vq);
    hn::Store(ReduceOnce(MultiplyLazy<true>(difference, vw, vwq, vq), vq), d32, out + i);
  }
}

void AddMultiplyScalar(uint32_t* out, const uint32_t* a, ShoupFactor w, size_t n,
                       const Modulus& q) {
  if (n < kSmallestVectorLoop) return ReferenceKernels().add_multiply_scalar(out, a, w, n, q);
  const V32 vq = hn::Set(d32, q.value());
  const V32 vw = hn::Set(d32, w.value);
  const V32 vwq = hn::Set(d32, w.quotient);
  for (size_t i = 0; i < n; i += Lanes()) {
    const V32 product = ReduceOnce(MultiplyLazy<true>(hn::Load(d32, a + i), vw, vwq, vq), vq);
    hn::Store(ReduceOnce(hn::Add(hn::Load(d32, out + i), product), vq), d32, out + i);
  }
}

// Lifted: a centred lift, vector by vector; out [0, 2q).
struct Lifted {
  HWY_INLINE Lifted(const uint32_t* in, const LiftConstants& constants, const Modulus& to)
      : a(in),
        q(hn::Set(d32, to.value())),
        half(hn::Set(d32, constants.half)),
        correction(hn::Set(d32, constants.correction)),
        quotient(hn::Set(d32, to.one().quotient)) {}
  HWY_INLINE V32 operator()(size_t i) const {
    const V32 x = hn::Load(d32, a + i);
    const V32 centred = hn::Add(x, hn::IfThenElseZero(hn::Gt(x, half), correction));
    return hn::Sub(centred, hn::Mul(MultiplyHigh<true>(centred, quotient), q));
  }
  const uint32_t* a;
  V32 q, half, correction, quotient;
};

void Lift(uint32_t* out, const uint32_t* a, const LiftConstants& constants, size_t n,
          const Modulus& to) {
  if (n < kSmallestVectorLoop) return ReferenceKernels().lift(out, a, constants, n, to);
  const Lifted lifted(a, constants, to);
  for (size_t i = 0; i < n; i += Lanes()) {
    hn::Store(ReduceOnce(lifted(i), lifted.q), d32, out + i);
  }
}

void LiftSum(uint32_t* out, const uint32_t* a, const LiftConstants& a_constants, const uint32_t* b,
             const LiftConstants& b_constants, ShoupFactor w, size_t n, const Modulus& to) {
  if (n < kSmallestVectorLoop) {
    return ReferenceKernels().lift_sum(out, a, a_constants, b, b_constants, w, n, to);
  }
  const Lifted lifted_a(a, a_constants, to), lifted_b(b, b_constants, to);
  const V32 q = lifted_a.q;
  const V32 vw = hn::Set(d32, w.value);
  const V32 vwq = hn::Set(d32, w.quotient);
  for (size_t i = 0; i < n; i += Lanes()) {
    const V32 sum = hn::Add(lifted_a(i), MultiplyLazy<true>(lifted_b(i), vw, vwq, q));
    hn::Store(ReduceOnce(ReduceOnce(sum, hn::Add(q, q)), q), d32, out + i);
  }
}

void RoundScaled(uint32_t* out, const float* a, float factor, size_t n, const Modulus& q) {
  if (n < kSmallestVectorLoop) return ReferenceKernels().round_scaled(out, a, factor, n, q);
  const hn::Repartition<float, D32> floats;
  const auto scale = hn::Set(floats, factor);
  const V32 vq = hn::Set(d32, q.value());
  for (size_t i = 0; i < n; i += Lanes()) {
    const auto integers = hn::NearestInt(hn::Mul(hn::Load(floats, a + i), scale));
    hn::Store(ReduceOnce(hn::Add(hn::BitCast(d32, integers), vq), vq), d32, out + i);
  }
}

// Source: the aligned vector, at `at`, that holds a vector of permuted values, and its shuffle.
struct Source {
  static constexpr uint32_t kLow = static_cast<uint32_t>(Lanes() - 1);
  explicit HWY_INLINE Source(const uint32_t* sources)
      : at(sources[0] & ~kLow),
        lanes(hn::IndicesFromVec(d32, hn::And(hn::Load(d32, sources), hn::Set(d32, kLow)))) {}
  HWY_INLINE V32 Shuffled(V32 block) const { return hn::TableLookupLanes(block, lanes); }
  size_t at;
  decltype(hn::IndicesFromVec(d32, hn::Zero(d32))) lanes;
};

// LoadPermuted: a vector of permuted values.
HWY_INLINE V32 LoadPermuted(const uint32_t* in, const uint32_t* sources) {
  const Source source(sources);
  return source.Shuffled(hn::Load(d32, in + source.at));
}

void Permute(uint32_t* out, const uint32_t* in, const Permutation& p, size_t n) {
  if (n < kSmallestVectorLoop) return ReferenceKernels().permute(out, in, p, n);
  for (size_t i = 0; i < n; i += Lanes()) {
    hn::Store(LoadPermuted(in, p.data() + i), d32, out + i);
  }
}

void QuotientTiled(uint32_t* out, size_t tile_stride, const uint32_t* const* sums,
                   const uint32_t* const* rests, const uint32_t* own, ShoupFactor w,
                   const Permutation& p, size_t n, const Modulus& q) {
  if (n < kSmallestVectorLoop) {
    return ReferenceKernels().quotient_tiled(out, tile_stride, sums, rests, own, w, p, n, q);
  }
  const V32 vq = hn::Set(d32, q.value());
  const V32 vw = hn::Set(d32, w.value);
  const V32 vwq = hn::Set(d32, w.quotient);
  const auto times = [&](V32 x) { return ReduceOnce(MultiplyLazy<true>(x, vw, vwq, vq), vq); };
  for (size_t j = 0; j < n; j += Lanes()) {
    const Source source(p.data() + j);
    const auto load = [&](const uint32_t* in) { return hn::Load(d32, in + source.at); };
    // Below 3 q: the lazy product takes any 32-bit value.
    const V32 x0 = hn::Add(hn::Sub(hn::Add(load(sums[0]), load(own)), load(rests[0])), vq);
    const V32 x1 = hn::Add(hn::Sub(load(sums[1]), load(rests[1])), vq);
    uint32_t* to = out + j / kTile * tile_stride + j % kTile;
    hn::Store(source.Shuffled(times(x0)), d32, to);
    hn::Store(source.Shuffled(times(x1)), d32, to + kTile);
  }
}

void PermuteAdd(uint32_t* out, const uint32_t* in, const Permutation& p, size_t n,
                const Modulus& q) {
  if (n < kSmallestVectorLoop) return ReferenceKernels().permute_add(out, in, p, n, q);
  const V32 vq = hn::Set(d32, q.value());
  for (size_t i = 0; i < n; i += Lanes()) {
    const V32 sum = hn::Add(hn::Load(d32, out + i), LoadPermuted(in, p.data() + i));
    hn::Store(ReduceOnce(sum, vq), d32, out + i);
  }
}

#endif  // HWY_TARGET != HWY_SCALAR
}  // namespace HWY_NAMESPACE
}  // namespace heft::ring
HWY_AFTER_NAMESPACE();

#endif  // include guard
