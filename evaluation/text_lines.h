// SPDX-License-Identifier: Apache-2.0
// The lines of a text, one after the other, and the fields in them.
#ifndef HEFT_EVALUATION_TEXT_LINES_H_
#define HEFT_EVALUATION_TEXT_LINES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/status.h"

namespace heft::internal {

class TextLines {
 public:
  // `text` outlives this. A byte order mark, with which spreadsheets begin a file, is passed over.
  TextLines(std::string_view text, std::string_view what);

  // Next: to the next line that is not blank; false at the end.
  bool Next();
  // CsvFields: fields separated by commas, without blanks around them. A field in quotes is taken
  // as it is, with two quotes in it for one (RFC 4180); it must end on its line.
  absl::StatusOr<std::vector<std::string>> CsvFields() const;
  // Columns: fields by blanks; one at least.
  std::vector<absl::string_view> Columns() const;
  // Bad: kInvalidArgument with the name of the text and this line's number.
  absl::Status Bad(absl::string_view why) const;

 private:
  absl::string_view rest_, line_;
  std::string what_;
  size_t number_ = 0;
};

}  // namespace heft::internal

#endif  // HEFT_EVALUATION_TEXT_LINES_H_
