// SPDX-License-Identifier: Apache-2.0
// ReferenceKernels: simple loops that define the result of every other instruction set.
#include <cmath>

#include "ring/kernel_table.h"
#include "ring/kernels.h"
#include "ring/ntt.h"

namespace heft::ring {

LiftConstants::LiftConstants(const Modulus& from, const Modulus& to)
    : half((from.value() - 1) / 2), correction(to.Negate(to.Reduce(from.value()))) {}

namespace {

void NttForward(uint32_t* a, const NttTables& tables, const uint32_t** /*ahead*/) {
  const Modulus& q = tables.modulus();
  const uint32_t two_q = 2 * q.value();
  const uint32_t* w = tables.forward();
  const uint32_t* wq = tables.forward_quotient();
  for (uint32_t m = 1, t = tables.n() / 2; t > 0; m *= 2, t /= 2) {
    for (uint32_t i = 0; i < m; ++i) {
      const ShoupFactor root{w[m + i], wq[m + i]};
      for (uint32_t j = 2 * i * t; j < (2 * i + 1) * t; ++j) {
        const uint32_t x = a[j] >= two_q ? a[j] - two_q : a[j];  // [0, 2q)
        const uint32_t y = q.MultiplyLazy(a[j + t], root);       // [0, 2q)
        a[j] = x + y;                                            // [0, 4q)
        a[j + t] = x - y + two_q;                                // (0, 4q)
      }
    }
  }
  for (uint32_t j = 0; j < tables.n(); ++j) {
    uint32_t x = a[j] >= two_q ? a[j] - two_q : a[j];
    a[j] = x >= q.value() ? x - q.value() : x;
  }
}

void NttForwardTiled(uint32_t* out, size_t tile_stride, uint32_t* a, const NttTables& tables,
                     const uint32_t** ahead) {
  NttForward(a, tables, ahead);
  const size_t n = tables.n();
  const size_t tile = n < kTile ? n : kTile;
  for (size_t i = 0; i < n; ++i) out[i / tile * tile_stride + i % tile] = a[i];
}

void NttInverse(uint32_t* a, const NttTables& tables, const uint32_t** /*ahead*/) {
  const Modulus& q = tables.modulus();
  const uint32_t two_q = 2 * q.value();
  const uint32_t* w = tables.inverse();
  const uint32_t* wq = tables.inverse_quotient();
  uint32_t t = 1;
  for (uint32_t m = tables.n() / 2; m > 1; m /= 2, t *= 2) {
    for (uint32_t i = 0; i < m; ++i) {
      const ShoupFactor root{w[m + i], wq[m + i]};
      for (uint32_t j = 2 * i * t; j < (2 * i + 1) * t; ++j) {
        const uint32_t x = a[j], y = a[j + t];  // [0, 2q)
        a[j] = x + y >= two_q ? x + y - two_q : x + y;
        a[j + t] = q.MultiplyLazy(x - y + two_q, root);
      }
    }
  }
  for (uint32_t j = 0; j < t; ++j) {  // the last stage carries n^-1
    const uint32_t x = a[j], y = a[j + t];
    a[j] = q.Multiply(x + y, tables.n_inverse());
    a[j + t] = q.Multiply(x - y + two_q, tables.n_inverse_root());
  }
}

void Add(uint32_t* out, const uint32_t* a, const uint32_t* b, size_t n, const Modulus& q) {
  for (size_t i = 0; i < n; ++i) out[i] = q.Add(a[i], b[i]);
}

void Subtract(uint32_t* out, const uint32_t* a, const uint32_t* b, size_t n, const Modulus& q) {
  for (size_t i = 0; i < n; ++i) out[i] = q.Sub(a[i], b[i]);
}

void Negate(uint32_t* out, const uint32_t* a, size_t n, const Modulus& q) {
  for (size_t i = 0; i < n; ++i) out[i] = q.Negate(a[i]);
}

void Multiply(uint32_t* out, const uint32_t* a, const uint32_t* b, size_t n, const Modulus& q) {
  for (size_t i = 0; i < n; ++i) out[i] = q.Multiply(a[i], b[i]);
}

void MultiplyScalar(uint32_t* out, const uint32_t* a, ShoupFactor w, size_t n, const Modulus& q) {
  for (size_t i = 0; i < n; ++i) out[i] = q.Multiply(a[i], w);
}

void SubtractMultiplyScalar(uint32_t* out, const uint32_t* a, const uint32_t* b, ShoupFactor w,
                            size_t n, const Modulus& q) {
  for (size_t i = 0; i < n; ++i) out[i] = q.Multiply(q.Sub(a[i], b[i]), w);
}

void AddMultiplyScalar(uint32_t* out, const uint32_t* a, ShoupFactor w, size_t n,
                       const Modulus& q) {
  for (size_t i = 0; i < n; ++i) out[i] = q.Add(out[i], q.Multiply(a[i], w));
}

void InnerProduct(uint32_t* out, const uint32_t* const* a, const uint32_t* const* b, size_t count,
                  size_t n, const Modulus& q) {
  for (size_t i = 0; i < n; ++i) {
    uint32_t sum = 0;
    for (size_t k = 0; k < count; ++k) sum = q.Add(sum, q.Multiply(a[k][i], b[k][i]));
    out[i] = sum;
  }
}

void Lift(uint32_t* out, const uint32_t* a, const LiftConstants& constants, size_t n,
          const Modulus& to) {
  for (size_t i = 0; i < n; ++i) {
    // By mask: residues may be secret, and compilers turned a condition here into a branch.
    const uint32_t upper = 0 - static_cast<uint32_t>(a[i] > constants.half);
    out[i] = to.Reduce(a[i] + (constants.correction & upper));
  }
}

void LiftSum(uint32_t* out, const uint32_t* a, const LiftConstants& a_constants, const uint32_t* b,
             const LiftConstants& b_constants, ShoupFactor w, size_t n, const Modulus& to) {
  AlignedVector<uint32_t> lifted(n);
  Lift(lifted.data(), b, b_constants, n, to);
  Lift(out, a, a_constants, n, to);
  for (size_t i = 0; i < n; ++i) out[i] = to.Add(out[i], to.Multiply(lifted[i], w));
}

void RoundScaled(uint32_t* out, const float* a, float factor, size_t n, const Modulus& q) {
  for (size_t i = 0; i < n; ++i) {
    const auto integer = static_cast<int32_t>(std::nearbyint(a[i] * factor));
    out[i] = static_cast<uint32_t>(integer) + (integer < 0 ? q.value() : 0);
  }
}

void SwitchProducts(uint32_t* out0, uint32_t* out1, const uint32_t* digits, const uint32_t* key,
                    size_t key_digits, size_t count, size_t n, const Modulus& q) {
  const size_t tile = n < kTile ? n : kTile;
  const ShoupFactor factor = q.Shoup(q.Inverse(q.two32().value));
  for (size_t i = 0; i < n; ++i) {
    const uint32_t* d = digits + i / tile * count * tile + i % tile;
    const uint32_t* k = key + i / tile * key_digits * 2 * tile + i % tile;
    uint32_t s0 = 0, s1 = 0;
    for (size_t j = 0; j < count; ++j) {
      s0 = q.Add(s0, q.Multiply(d[j * tile], k[2 * j * tile]));
      s1 = q.Add(s1, q.Multiply(d[j * tile], k[(2 * j + 1) * tile]));
    }
    out0[i] = q.Multiply(s0, factor);
    out1[i] = q.Multiply(s1, factor);
  }
}

void Permute(uint32_t* out, const uint32_t* in, const Permutation& p, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = in[p[i]];
}

void QuotientTiled(uint32_t* out, size_t tile_stride, const uint32_t* const* sums,
                   const uint32_t* const* rests, const uint32_t* own, ShoupFactor w,
                   const Permutation& p, size_t n, const Modulus& q) {
  const size_t tile = n < kTile ? n : kTile;
  for (size_t j = 0; j < n; ++j) {
    uint32_t* to = out + j / tile * tile_stride + j % tile;
    const uint32_t i = p[j];
    to[0] = q.Multiply(q.Add(q.Add(sums[0][i], q.Negate(rests[0][i])), own[i]), w.value);
    to[tile] = q.Multiply(q.Add(sums[1][i], q.Negate(rests[1][i])), w.value);
  }
}

void PermuteAdd(uint32_t* out, const uint32_t* in, const Permutation& p, size_t n,
                const Modulus& q) {
  for (size_t i = 0; i < n; ++i) out[i] = q.Add(out[i], in[p[i]]);
}

void MatchOne(uint32_t* c0, uint32_t* c1, uint32_t* c2, const uint32_t* probe, size_t probe_stride,
              const uint32_t* gallery, size_t gallery_stride, size_t count, size_t n,
              const Modulus& q) {
  for (size_t i = 0; i < n; ++i) {
    const uint32_t* p = probe + i / kTile * probe_stride + i % kTile;
    const uint32_t* g = gallery + i / kTile * gallery_stride + i % kTile;
    uint32_t s0 = 0, s1 = 0, s2 = 0;
    for (size_t k = 0; k < count; ++k, p += 2 * kTile, g += 2 * kTile) {
      const uint32_t p0 = p[0], p1 = p[kTile];
      const uint32_t g0 = g[0], g1 = g[kTile];
      s0 = q.Add(s0, q.Multiply(p0, g0));
      s1 = q.Add(s1, q.Add(q.Multiply(p0, g1), q.Multiply(p1, g0)));
      s2 = q.Add(s2, q.Multiply(p1, g1));
    }
    c0[i] = s0;
    c1[i] = s1;
    c2[i] = s2;
  }
}

void Match(uint32_t* const* out, const uint32_t* probe, size_t probe_stride,
           const uint32_t* const* galleries, size_t gallery_stride, size_t gallery_count,
           size_t count, size_t n, const Modulus& q) {
  for (size_t g = 0; g < gallery_count; ++g) {
    MatchOne(out[3 * g], out[3 * g + 1], out[3 * g + 2], probe, probe_stride, galleries[g],
             gallery_stride, count, n, q);
  }
}

void MatchTile(uint32_t* out, size_t stride, const uint32_t* probes, size_t probe_count,
               const uint32_t* const* galleries, size_t gallery_count, uint32_t*, size_t count,
               const Modulus& q) {
  const size_t size = count * 2 * kTile;
  for (size_t g = 0; g < gallery_count; ++g) {
    for (size_t p = 0; p < probe_count; ++p, out += 3 * stride) {
      MatchOne(out, out + stride, out + 2 * stride, probes + p * size, size, galleries[g], size,
               count, kTile, q);
    }
  }
}

void ScalarSums(uint32_t* const* out, const uint32_t* const* in, const int32_t* weights,
                size_t rows, size_t count, size_t n, const Modulus& q) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t d = 0; d < count; ++d) {
      const uint32_t w = q.ReduceSigned(weights[r * count + d]);
      for (size_t i = 0; i < n; ++i) out[r][i] = q.Add(out[r][i], q.Multiply(w, in[d][i]));
    }
  }
}

}  // namespace

const Kernels& ReferenceKernels() {
  static const Kernels kernels = HEFT_KERNEL_TABLE("reference");
  return kernels;
}

}  // namespace heft::ring
