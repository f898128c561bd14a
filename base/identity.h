// SPDX-License-Identifier: Apache-2.0
// What may be the name of an identity: one rule for labels, options, and files of other roles.
#ifndef HEFT_BASE_IDENTITY_H_
#define HEFT_BASE_IDENTITY_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace heft {

// TextFlaw: why a terminal would not show `text` as it is, as "holds the mark U+202E"; empty: it
// would. That is so for UTF-8 without control characters (C0, DEL, C1, line and paragraph
// separators) and marks that turn the direction of text (U+061C, U+200E, U+200F, U+202A to U+202E,
// U+2066 to U+2069), with which one name can look like another.
std::string TextFlaw(std::string_view text);

// NormalIdentity: `name` in Unicode's normal form C, so that two spellings of the same characters
// are one identity. Names enter through this function: labels, options, HTTP, SQL, C, Python.
// kInvalidArgument, with the code point and its position, for what cannot be a name: text with a
// flaw as above; characters that show nothing (formatting, zero width, variation selectors, all
// that Unicode calls default-ignorable); spaces other than U+0020, and U+0020 at either end; what
// Unicode 15 does not assign; and what is not 1 to 255 bytes in its normal form.
absl::StatusOr<std::string> NormalIdentity(std::string_view name);

// CheckIdentity: kInvalidArgument, saying why, unless `name` is one in its normal form, as all that
// HEFT has written: for readers of files.
absl::Status CheckIdentity(std::string_view name);
// CheckIdentityAt, NormalIdentityAt: the same of row `row` (from 0) of `what`, both of which the
// error names.
absl::Status CheckIdentityAt(std::string_view name, std::string_view what, size_t row);
absl::StatusOr<std::string> NormalIdentityAt(std::string_view name, std::string_view what,
                                             size_t row);

}  // namespace heft

#endif  // HEFT_BASE_IDENTITY_H_
