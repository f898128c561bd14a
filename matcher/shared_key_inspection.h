// SPDX-License-Identifier: Apache-2.0
// What the files of a shared key say without a key (docs/formats.md; written in owner/).
#ifndef HEFT_MATCHER_SHARED_KEY_INSPECTION_H_
#define HEFT_MATCHER_SHARED_KEY_INSPECTION_H_

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "heft/results.h"

namespace heft {

// DescribeSharedKey: adds to `json` the owners, numbers and records in a file of kind CERE, SHAR,
// PART, RSHR, JOIN, JKEY or CNRY, and returns lines about them; nothing for other kinds. `file`: an
// intact file without a signature. kDataLoss if its content is too short.
absl::StatusOr<std::string> DescribeSharedKey(ByteSpan file, std::string_view what, Json* json);

}  // namespace heft

#endif  // HEFT_MATCHER_SHARED_KEY_INSPECTION_H_
