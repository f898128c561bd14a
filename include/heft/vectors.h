// SPDX-License-Identifier: Apache-2.0
// Feature vectors and labels from files: numpy's .npy and rows of text (docs/data.md). Link
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

// FeatureRows: vectors of one modality, a row each.
struct FeatureRows {
  size_t dimension = 0;
  std::vector<float> values;  // row by row

  size_t size() const { return dimension == 0 ? 0 : values.size() / dimension; }
  std::span<const float> row(size_t i) const {
    return std::span(values).subspan(i * dimension, dimension);
  }
};

// ReadVectors: .npy by its magic bytes (float32 or float64), text otherwise: numbers apart by white
// space or commas, a line or a pair of brackets a row. kDataLoss for bytes that are not what they
// claim to be and for an empty file; kInvalidArgument, with row and column, for NaN, infinity,
// values beyond float's range and rows of unequal length; kNotFound, kUnavailable.
HEFT_EXPORT absl::StatusOr<FeatureRows> ReadVectors(const std::string& path);

// ReadLabels: one label a line, white space around it dropped; blank lines only at the end. Or one
// list in brackets, labels apart by commas, as Python prints it: quotes around a label are dropped.
// kInvalidArgument, with file and row, for what cannot be an identity.
HEFT_EXPORT absl::StatusOr<std::vector<std::string>> ReadLabels(const std::string& path);

}  // namespace heft

#endif  // HEFT_VECTORS_H_
