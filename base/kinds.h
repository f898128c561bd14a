// SPDX-License-Identifier: Apache-2.0
// The meaning of the four letters of an envelope (docs/formats.md).
#ifndef HEFT_BASE_KINDS_H_
#define HEFT_BASE_KINDS_H_

#include <string>
#include <string_view>

namespace heft {

// KindName: "encrypted samples" for CTXT; "unknown kind ABCD" for unknown ones.
std::string KindName(std::string_view kind);

}  // namespace heft

#endif  // HEFT_BASE_KINDS_H_
