// SPDX-License-Identifier: Apache-2.0
#include "ring/ntt.h"

#include <bit>
#include <vector>

#include "base/check.h"
#include "ring/ahead.h"
#include "ring/kernels.h"

namespace heft::ring {
namespace {
constexpr uint32_t kPadding = 16;  // lanes of the widest vector
}  // namespace

uint32_t ReverseBits(uint32_t value, int bits) {
  uint32_t reversed = 0;
  for (int i = 0; i < bits; ++i) reversed |= ((value >> i) & 1) << (bits - 1 - i);
  return reversed;
}

NttTables::NttTables(const Modulus& modulus, uint32_t n)
    : modulus_(modulus), n_(n), root_(MinimalPrimitiveRoot(modulus, n)) {
  HEFT_DCHECK(std::has_single_bit(n) && n >= 4, "n is a power of two, at least 4");
  HEFT_DCHECK(modulus.value() % (2 * n) == 1, "the prime has 2n-th roots of unity");
  const int log_n = std::countr_zero(n);
  for (auto* table : {&forward_, &forward_quotient_, &inverse_, &inverse_quotient_}) {
    table->assign(n + kPadding, 0);
  }
  const uint32_t inverse_root = modulus.Inverse(root_);
  uint32_t power = 1;
  uint32_t inverse_power = 1;
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t at = ReverseBits(i, log_n);
    const ShoupFactor f = modulus.Shoup(power);
    const ShoupFactor b = modulus.Shoup(inverse_power);
    forward_[at] = f.value;
    forward_quotient_[at] = f.quotient;
    inverse_[at] = b.value;
    inverse_quotient_[at] = b.quotient;
    power = modulus.Multiply(power, root_);
    inverse_power = modulus.Multiply(inverse_power, inverse_root);
  }
  const uint32_t n_inverse = modulus.Inverse(n % modulus.value());
  n_inverse_ = modulus.Shoup(n_inverse);
  n_inverse_root_ = modulus.Shoup(modulus.Multiply(n_inverse, inverse_[1]));
}

void NttTables::Forward(std::span<uint32_t> a) const {
  HEFT_DCHECK(a.size() == n_, "a transform of n values");
  ActiveKernels().ntt_forward(a.data(), *this, Ahead::Cursor());
}

void NttTables::ForwardTiled(uint32_t* out, size_t tile_stride, std::span<uint32_t> a) const {
  HEFT_DCHECK(a.size() == n_, "a transform of n values");
  ActiveKernels().ntt_forward_tiled(out, tile_stride, a.data(), *this, Ahead::Cursor());
}

void NttTables::Inverse(std::span<uint32_t> a) const {
  HEFT_DCHECK(a.size() == n_, "a transform of n values");
  ActiveKernels().ntt_inverse(a.data(), *this, Ahead::Cursor());
}

Permutation GaloisPermutation(uint32_t n, uint32_t element) {
  HEFT_DCHECK(element % 2 == 1 && element < 2 * n, "a Galois element is odd and below 2n");
  // Every new process creates tables for its keys: a table of reversals makes that fast.
  const int log_n = std::countr_zero(n);
  std::vector<uint32_t> reversed(n, 0);
  for (uint32_t j = 1; j < n; ++j) reversed[j] = reversed[j / 2] / 2 | (j % 2) << (log_n - 1);
  Permutation table(n);
  for (uint32_t j = 0; j < n; ++j) {
    const uint64_t exponent = static_cast<uint64_t>(element) * (2 * reversed[j] + 1);
    table[j] = reversed[(exponent >> 1) & (n - 1)];
  }
  return table;
}

}  // namespace heft::ring
