// SPDX-License-Identifier: Apache-2.0
// Signed files (kind SIGN): an envelope around any other of HEFT's files, with a statement and an
// Ed25519 signature over both. Format: docs/formats.md.
#ifndef HEFT_BASE_SIGNED_FILE_H_
#define HEFT_BASE_SIGNED_FILE_H_

#include <functional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "heft/trust.h"

namespace heft {

inline constexpr std::string_view kSignedKind = "SIGN";

// Unsigned: the file in a signed one, as its bytes say, and whatever is not signed as it is: for
// readers that do not ask who made it. A view. kDataLoss for a damaged signed file.
absl::StatusOr<ByteSpan> Unsigned(ByteSpan bytes, std::string_view what);

// SignWritten: the signed file of what `write` appends, one of HEFT's files of some `size` bytes,
// whose hash it returns: without a copy, and without hashing it anew. kInvalidArgument as
// SigningKey::Sign's.
absl::StatusOr<std::vector<uint8_t>> SignWritten(const SigningKey& key, Statement statement,
                                                 size_t size,
                                                 const std::function<Hash(ByteWriter&)>& write);

// SignedHead: all that a signed file says but the file in it: statement, signer, signature. For who
// has read the file, and keeps what it is made into: whether its signature counts can be asked
// later without it.
struct SignedHead {
  std::vector<uint8_t> bytes;  // of a signed file's payload, up to the file; empty: not signed
  Hash file{};                 // of the file in it
};
inline constexpr size_t kSignedHeadSize = 253;
// kDataLoss for a damaged signed file; of one that is not signed, the hash alone.
absl::StatusOr<SignedHead> HeadOf(ByteSpan bytes, std::string_view what);
// OpenSignedHead: OpenSigned, its errors included; `file` of what it returns is empty. `kind`: what
// the file is.
absl::StatusOr<SignedFile> OpenSignedHead(const SignedHead& head, std::string_view kind,
                                          const Trust& trust, const Expected& expected,
                                          std::string_view what);

// OpenBySignature: OpenSigned for large files of which nothing but the file inside is used. The
// signature covers that file, so the checksum around it is computed only where the signature is
// false. (A digest of all bytes would need it: the checksum itself is not signed.)
absl::StatusOr<SignedFile> OpenBySignature(ByteSpan bytes, const Trust& trust,
                                           const Expected& expected, std::string_view what);

}  // namespace heft

#endif  // HEFT_BASE_SIGNED_FILE_H_
