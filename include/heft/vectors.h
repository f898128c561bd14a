// SPDX-License-Identifier: Apache-2.0
// Reads feature vectors and labels from files: numpy's .npy and rows of text (docs/data.md). Link
// heft::heft.
#ifndef HEFT_VECTORS_H_
#define HEFT_VECTORS_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/export.h"

namespace heft {

// FeatureRows: vectors of one modality, one row each.
struct FeatureRows {
  size_t dimension = 0;
  std::vector<float> values;  // row by row

  size_t size() const { return dimension == 0 ? 0 : values.size() / dimension; }
  std::span<const float> row(size_t i) const {
    return std::span(values).subspan(i * dimension, dimension);
  }
};

// ReadVectors: .npy by its magic bytes (float32 or float64), otherwise text: numbers separated by
// white space or commas, with a row on each line or in each pair of brackets. kDataLoss for damaged
// bytes and an empty file; kInvalidArgument, with row and column, for NaN, infinity, values beyond
// float's range and rows of unequal length; kNotFound, kUnavailable.
HEFT_EXPORT absl::StatusOr<FeatureRows> ReadVectors(const std::string& path);

// ReadLabels: one label on each line without surrounding white space; blank lines only at the end.
// Or one list in brackets, separated by commas, as Python prints it: quotes around labels are
// removed. kInvalidArgument, with file and row, for an invalid identity.
HEFT_EXPORT absl::StatusOr<std::vector<std::string>> ReadLabels(const std::string& path);

}  // namespace heft

#endif  // HEFT_VECTORS_H_
