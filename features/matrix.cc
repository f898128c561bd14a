// SPDX-License-Identifier: Apache-2.0
#include "features/matrix.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"

namespace heft {

absl::Status CheckFinite(const FeatureMatrix& matrix, std::string_view what) {
  if (matrix.size() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(what), ": holds no numbers"));
  }
  for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
    if (matrix.row(row).allFinite()) continue;
    for (Eigen::Index column = 0; column < matrix.cols(); ++column) {
      if (std::isfinite(matrix(row, column))) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          std::string(what), ": ", std::isnan(matrix(row, column)) ? "NaN" : "infinity", " in row ",
          row, ", column ", column, " (from 0); remove the row or compute it again"));
    }
  }
  return absl::OkStatus();
}

absl::Status NormaliseRows(FeatureMatrix& matrix, VectorNorm norm, std::string_view what) {
  Eigen::VectorXd norms;
  if (norm == VectorNorm::kL2) norms = matrix.rowwise().stableNorm();
  if (norm == VectorNorm::kL1) norms = matrix.rowwise().lpNorm<1>();
  if (norm == VectorNorm::kMax) norms = matrix.rowwise().lpNorm<Eigen::Infinity>();
  for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
    if (norms[row] > 0 && std::isfinite(norms[row])) continue;
    return absl::InvalidArgumentError(absl::StrCat(std::string(what), ": row ", row,
                                                   " (from 0) has norm ", norms[row],
                                                   ", it cannot be scaled to unit length"));
  }
  matrix.array().colwise() /= norms.array();
  return absl::OkStatus();
}

}  // namespace heft
