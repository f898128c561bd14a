// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>

#include "absl/strings/charconv.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/identity.h"
#include "features/readers.h"

namespace heft {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// WithoutByteOrderMark: editors put one in front of UTF-8.
std::string_view WithoutByteOrderMark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text.substr(0, kMark.size()) == kMark) text.remove_prefix(kMark.size());
  return text;
}

// ParseNumber: the whole token as a number, infinities and NaN included; nothing if it is none.
std::optional<double> ParseNumber(std::string_view token) {
  if (token.size() >= 2 && token[0] == '+' && token[1] != '-') token.remove_prefix(1);
  const char* const end = token.data() + token.size();
  double value = 0;
  const auto [next, error] = std::from_chars(token.data(), end, value);
  if (next != end || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc()) return value;
  // Too large or too small for a double, which std::from_chars does not tell apart.
  absl::from_chars(token.data(), end, value);
  return std::abs(value) > 1 ? std::copysign(INFINITY, value) : 0;
}

// Collects rows of numbers and refuses what cannot be one. Fields are apart by white space or by
// one comma or semicolon; what stands between two of those, or two tabs, and is empty would shift a
// row.
class RowCollector {
 public:
  explicit RowCollector(std::string what) : what_(std::move(what)) {}

  // `token` is not empty and holds no separator.
  absl::Status Number(std::string_view token) {
    const std::optional<double> value = ParseNumber(token);
    if (!value)
      return Bad(absl::StrCat("'", std::string(token.substr(0, 40)), "' is not a number"));
    if (!std::isfinite(*value)) return Bad(std::isnan(*value) ? "NaN" : "infinity");
    values_.push_back(*value);
    before_ = Before::kNumber;
    return absl::OkStatus();
  }

  // A comma or semicolon.
  absl::Status Separator() {
    if (before_ != Before::kNumber && before_ != Before::kRow) return Bad("an empty field");
    if (before_ == Before::kNumber) before_ = Before::kSeparator;
    return absl::OkStatus();
  }

  absl::Status TwoTabs() {
    return before_ == Before::kNumber ? Bad("an empty field") : absl::OkStatus();
  }

  // Ends a row; one without numbers is passed over. `closed`: by a bracket, after which a comma may
  // come.
  absl::Status EndRow(bool closed = false) {
    if (before_ == Before::kSeparator) return Bad("an empty field");
    before_ = closed ? Before::kRow : Before::kNothing;
    const size_t columns = values_.size() - row_start_;
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
  // What stands before the next field, in its row.
  enum class Before { kNothing, kNumber, kSeparator, kRow };

  absl::Status Bad(std::string_view why) const {
    return absl::InvalidArgumentError(absl::StrCat(what_, ": ", std::string(why), " in row ", rows_,
                                                   ", column ", values_.size() - row_start_,
                                                   " (from 0)"));
  }

  std::string what_;
  std::vector<double> values_;
  size_t rows_ = 0, columns_ = 0, row_start_ = 0;
  Before before_ = Before::kNothing;
};

// The text without its comment lines.
std::string DropComments(std::string_view text) {
  std::string kept;
  kept.reserve(text.size());
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.size(), text.find('\n')) + 1);
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos || line[first] != '#') kept.append(line);
    text.remove_prefix(line.size());
  }
  return kept;
}

std::string_view Strip(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

// "[1, 'b', ...]": the labels between the brackets.
absl::StatusOr<std::vector<std::string>> LabelList(std::string_view text, std::string_view what) {
  const size_t close = text.find(']');
  if (close == text.npos || text.find_first_not_of(" \t\r\n", close + 1) != text.npos ||
      text.find('[', 1) != text.npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        std::string(what), ": a list of labels is one pair of brackets; the file may be cut off"));
  }
  std::vector<std::string> labels;
  std::string list(text.substr(1, close - 1));
  std::replace(list.begin(), list.end(), '\n', ' ');
  for (std::string_view rest = list; labels.empty() || !rest.empty();) {
    const size_t comma = std::min(rest.size(), rest.find(','));
    std::string_view label = Strip(rest.substr(0, comma));
    if (label.size() >= 2 && (label[0] == '\'' || label[0] == '"') && label.back() == label[0]) {
      label = label.substr(1, label.size() - 2);
    }
    if (label.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(std::string(what), ": label ", labels.size(),
                                                     " (from 0) of the list is empty"));
    }
    HEFT_ASSIGN_OR_RETURN(std::string normal, NormalIdentityAt(label, what, labels.size()));
    labels.push_back(std::move(normal));
    rest.remove_prefix(std::min(rest.size(), comma + 1));
  }
  return labels;
}

}  // namespace

absl::StatusOr<FeatureMatrix> ParseTextRows(std::string_view raw, std::string_view what) {
  if (raw.empty()) {
    return absl::DataLossError(absl::StrCat(std::string(what), ": the file is empty"));
  }
  const std::string text = DropComments(WithoutByteOrderMark(raw));
  const bool bracketed = text.find('[') != std::string::npos;
  RowCollector rows{std::string(what)};
  int depth = 0;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '[' || c == ']') {
      depth += c == '[' ? 1 : -1;
      if (depth < 0 || depth > 2) {
        return absl::InvalidArgumentError(
            absl::StrCat(std::string(what), ": brackets do not pair up at byte ", at));
      }
      HEFT_RETURN_IF_ERROR(rows.EndRow(/*closed=*/c == ']'));
      ++at;
    } else if (c == '\n') {
      if (!bracketed) HEFT_RETURN_IF_ERROR(rows.EndRow());
      ++at;
    } else if (c == ',' || c == ';') {
      HEFT_RETURN_IF_ERROR(rows.Separator());
      ++at;
    } else if (IsSpace(c)) {
      ++at;
      const bool two = c == '\t' && at < text.size() && text[at] == '\t' && !bracketed;
      if (two) HEFT_RETURN_IF_ERROR(rows.TwoTabs());
    } else {
      const size_t end = std::min(text.size(), text.find_first_of(" \t\r\n,;[]", at));
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

bool BeginsAsRows(const std::string& path) {
  constexpr size_t kEnough = 1 << 16;
  std::string head(kEnough, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(head.data(), kEnough);
  head.resize(in.gcount());
  const std::string text = DropComments(WithoutByteOrderMark(head));
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] == '[') return true;
  const size_t end = std::min(text.size(), text.find_first_of(" \t\r\n,;[]", first));
  return ParseNumber(std::string_view(text).substr(first, end - first)).has_value();
}

absl::StatusOr<FeatureMatrix> ReadFeatures(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path));
  const bool named_npy = absl::EndsWith(path, ".npy") || absl::EndsWith(path, ".npz");
  const bool has_magic = bytes.size() >= 6 && std::memcmp(bytes.data(), "\x93NUMPY", 6) == 0;
  if (named_npy || has_magic) return ParseNpy(bytes, path);
  return ParseTextRows({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

absl::StatusOr<std::vector<std::string>> ParseLabels(std::string_view text, std::string_view what) {
  text = WithoutByteOrderMark(text);
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first != text.npos && text[first] == '[') return LabelList(text.substr(first), what);
  std::vector<std::string> labels;
  size_t line_number = 0, first_blank = 0;
  for (size_t at = 0; at < text.size(); ++line_number) {
    const size_t end = std::min(text.size(), text.find('\n', at));
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
    HEFT_ASSIGN_OR_RETURN(std::string normal, NormalIdentityAt(line, what, labels.size()));
    labels.push_back(std::move(normal));
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
