// SPDX-License-Identifier: Apache-2.0
#include "features/effective_dimension.h"

namespace heft {

absl::StatusOr<double> EffectiveDimension(const FeatureMatrix& unit_rows) {
  if (unit_rows.rows() < 2) {
    return absl::InvalidArgumentError("an effective dimension needs two templates or more");
  }
  const FeatureMatrix centred = unit_rows.rowwise() - unit_rows.colwise().mean();
  // X'X and XX' have the same eigenvalues, but for zeros: the smaller one will do. The sum of
  // squared eigenvalues is that of squared entries.
  const bool wide = centred.cols() > centred.rows();
  const Eigen::MatrixXd moments = wide ? Eigen::MatrixXd(centred * centred.transpose())
                                       : Eigen::MatrixXd(centred.transpose() * centred);
  const double sum = moments.trace(), squares = moments.squaredNorm();
  if (!(sum > 1e-24 * static_cast<double>(unit_rows.rows()))) {
    return absl::InvalidArgumentError("all templates are equal: they have no dimension");
  }
  return sum * sum / squares;
}

}  // namespace heft
