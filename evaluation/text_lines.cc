// SPDX-License-Identifier: Apache-2.0
#include "evaluation/text_lines.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace heft::internal {

TextLines::TextLines(std::string_view text, std::string_view what)
    : rest_(absl::StripPrefix(absl::string_view(text.data(), text.size()), "\xEF\xBB\xBF")),
      what_(what) {}

bool TextLines::Next() {
  while (!rest_.empty()) {
    const size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = absl::StripAsciiWhitespace(rest_.substr(0, end));
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    if (!line_.empty()) return true;
  }
  return false;
}

absl::StatusOr<std::vector<std::string>> TextLines::CsvFields() const {
  std::vector<std::string> fields;
  for (absl::string_view rest = line_;;) {
    rest = absl::StripLeadingAsciiWhitespace(rest);
    std::string& field = fields.emplace_back();
    if (!absl::ConsumePrefix(&rest, "\"")) {
      const size_t end = std::min(rest.find(','), rest.size());
      field = std::string(absl::StripAsciiWhitespace(rest.substr(0, end)));
      rest.remove_prefix(end);
    } else {
      for (bool open = true; open;) {
        const size_t end = rest.find('"');
        if (end == rest.npos) return Bad("a field in quotes does not end on its line");
        field += std::string(rest.substr(0, end));
        rest.remove_prefix(end + 1);
        open = absl::ConsumePrefix(&rest, "\"");
        if (open) field += '"';
      }
      rest = absl::StripLeadingAsciiWhitespace(rest);
    }
    if (rest.empty()) return fields;
    if (!absl::ConsumePrefix(&rest, ",")) return Bad("text after a field in quotes");
  }
}

std::vector<absl::string_view> TextLines::Columns() const {
  return absl::StrSplit(line_, absl::ByAnyChar(" \t"), absl::SkipEmpty());
}

absl::Status TextLines::Bad(absl::string_view why) const {
  if (number_ == 0) return absl::InvalidArgumentError(absl::StrCat(what_, ": ", why));
  return absl::InvalidArgumentError(absl::StrCat(what_, ", line ", number_, ": ", why));
}

}  // namespace heft::internal
