// SPDX-License-Identifier: Apache-2.0
// Feature files: numpy's .npy and rows of text. Files are hostile until read: sizes are checked
// against the bytes that are there before memory is taken, and NaN, infinities, empty files and
// rows of unequal length are refused with row and column.
//
// Errors: kNotFound and kUnavailable from the file system, kDataLoss for bytes that are not what
// they claim to be, kInvalidArgument for good files with content that we cannot use.
#ifndef HEFT_FEATURES_READERS_H_
#define HEFT_FEATURES_READERS_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "features/matrix.h"
#include "heft/dataset.h"

namespace heft {

// ReadNpy: .npy of format version 1, 2 or 3 with little-endian float32 or float64 in C order, one
// dimension (one row) or two (rows x columns). Format: numpy.lib.format's documentation.
absl::StatusOr<FeatureMatrix> ReadNpy(const std::string& path);
absl::StatusOr<FeatureMatrix> ParseNpy(ByteSpan bytes, std::string_view what);

// WriteNpy: float32, C order, version 1.0. Written atomically.
absl::Status WriteNpy(const std::string& path, const FeatureMatrix& matrix);
std::vector<uint8_t> FormatNpy(const FeatureMatrix& matrix);

// ReadTextRows: numbers apart by white space, or by one comma or semicolon; empty fields (two
// commas, one at an end of a line, two tabs) are refused. Without brackets every line that is not
// blank is a row; with brackets a row is what stands between an innermost '[' and its ']', on one
// line or several, as numpy prints arrays. Lines that start with '#' are comments. A byte order
// mark of UTF-8 is passed over, here and in front of labels.
absl::StatusOr<FeatureMatrix> ReadTextRows(const std::string& path);
absl::StatusOr<FeatureMatrix> ParseTextRows(std::string_view text, std::string_view what);

// BeginsAsRows: whether the first thing in a text file, after blanks and comments, is a number or a
// bracket. Also true for a file that is empty or cannot be read: ReadTextRows reports that error.
bool BeginsAsRows(const std::string& path);

// ReadFeatures: .npy by its magic bytes, text otherwise (a file named .npy must be one).
absl::StatusOr<FeatureMatrix> ReadFeatures(const std::string& path);

// ParseLabels: what ReadLabels (heft/dataset.h) takes.
absl::StatusOr<std::vector<std::string>> ParseLabels(std::string_view text, std::string_view what);

}  // namespace heft

#endif  // HEFT_FEATURES_READERS_H_
