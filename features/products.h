// SPDX-License-Identifier: Apache-2.0
// Products of matrices in vector instructions that give the same bits on every processor.
#ifndef HEFT_FEATURES_PRODUCTS_H_
#define HEFT_FEATURES_PRODUCTS_H_

#include <cstddef>

#include "base/check.h"
#include "features/matrix.h"

namespace heft::internal {

// ProductOfRows: out[i * columns + j] = the sum over k < depth of left[i * depth + k] *
// right[j * depth + k], for i < rows and j < columns. Products are added in the order of k and
// rounded one by one, without fused operations: neither the length of the vectors nor the size of
// the caches changes a bit. `out` overlaps with none of the inputs.
void ProductOfRows(const double* left, size_t rows, const double* right, size_t columns,
                   size_t depth, double* out);

// TimesTransposed: left * right', by it.
inline FeatureMatrix TimesTransposed(const FeatureMatrix& left, const FeatureMatrix& right) {
  HEFT_DCHECK(left.cols() == right.cols(), "rows of different lengths have no product");
  FeatureMatrix out(left.rows(), right.rows());
  ProductOfRows(left.data(), static_cast<size_t>(left.rows()), right.data(),
                static_cast<size_t>(right.rows()), static_cast<size_t>(left.cols()), out.data());
  return out;
}

}  // namespace heft::internal

#endif  // HEFT_FEATURES_PRODUCTS_H_
