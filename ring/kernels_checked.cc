// SPDX-License-Identifier: Apache-2.0
#include "ring/kernels_checked.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <initializer_list>

#include "base/check.h"
#include "ring/kernel_table.h"
#include "ring/ntt.h"

namespace heft::ring {
namespace {

std::atomic<const Kernels*> g_inner{nullptr};

const Kernels& Inner() { return *g_inner.load(std::memory_order_relaxed); }

// TileOf: values of a tile; a shorter array is one tile.
size_t TileOf(size_t n) { return n < kTile ? n : kTile; }

bool Below(const uint32_t* values, size_t n, uint64_t bound) {
  bool below = true;
  for (size_t i = 0; i < n; ++i) below &= values[i] < bound;
  return below;
}

// TilesBelow: the first `used` values of each of several rows, `stride` apart.
bool TilesBelow(const uint32_t* values, size_t rows, size_t stride, size_t used, uint64_t bound) {
  bool below = true;
  for (size_t i = 0; i < rows; ++i) below &= Below(values + i * stride, used, bound);
  return below;
}

// Aligned: arrays shorter than a tile are read value by value and need no alignment.
bool Aligned(const uint32_t* values, size_t n) {
  return n % kTile != 0 || reinterpret_cast<uintptr_t>(values) % kCacheLine == 0;
}

// Input and Output: an array of n values below `bound`.
void Input(const uint32_t* values, size_t n, uint64_t bound) {
  HEFT_DCHECK(Aligned(values, n), "kernels take aligned arrays");
  HEFT_DCHECK(Below(values, n, bound), "a kernel's input is in range");
}

void Output(const uint32_t* values, size_t n, const Modulus& q) {
  HEFT_DCHECK(Aligned(values, n), "kernels write aligned arrays");
  HEFT_DCHECK(Below(values, n, q.value()), "a kernel's output is reduced");
}

void Length(size_t n) { HEFT_DCHECK(std::has_single_bit(n), "n is a power of two"); }

// Inputs: arrays of a power of two values, reduced.
void Inputs(std::initializer_list<const uint32_t*> arrays, size_t n, const Modulus& q) {
  Length(n);
  for (const uint32_t* values : arrays) Input(values, n, q.value());
}

void Factor(ShoupFactor w, const Modulus& q) {
  HEFT_DCHECK(w.value < q.value(), "a factor is reduced");
  HEFT_DCHECK(w.quotient == q.Shoup(w.value).quotient, "a factor's quotient is of this prime");
}

// TileStride: tiles of `n` values do not overlap, and are aligned as the first one.
void TileStride(const uint32_t* out, size_t tile_stride, size_t n) {
  HEFT_DCHECK(Aligned(out, n), "kernels write aligned tiles");
  HEFT_DCHECK(tile_stride >= TileOf(n), "tiles do not overlap");
  HEFT_DCHECK(n < kTile || tile_stride % kTile == 0, "a tile's stride is a multiple of its size");
}

void Sources(const Permutation& p, size_t n) {
  HEFT_DCHECK(p.size() >= n, "a permutation has n sources");
  bool inside = true;
  const size_t tile = TileOf(n);
  for (size_t i = 0; i < n; ++i) inside &= p[i] < n && p[i] / tile == p[i / tile * tile] / tile;
  HEFT_DCHECK(inside, "a tile of a permutation comes from one tile");
}

// ---- The kernels, by the names that HEFT_KERNEL_TABLE uses.

void NttForward(uint32_t* a, const NttTables& tables, const uint32_t** ahead) {
  Input(a, tables.n(), uint64_t{4} * tables.modulus().value());
  Inner().ntt_forward(a, tables, ahead);
  Output(a, tables.n(), tables.modulus());
}

void NttForwardTiled(uint32_t* out, size_t tile_stride, uint32_t* a, const NttTables& tables,
                     const uint32_t** ahead) {
  const size_t n = tables.n();
  Input(a, n, uint64_t{4} * tables.modulus().value());
  TileStride(out, tile_stride, n);
  HEFT_DCHECK(out != a, "tiles are written to another place");
  Inner().ntt_forward_tiled(out, tile_stride, a, tables, ahead);
  HEFT_DCHECK(TilesBelow(out, n / TileOf(n), tile_stride, TileOf(n), tables.modulus().value()),
              "a kernel's output is reduced");
}

void NttInverse(uint32_t* a, const NttTables& tables, const uint32_t** ahead) {
  Input(a, tables.n(), uint64_t{2} * tables.modulus().value());
  Inner().ntt_inverse(a, tables, ahead);
  Output(a, tables.n(), tables.modulus());
}

template <auto kKernel>
void OfTwo(uint32_t* out, const uint32_t* a, const uint32_t* b, size_t n, const Modulus& q) {
  Inputs({a, b}, n, q);
  (Inner().*kKernel)(out, a, b, n, q);
  Output(out, n, q);
}
constexpr auto Add = OfTwo<&Kernels::add>, Subtract = OfTwo<&Kernels::subtract>,
               Multiply = OfTwo<&Kernels::multiply>;

void Negate(uint32_t* out, const uint32_t* a, size_t n, const Modulus& q) {
  Inputs({a}, n, q);
  Inner().negate(out, a, n, q);
  Output(out, n, q);
}

void MultiplyScalar(uint32_t* out, const uint32_t* a, ShoupFactor w, size_t n, const Modulus& q) {
  Inputs({a}, n, q);
  Factor(w, q);
  Inner().multiply_scalar(out, a, w, n, q);
  Output(out, n, q);
}

void SubtractMultiplyScalar(uint32_t* out, const uint32_t* a, const uint32_t* b, ShoupFactor w,
                            size_t n, const Modulus& q) {
  Inputs({a, b}, n, q);
  Factor(w, q);
  Inner().subtract_multiply_scalar(out, a, b, w, n, q);
  Output(out, n, q);
}

void AddMultiplyScalar(uint32_t* out, const uint32_t* a, ShoupFactor w, size_t n,
                       const Modulus& q) {
  Inputs({out, a}, n, q);
  Factor(w, q);
  Inner().add_multiply_scalar(out, a, w, n, q);
  Output(out, n, q);
}

void InnerProduct(uint32_t* out, const uint32_t* const* a, const uint32_t* const* b, size_t count,
                  size_t n, const Modulus& q) {
  Length(n);
  for (size_t k = 0; k < count; ++k) {
    Input(a[k], n, q.value());
    Input(b[k], n, q.value());
    HEFT_DCHECK(out != a[k] && out != b[k], "an inner product is written to none of its inputs");
  }
  Inner().inner_product(out, a, b, count, n, q);
  Output(out, n, q);
}

// CheckLift: `constants` were made for the prime `to`.
void CheckLift(const LiftConstants& constants, const Modulus& to) {
  HEFT_DCHECK(constants.correction == to.Negate(to.Reduce(2 * uint64_t{constants.half} + 1)),
              "the constants of a lift are of its primes");
}

void Lift(uint32_t* out, const uint32_t* a, const LiftConstants& constants, size_t n,
          const Modulus& to) {
  Length(n);
  CheckLift(constants, to);
  Input(a, n, 2 * uint64_t{constants.half} + 1);
  Inner().lift(out, a, constants, n, to);
  Output(out, n, to);
}

void LiftSum(uint32_t* out, const uint32_t* a, const LiftConstants& a_constants, const uint32_t* b,
             const LiftConstants& b_constants, ShoupFactor w, size_t n, const Modulus& to) {
  Length(n);
  CheckLift(a_constants, to);
  CheckLift(b_constants, to);
  Input(a, n, 2 * uint64_t{a_constants.half} + 1);
  Input(b, n, 2 * uint64_t{b_constants.half} + 1);
  Factor(w, to);
  Inner().lift_sum(out, a, a_constants, b, b_constants, w, n, to);
  Output(out, n, to);
}

void RoundScaled(uint32_t* out, const float* a, float factor, size_t n, const Modulus& q) {
  Length(n);
  HEFT_DCHECK(n % kTile != 0 || reinterpret_cast<uintptr_t>(a) % kCacheLine == 0,
              "kernels take aligned arrays");
  bool below = true;
  for (size_t i = 0; i < n; ++i) below &= std::abs(a[i] * factor) < static_cast<float>(q.value());
  HEFT_DCHECK(below, "integers are below the prime");
  Inner().round_scaled(out, a, factor, n, q);
  Output(out, n, q);
}

void SwitchProducts(uint32_t* out0, uint32_t* out1, const uint32_t* digits, const uint32_t* key,
                    size_t key_digits, size_t count, size_t n, const Modulus& q) {
  Length(n);
  const size_t tile = TileOf(n);
  HEFT_DCHECK(count <= key_digits, "a key has all the digits");
  HEFT_DCHECK(out0 != out1, "the two sums of a key switch are two arrays");
  Input(digits, n * count, q.value());
  HEFT_DCHECK(Aligned(key, n), "kernels take aligned arrays");
  HEFT_DCHECK(TilesBelow(key, n / tile, key_digits * 2 * tile, count * 2 * tile, q.value()),
              "a kernel's input is in range");
  Inner().switch_products(out0, out1, digits, key, key_digits, count, n, q);
  Output(out0, n, q);
  Output(out1, n, q);
}

void Permute(uint32_t* out, const uint32_t* in, const Permutation& p, size_t n) {
  Length(n);
  Sources(p, n);
  HEFT_DCHECK(Aligned(out, n) && Aligned(in, n), "kernels take aligned arrays");
  HEFT_DCHECK(out != in, "a permutation is written to another place");
  Inner().permute(out, in, p, n);
}

void QuotientTiled(uint32_t* out, size_t tile_stride, const uint32_t* const* sums,
                   const uint32_t* const* rests, const uint32_t* own, ShoupFactor w,
                   const Permutation& p, size_t n, const Modulus& q) {
  Inputs({sums[0], sums[1], rests[0], rests[1], own}, n, q);
  Sources(p, n);
  TileStride(out, tile_stride, n);
  Inner().quotient_tiled(out, tile_stride, sums, rests, own, w, p, n, q);
}

void PermuteAdd(uint32_t* out, const uint32_t* in, const Permutation& p, size_t n,
                const Modulus& q) {
  Inputs({out, in}, n, q);
  Sources(p, n);
  HEFT_DCHECK(out != in, "a permutation is added to another place");
  Inner().permute_add(out, in, p, n, q);
  Output(out, n, q);
}

void Match(uint32_t* const* out, const uint32_t* probe, size_t probe_stride,
           const uint32_t* const* galleries, size_t gallery_stride, size_t gallery_count,
           size_t count, size_t n, const Modulus& q) {
  Length(n);
  HEFT_DCHECK(n >= kTile, "what is matched has whole tiles");
  const size_t row = count * 2 * kTile;  // a tile of all pairs
  TileStride(probe, probe_stride, n);
  HEFT_DCHECK(probe_stride >= row, "a probe's tiles do not overlap");
  HEFT_DCHECK(TilesBelow(probe, n / kTile, probe_stride, row, q.value()),
              "a kernel's input is in range");
  HEFT_DCHECK(gallery_stride >= row, "a gallery's tiles do not overlap");
  for (size_t g = 0; g < gallery_count; ++g) {
    TileStride(galleries[g], gallery_stride, n);
    HEFT_DCHECK(TilesBelow(galleries[g], n / kTile, gallery_stride, row, q.value()),
                "a kernel's input is in range");
  }
  Inner().match(out, probe, probe_stride, galleries, gallery_stride, gallery_count, count, n, q);
  for (size_t i = 0; i < 3 * gallery_count; ++i) Output(out[i], n, q);
}

void MatchTile(uint32_t* out, size_t stride, const uint32_t* probes, size_t probe_count,
               const uint32_t* const* galleries, size_t gallery_count, uint32_t* scratch,
               size_t count, const Modulus& q) {
  const size_t row = count * 2 * kTile;
  TileStride(out, stride, kTile);
  HEFT_DCHECK(Aligned(scratch, kTile), "kernels take aligned arrays");
  Input(probes, probe_count * row, q.value());
  for (size_t g = 0; g < gallery_count; ++g) Input(galleries[g], row, q.value());
  Inner().match_tile(out, stride, probes, probe_count, galleries, gallery_count, scratch, count, q);
  HEFT_DCHECK(TilesBelow(out, 3 * gallery_count * probe_count, stride, kTile, q.value()),
              "a kernel's output is reduced");
}

void ScalarSums(uint32_t* const* out, const uint32_t* const* in, const int32_t* weights,
                size_t rows, size_t count, size_t n, const Modulus& q) {
  for (size_t k = 0; k < rows * count; ++k) {
    HEFT_DCHECK(std::abs(int64_t{weights[k]}) < q.value(), "the weights of sums are below q");
  }
  for (size_t d = 0; d < count; ++d) Input(in[d], n, q.value());
  for (size_t r = 0; r < rows; ++r) {
    Input(out[r], n, q.value());
    for (size_t d = 0; d < count; ++d) {
      HEFT_DCHECK(out[r] != in[d], "a sum is written to none of its inputs");
    }
  }
  Inner().scalar_sums(out, in, weights, rows, count, n, q);
  for (size_t r = 0; r < rows; ++r) Output(out[r], n, q);
}

}  // namespace

const Kernels& CheckedKernels(const Kernels& kernels) {
  static const std::vector<Kernels> tables = [] {
    std::vector<Kernels> all;
    for (const Kernels* inner : AllKernels()) {
      all.push_back(HEFT_KERNEL_TABLE(inner->name));
    }
    return all;
  }();
  g_inner.store(&kernels, std::memory_order_relaxed);
  size_t i = 0;
  while (AllKernels()[i] != &kernels) ++i;
  return tables[i];
}

}  // namespace heft::ring
