// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "absl/strings/str_cat.h"
#include "features/readers.h"
#include "heft/dataset.h"

namespace heft {

absl::StatusOr<FeatureRows> ReadVectors(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix matrix, ReadFeatures(path));
  FeatureRows rows;
  rows.dimension = matrix.cols();
  rows.values.reserve(matrix.size());
  for (Eigen::Index i = 0; i < matrix.size(); ++i) {
    rows.values.push_back(static_cast<float>(matrix.data()[i]));
    if (std::isfinite(rows.values.back())) continue;
    return absl::InvalidArgumentError(absl::StrCat(path, ": row ", i / matrix.cols(), ", column ",
                                                   i % matrix.cols(),
                                                   " (from 0): too large a number"));
  }
  return rows;
}

}  // namespace heft
