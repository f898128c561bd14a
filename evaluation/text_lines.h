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
  // CsvFields: fields by commas, without blanks around them; one in quotes as it is, two quotes in
  // it for one (RFC 4180), but that it ends on its line.
  absl::StatusOr<std::vector<std::string>> CsvFields() const;
  // Columns: fields by blanks; one at least.
  std::vector<absl::string_view> Columns() const;
  // Bad: kInvalidArgument with what is read and this line's number.
  absl::Status Bad(absl::string_view why) const;

 private:
  absl::string_view rest_, line_;
  std::string what_;
  size_t number_ = 0;
};

}  // namespace heft::internal

#endif  // HEFT_EVALUATION_TEXT_LINES_H_
