// SPDX-License-Identifier: Apache-2.0
// FeatureMatrix: feature vectors, one row a sample.
#ifndef HEFT_FEATURES_MATRIX_H_
#define HEFT_FEATURES_MATRIX_H_

#include <Eigen/Core>
#include <string_view>

#include "base/status.h"

namespace heft {

using FeatureMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// kInvalidArgument with row and column (both from 0) of the first NaN or infinity, or if the matrix
// is empty; `what` names it ("face.npy").
absl::Status CheckFinite(const FeatureMatrix& matrix, std::string_view what);

// VectorNorm: the norm by which feature vectors are scaled before fusion. The paper's is l2, and
// its first footnote allows the others.
enum class VectorNorm { kL2, kL1, kMax };

// NormaliseRows: divides every row by its norm, in place. kInvalidArgument, and nothing changed, if
// a row is zero or its norm is not finite.
absl::Status NormaliseRows(FeatureMatrix& matrix, VectorNorm norm = VectorNorm::kL2,
                           std::string_view what = "features");

}  // namespace heft

#endif  // HEFT_FEATURES_MATRIX_H_
