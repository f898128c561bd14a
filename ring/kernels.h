// SPDX-License-Identifier: Apache-2.0
// Kernels: the time-critical loops, as one table of functions for each instruction set. The table
// is selected once, at run time; HEFT_SIMD=reference|sse4|avx2|avx512|neon|wasm forces one. Every
// table computes exactly the same residues as the scalar reference (kernels_test runs all of them
// on the same input).
//
// Arrays hold n values, n a power of two, and start on a cache line if n is at least kTile. `out`
// may be an input unless stated otherwise. Debug builds assert this and the ranges below at each
// call of an active kernel (kernels_checked.cc).
#ifndef HEFT_RING_KERNELS_H_
#define HEFT_RING_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/aligned.h"
#include "ring/modulus.h"

namespace heft::ring {

class NttTables;

// LiftConstants: a centred lift from one modulus to another: x in [0, from) represents x or x -
// from, whichever is nearer to zero.
struct LiftConstants {
  LiftConstants(const Modulus& from, const Modulus& to);
  uint32_t half;        // (from - 1) / 2
  uint32_t correction;  // -from modulo to
};

// kTile: values that are adjacent in the layouts of switching keys and gallery blocks: one cache
// line.
inline constexpr size_t kTile = 16;

// Permutation: of n values, n a power of two, as a table of sources. Every aligned block of a power
// of two of outputs comes from one aligned block of inputs. Automorphisms in bit-reversed order
// have this property: the exponents of a block share their low bits, and an odd factor maps low
// bits to low bits.
using Permutation = AlignedVector<uint32_t>;

struct Kernels {
  const char* name;  // as in HEFT_SIMD

  // Transforms. `ahead`: nullptr, or a cursor into memory to fetch meanwhile, which is advanced
  // (ahead.h).
  //
  // ntt_forward: in [0, 4q), out [0, q).
  void (*ntt_forward)(uint32_t* a, const NttTables& tables, const uint32_t** ahead);
  // ntt_forward_tiled: the same into `out`, a tile of kTile values every `tile_stride` values;
  // destroys `a`.
  void (*ntt_forward_tiled)(uint32_t* out, size_t tile_stride, uint32_t* a, const NttTables& tables,
                            const uint32_t** ahead);
  // ntt_inverse: in [0, 2q), out [0, q).
  void (*ntt_inverse)(uint32_t* a, const NttTables& tables, const uint32_t** ahead);

