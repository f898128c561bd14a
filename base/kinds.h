// SPDX-License-Identifier: Apache-2.0
// What the four letters of an envelope stand for (docs/formats.md).
#ifndef HEFT_BASE_KINDS_H_
#define HEFT_BASE_KINDS_H_

#include <string>
#include <string_view>

namespace heft {

// KindName: "encrypted samples" of CTXT; "unknown kind ABCD" of others. KindText, for errors:
// "encrypted samples (CTXT)".
std::string KindName(std::string_view kind);
std::string KindText(std::string_view kind);

}  // namespace heft

#endif  // HEFT_BASE_KINDS_H_
