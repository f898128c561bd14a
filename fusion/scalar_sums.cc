// SPDX-License-Identifier: Apache-2.0
#include "fusion/scalar_sums.h"

#include <algorithm>
#include <vector>

#include "base/threads.h"
#include "ckks/operation_counts.h"
#include "ring/kernels.h"

namespace heft::internal {

void AddScalarSums(const ckks::Context& context, std::span<ckks::Ciphertext> sums,
                   std::span<const ckks::Ciphertext> columns, const int64_t* weights,
                   size_t stride) {
  if (sums.empty() || columns.empty()) return;
  const size_t n = context.n(), rows = sums.size(), count = columns.size();
  const size_t limbs = sums[0].limbs();
  // The weights modulo each prime, [limb][rows][count]: the residues with the least absolute value,
  // which for most weights are the weights themselves.
  std::vector<std::vector<int32_t>> residues(limbs);
  ParallelFor(limbs, [&](size_t l) {
    const ring::Modulus& q = context.modulus(l);
    residues[l].reserve(rows * count);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t d = 0; d < count; ++d) {
        const auto residue = static_cast<int32_t>(q.ReduceSigned(weights[r * stride + d]));
        const auto whole = static_cast<int32_t>(q.value());
        residues[l].push_back(residue > whole / 2 ? residue - whole : residue);
      }
    }
  });
  // Enough tasks for any number of threads, each long enough for whole pages of every input.
  const size_t piece = std::min<size_t>(n, 2048), pieces = n / piece;
  ParallelFor(limbs * 2 * pieces, [&](size_t task) {
    const size_t l = task / (2 * pieces), p = task / pieces % 2, at = task % pieces * piece;
    std::vector<uint32_t*> out;
    std::vector<const uint32_t*> in;
    for (ckks::Ciphertext& sum : sums) out.push_back(sum.parts[p].limb(l).data() + at);
    for (const ckks::Ciphertext& c : columns) in.push_back(c.parts[p].limb(l).data() + at);
    ring::ActiveKernels().scalar_sums(out.data(), in.data(), residues[l].data(), rows, count, piece,
                                      context.modulus(l));
  });
  for (size_t r = 0; r < rows; ++r) {
    double& error = sums[r].noise.error;
    for (size_t d = 0; d < count; ++d) {
      error = ckks::Combine(error, weights[r * stride + d] * columns[d].noise.error);
    }
  }
  ckks::CountOperations({.additions = rows * count, .plain_products = rows * count});
}

}  // namespace heft::internal
