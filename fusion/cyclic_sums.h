// SPDX-License-Identifier: Apache-2.0
// CyclicSums: sums of products of rows of residues over a cyclic index, for filling a block in bulk
// (docs/design.md, "Filling a block"). It uses transforms over the index: count log(count)
// operations on rows instead of count^2. Exact: the same residues.
#ifndef HEFT_FUSION_CYCLIC_SUMS_H_
#define HEFT_FUSION_CYCLIC_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned.h"
#include "ring/modulus.h"
#include "ring/ntt.h"

namespace heft::internal {

class CyclicSums {
 public:
  // Sets have `count` rows, a power of two that divides 2n. Rows have `width` values, at least
  // ring::kTile. `tables` are those of the residues' prime.
  CyclicSums(const ring::NttTables& tables, size_t count, size_t width);

  // SetLeft: the sets of left factors, count rows each, one set after another. In [0, q).
  void SetLeft(std::span<const uint32_t* const> rows);
  // Sum: out[k] = sum over sets and over e < count of left[e] * right[(e + k) mod count], value by
  // value; as many sets as on the left. In and out [0, q); `out` is none of the inputs.
  void Sum(std::span<uint32_t* const> out, std::span<const uint32_t* const> right);

 private:
  using Powers = std::vector<ring::ShoupFactor>;
  // Copies of rows in this object's memory.
  std::vector<uint32_t*> Copy(std::span<const uint32_t* const> rows, uint32_t* memory) const;
  // Scatter: the transform by `powers` of `count` rows, which are in bit-reversed order afterwards.
  // Gather: the inverse transform by the inverse powers, times count.
  void Scatter(std::span<uint32_t*> rows, const Powers& powers);
  void Gather(std::span<uint32_t*> rows, const Powers& powers);

  ring::Modulus q_;
  size_t count_, width_;
  Powers forward_, inverse_;
  AlignedVector<uint32_t> left_memory_, right_memory_, spare_memory_;
  std::vector<uint32_t*> left_;
  uint32_t* spare_ = nullptr;  // a row that no other pointer names
};

}  // namespace heft::internal

#endif  // HEFT_FUSION_CYCLIC_SUMS_H_
