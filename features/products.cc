// SPDX-License-Identifier: Apache-2.0
#include "features/products.h"

// Those between SSE4 and AVX2 and beyond AVX-512 cost compile time only. Vectors of unknown length
// cannot be members of an array.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "features/products.cc"
#include <algorithm>
#include <vector>

#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heft::internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Doubles = hn::ScalableTag<double>;

// AddRows: `kRows` rows of the product with a panel of two vectors' columns, which is
// [depth][columns of the panel].
template <size_t kRows>
void AddRows(const double* left, const double* panel, size_t depth, double* out, size_t stride) {
  const Doubles d;
  const size_t lanes = hn::Lanes(d);
  hn::Vec<Doubles> sums[kRows][2];
  for (auto& row : sums) row[0] = row[1] = hn::Zero(d);
  for (size_t k = 0; k < depth; ++k) {
    const auto a = hn::LoadU(d, panel + 2 * lanes * k);
    const auto b = hn::LoadU(d, panel + 2 * lanes * k + lanes);
    for (size_t r = 0; r < kRows; ++r) {
      const auto factor = hn::Set(d, left[r * depth + k]);
      sums[r][0] = hn::Add(sums[r][0], hn::Mul(factor, a));
      sums[r][1] = hn::Add(sums[r][1], hn::Mul(factor, b));
    }
  }
  for (size_t r = 0; r < kRows; ++r) {
    hn::StoreU(sums[r][0], d, out + r * stride);
    hn::StoreU(sums[r][1], d, out + r * stride + lanes);
  }
}

void Product(const double* left, size_t rows, const double* right, size_t columns, size_t depth,
             double* out) {
  const size_t width = 2 * hn::Lanes(Doubles());
  std::vector<double> panel(depth * width), piece(4 * width);
  for (size_t first = 0; first < columns; first += width) {
    const size_t count = std::min(width, columns - first);
    for (size_t k = 0; k < depth; ++k) {
      for (size_t j = 0; j < count; ++j) panel[k * width + j] = right[(first + j) * depth + k];
    }
    for (size_t i = 0; i < rows; i += 4) {
      const size_t some = std::min<size_t>(4, rows - i);
      const bool whole = count == width;
      double* const to = whole ? out + i * columns + first : piece.data();
      const size_t stride = whole ? columns : width;
      const double* const from = left + i * depth;
      if (some == 4) AddRows<4>(from, panel.data(), depth, to, stride);
      if (some == 3) AddRows<3>(from, panel.data(), depth, to, stride);
      if (some == 2) AddRows<2>(from, panel.data(), depth, to, stride);
      if (some == 1) AddRows<1>(from, panel.data(), depth, to, stride);
      if (whole) continue;
      for (size_t r = 0; r < some; ++r) {
        std::copy_n(piece.data() + r * width, count, out + (i + r) * columns + first);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heft::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace heft::internal {

HWY_EXPORT(Product);

void ProductOfRows(const double* left, size_t rows, const double* right, size_t columns,
                   size_t depth, double* out) {
  HWY_DYNAMIC_DISPATCH(Product)(left, rows, right, columns, depth, out);
}

}  // namespace heft::internal

#endif
