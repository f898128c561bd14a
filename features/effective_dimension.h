// SPDX-License-Identifier: Apache-2.0
// How many directions templates really use.
#ifndef HEFT_FEATURES_EFFECTIVE_DIMENSION_H_
#define HEFT_FEATURES_EFFECTIVE_DIMENSION_H_

#include "base/status.h"
#include "features/matrix.h"

namespace heft {

// EffectiveDimension: the participation ratio (sum of l_k)^2 / sum of l_k^2 of the eigenvalues l_k
// of the second-moment matrix of `unit_rows` (n x d, unit length) about their mean. From 1 (all on
// one line) to min(d, n - 1) (all directions alike). kInvalidArgument for fewer than two rows, or
// rows that are all equal.
absl::StatusOr<double> EffectiveDimension(const FeatureMatrix& unit_rows);

}  // namespace heft

#endif  // HEFT_FEATURES_EFFECTIVE_DIMENSION_H_
