// SPDX-License-Identifier: Apache-2.0
// Signed files (kind SIGN): an envelope around any other of HEFT's files, with a statement and an
// Ed25519 signature over both. Format: docs/formats.md.
#ifndef HEFT_BASE_SIGNED_FILE_H_
#define HEFT_BASE_SIGNED_FILE_H_

#include <string_view>

#include "base/bytes.h"
#include "base/status.h"
#include "heft/trust.h"

namespace heft {

inline constexpr std::string_view kSignedKind = "SIGN";

// Unsigned: the file in a signed one, as its bytes say, and whatever is not signed as it is: for
// readers that do not ask who made it. A view. kDataLoss for a damaged signed file.
absl::StatusOr<ByteSpan> Unsigned(ByteSpan bytes, std::string_view what);

}  // namespace heft

#endif  // HEFT_BASE_SIGNED_FILE_H_