  // Pointwise, in [0, q), out [0, q).
  void (*add)(uint32_t* out, const uint32_t* a, const uint32_t* b, size_t n, const Modulus& q);
  void (*subtract)(uint32_t* out, const uint32_t* a, const uint32_t* b, size_t n, const Modulus& q);
  void (*negate)(uint32_t* out, const uint32_t* a, size_t n, const Modulus& q);
  void (*multiply)(uint32_t* out, const uint32_t* a, const uint32_t* b, size_t n, const Modulus& q);
  void (*multiply_scalar)(uint32_t* out, const uint32_t* a, ShoupFactor w, size_t n,
                          const Modulus& q);
  // subtract_multiply_scalar: (a - b) * w, the last step of a rescale.
  void (*subtract_multiply_scalar)(uint32_t* out, const uint32_t* a, const uint32_t* b,
                                   ShoupFactor w, size_t n, const Modulus& q);
  // add_multiply_scalar: out += a * w.
  void (*add_multiply_scalar)(uint32_t* out, const uint32_t* a, ShoupFactor w, size_t n,
                              const Modulus& q);
  // inner_product: sum over k < count of a[k][i] * b[k][i], lazily in 64 bits, reduced once. In [0,
  // q), out [0, q); `out` is none of the inputs.
  void (*inner_product)(uint32_t* out, const uint32_t* const* a, const uint32_t* const* b,
                        size_t count, size_t n, const Modulus& q);
  // lift: the centred lift, in [0, from), out [0, to).
  void (*lift)(uint32_t* out, const uint32_t* a, const LiftConstants& constants, size_t n,
               const Modulus& to);
  // lift_sum: lift(a) + lift(b) * w, each as above, w reduced modulo `to`: the lift of a pair of
  // residues.
  void (*lift_sum)(uint32_t* out, const uint32_t* a, const LiftConstants& a_constants,
                   const uint32_t* b, const LiftConstants& b_constants, ShoupFactor w, size_t n,
                   const Modulus& to);
  // round_scaled: a[i] * factor in single precision, rounded to an integer, a half to even, modulo
  // q. The integers lie in (-q, q), so out [0, q).
  void (*round_scaled)(uint32_t* out, const float* a, float factor, size_t n, const Modulus& q);
  // switch_products: the sums of a key switch, out_p = 2^-32 sum over j < count of digit_j *
  // key_(j, p), for both parts p. The key's values contain the factor 2^32, and the sums are
  // reduced as Montgomery does (Math. Comp. 44, 1985), in fewer than half the instructions of the
  // reduction of other sums. Both inputs are read sequentially. `digits` holds, for each tile of
  // kTile values, the values of `count` digits; `key` holds, for each tile and each of `key_digits`
  // >= count digits, those of both parts. In and out [0, q).
  void (*switch_products)(uint32_t* out0, uint32_t* out1, const uint32_t* digits,
                          const uint32_t* key, size_t key_digits, size_t count, size_t n,
                          const Modulus& q);
  // permute: out[i] = in[p[i]]; `out` is not `in`.
  void (*permute)(uint32_t* out, const uint32_t* in, const Permutation& p, size_t n);
  // quotient_tiled: the last steps of a rotation, for both of its parts: (sum0 - rest0 + own) * w
  // and (sum1 - rest1) * w at i = p[j]. Writes tiles of kTile values, `tile_stride` apart, with
  // part 1's tile directly after part 0's. In and out [0, q).
  void (*quotient_tiled)(uint32_t* out, size_t tile_stride, const uint32_t* const* sums,
                         const uint32_t* const* rests, const uint32_t* own, ShoupFactor w,
                         const Permutation& p, size_t n, const Modulus& q);
  // permute_add: out[i] += in[p[i]], in and out [0, q); `out` is not `in`.
  void (*permute_add)(uint32_t* out, const uint32_t* in, const Permutation& p, size_t n,
                      const Modulus& q);
  // match: the three parts of a lazily summed product of `count` pairs of two-part ciphertexts, one
  // limb, of one probe with each of one or more galleries:
  //   c0 = sum p0 g0,  c1 = sum p0 g1 + p1 g0,  c2 = sum p1 g1;
  // part c of gallery g goes to out[3 * g + c]. `probe` and each gallery hold for each tile of
  // kTile coefficients, for each k, the two parts' values: [n / tile][count][2][tile]. The tiles of
  // the probe are `probe_stride` values apart, those of a gallery `gallery_stride`. A probe's tile
  // is read from memory once for all galleries. n is at least kTile. In [0, q), out [0, q).
  void (*match)(uint32_t* const* out, const uint32_t* probe, size_t probe_stride,
                const uint32_t* const* galleries, size_t gallery_stride, size_t gallery_count,
                size_t count, size_t n, const Modulus& q);
  // match_tile: the same for one tile of several galleries and several probes, whose tiles are
  // adjacent. Part c of gallery g and probe p goes to out + ((g * probe_count + p) * 3 + c) *
  // stride. `scratch`: 4 * count * kTile values.
  void (*match_tile)(uint32_t* out, size_t stride, const uint32_t* probes, size_t probe_count,
                     const uint32_t* const* galleries, size_t gallery_count, uint32_t* scratch,
                     size_t count, const Modulus& q);
  // scalar_sums: several sums of the same `count` inputs, out[r][i] += sum over d < count of
  // weights[r * count + d] * in[d][i], lazily in 64 bits; `out` is none of the inputs. In and out
  // [0, q), weights (-q, q): the smaller they are, the fewer reductions. n need not be a power of
  // two. Each input is read once, in pieces that stay in the caches for all `rows`.
  void (*scalar_sums)(uint32_t* const* out, const uint32_t* const* in, const int32_t* weights,
                      size_t rows, size_t count, size_t n, const Modulus& q);
};

// ReferenceKernels: the scalar reference.
const Kernels& ReferenceKernels();
// AllKernels: the reference and one table for each compiled instruction set of this machine, best
// last.
const std::vector<const Kernels*>& AllKernels();
// ActiveKernels: the best table, or the one that HEFT_SIMD names; with assertions in debug builds.
const Kernels& ActiveKernels();
// ForceKernels: makes `name` the active table, for tests and benchmarks; false if this machine
// lacks it.
bool ForceKernels(std::string_view name);

}  // namespace heft::ring

#endif  // HEFT_RING_KERNELS_H_
