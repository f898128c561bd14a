// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "features/readers.h"

namespace heft {
namespace {

bool IsSeparator(char c) { return c == ' ' || c == '\t' || c == '\r' || c == ',' || c == ';'; }

// Collects rows of numbers and refuses what cannot be one.
class RowCollector {
 public:
  explicit RowCollector(std::string what) : what_(std::move(what)) {}

  // `token` is not empty and holds no separator.
  absl::Status Number(std::string_view token) {
    const char* begin = token.data();
    const char* end = begin + token.size();
    if (*begin == '+') ++begin;
    double value = 0;
    const auto [next, error] = std::from_chars(begin, end, value);
    const std::size_t column = values_.size() - row_start_;
    if (next != end || (error != std::errc() && error != std::errc::result_out_of_range)) {
      return Bad(absl::StrCat("'", std::string(token.substr(0, 40)), "' is not a number"), column);
    }
    if (error != std::errc()) value = OutOfRange(token);
    if (!std::isfinite(value)) {
      return Bad(std::isnan(value) ? "NaN" : "infinity", column);
    }
    values_.push_back(value);
    return absl::OkStatus();
  }

  // Ends a row; one without numbers is passed over.
  absl::Status EndRow() {
    const std::size_t columns = values_.size() - row_start_;
    if (columns == 0) return absl::OkStatus();
    if (rows_ == 0) columns_ = columns;
    if (columns != columns_) {
      return absl::InvalidArgumentError(absl::StrCat(what_, ": row ", rows_, " (from 0) has ",
                                                     columns, " numbers, the rows before it ",
                                                     columns_));
    }
    ++rows_;
    row_start_ = values_.size();
    return absl::OkStatus();
  }

  absl::StatusOr<FeatureMatrix> Finish() const {
    if (rows_ == 0) return absl::InvalidArgumentError(absl::StrCat(what_, ": holds no numbers"));
    return FeatureMatrix(Eigen::Map<const FeatureMatrix>(values_.data(), rows_, columns_));
  }

 private:
  // from_chars tells overflow from underflow only by the text: a negative exponent is tiny.
  static double OutOfRange(std::string_view token) {
    return token.find("e-") != std::string_view::npos || token.find("E-") != std::string_view::npos
               ? 0.0
               : INFINITY;
  }
  absl::Status Bad(std::string_view why, std::size_t column) const {
    return absl::InvalidArgumentError(absl::StrCat(what_, ": ", std::string(why), " in row ", rows_,
                                                   ", column ", column, " (from 0)"));
  }

  std::string what_;
  std::vector<double> values_;
  std::size_t rows_ = 0, columns_ = 0, row_start_ = 0;
};

// The text without its comment lines.
std::string DropComments(std::string_view text) {
  std::string kept;
  kept.reserve(text.size());
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.size(), text.find('\n')) + 1);
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos || line[first] != '#') kept.append(line);
    text.remove_prefix(line.size());
  }
  return kept;
}

std::string_view Strip(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

// "[1, 'b', ...]": the labels between the brackets.
absl::StatusOr<std::vector<std::string>> LabelList(std::string_view text, std::string_view what) {
  const std::size_t close = text.find(']');
  if (close == text.npos || text.find_first_not_of(" \t\r\n", close + 1) != text.npos ||
      text.find('[', 1) != text.npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        std::string(what), ": a list of labels is one pair of brackets; the file may be cut off"));
  }
  std::vector<std::string> labels;
  std::string list(text.substr(1, close - 1));
  std::replace(list.begin(), list.end(), '\n', ' ');
  for (std::string_view rest = list; labels.empty() || !rest.empty();) {
    const std::size_t comma = std::min(rest.size(), rest.find(','));
    std::string_view label = Strip(rest.substr(0, comma));
    if (label.size() >= 2 && (label[0] == '\'' || label[0] == '"') && label.back() == label[0]) {
      label = label.substr(1, label.size() - 2);
    }
    if (label.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(std::string(what), ": label ", labels.size(),
                                                     " (from 0) of the list is empty"));
    }
    labels.emplace_back(label);
    rest.remove_prefix(std::min(rest.size(), comma + 1));
  }
  return labels;
}

}  // namespace

absl::StatusOr<FeatureMatrix> ParseTextRows(std::string_view raw, std::string_view what) {
  if (raw.empty()) {
    return absl::DataLossError(absl::StrCat(std::string(what), ": the file is empty"));
  }
  const std::string text = DropComments(raw);
  const bool bracketed = text.find('[') != std::string::npos;
  RowCollector rows{std::string(what)};
  int depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '[' || c == ']') {
      depth += c == '[' ? 1 : -1;
      if (depth < 0 || depth > 2) {
        return absl::InvalidArgumentError(
            absl::StrCat(std::string(what), ": brackets do not pair up at byte ", at));
      }
      HEFT_RETURN_IF_ERROR(rows.EndRow());
      ++at;
    } else if (c == '\n') {
      if (!bracketed) HEFT_RETURN_IF_ERROR(rows.EndRow());
      ++at;
    } else if (IsSeparator(c)) {
      ++at;
    } else {
      const std::size_t end = std::min(text.size(), text.find_first_of(" \t\r\n,;[]", at));
      HEFT_RETURN_IF_ERROR(rows.Number(std::string_view(text).substr(at, end - at)));
      at = end;
    }
  }
  if (depth != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(what), ": a bracket is open at the end, the file may be cut off"));
  }
  HEFT_RETURN_IF_ERROR(rows.EndRow());
  return rows.Finish();
}

absl::StatusOr<FeatureMatrix> ReadTextRows(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  return ParseTextRows(text, path);
}

absl::StatusOr<FeatureMatrix> ReadFeatures(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path));
  const bool named_npy = path.size() >= 4 && path.substr(path.size() - 4) == ".npy";
  const bool has_magic = bytes.size() >= 6 && std::memcmp(bytes.data(), "\x93NUMPY", 6) == 0;
  if (named_npy || has_magic) return ParseNpy(bytes, path);
  return ParseTextRows({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

absl::StatusOr<std::vector<std::string>> ParseLabels(std::string_view text, std::string_view what) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != text.npos && text[first] == '[') return LabelList(text.substr(first), what);
  std::vector<std::string> labels;
  std::size_t line_number = 0, first_blank = 0;
  for (std::size_t at = 0; at < text.size(); ++line_number) {
    const std::size_t end = std::min(text.size(), text.find('\n', at));
    const std::string_view line = Strip(text.substr(at, end - at));
    at = end + 1;
    if (line.empty()) {
      if (first_blank == 0) first_blank = line_number + 1;
      continue;
    }
    if (first_blank != 0) {
      return absl::InvalidArgumentError(absl::StrCat(std::string(what), ": line ", first_blank,
                                                     " is blank, every row needs a label"));
    }
    labels.emplace_back(line);
  }
  if (labels.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(what), ": holds no labels"));
  }
  return labels;
}

absl::StatusOr<std::vector<std::string>> ReadLabels(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  return ParseLabels(text, path);
}

}  // namespace heft
