// SPDX-License-Identifier: Apache-2.0
// Names of identities: one rule for labels, options, and files of other roles.
#ifndef HEFT_BASE_IDENTITY_H_
#define HEFT_BASE_IDENTITY_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace heft {

// TextFlaw: why a terminal would not show `text` as it is, for example "holds the mark U+202E";
// empty if it would. Allowed is UTF-8 without control characters (C0, DEL, C1, line and paragraph
// separators). Marks that change the direction of text (U+061C, U+200E, U+200F, U+202A to U+202E,
// U+2066 to U+2069) are refused, because they can make one name look like another.
std::string TextFlaw(std::string_view text);

// NormalIdentity: `name` in Unicode's normal form C, so that two spellings of the same characters
// are one identity. All names enter through this function: labels, options, HTTP, SQL, C, Python.
// kInvalidArgument, with the code point and its position, for:
//     - text with a flaw as above;
//     - invisible characters (formatting, zero width, variation selectors, all characters that
//       Unicode calls default-ignorable);
//     - spaces other than U+0020, and U+0020 at either end;
//     - code points that Unicode 15 does not assign;
//     - a normal form that is not 1 to 255 bytes.
absl::StatusOr<std::string> NormalIdentity(std::string_view name);

// CheckIdentity: kInvalidArgument, with the reason, unless `name` is a valid identity in its normal
// form. For readers of files, because HEFT writes only normal forms.
absl::Status CheckIdentity(std::string_view name);
// CheckIdentityAt, NormalIdentityAt: the same for row `row` (from 0) of `what`; the error names
// both.
absl::Status CheckIdentityAt(std::string_view name, std::string_view what, size_t row);
absl::StatusOr<std::string> NormalIdentityAt(std::string_view name, std::string_view what,
                                             size_t row);

}  // namespace heft

#endif  // HEFT_BASE_IDENTITY_H_
