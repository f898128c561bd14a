// SPDX-License-Identifier: Apache-2.0
// Signed files (kind SIGN): an envelope around another HEFT file, with a statement and an Ed25519
// signature over both. Format: docs/formats.md.
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

// Unsigned: the file in a signed file, or `bytes` themselves if they are not signed. For readers
// that ignore the signer. A view. kDataLoss for a damaged signed file.
absl::StatusOr<ByteSpan> Unsigned(ByteSpan bytes, std::string_view what);

// SignWritten: signs the HEFT file that `write` appends, about `size` bytes; `write` returns its
// hash. It saves a copy and a second hash. kInvalidArgument as SigningKey::Sign.
absl::StatusOr<std::vector<uint8_t>> SignWritten(const SigningKey& key, Statement statement,
                                                 size_t size,
                                                 const std::function<Hash(ByteWriter&)>& write);

// SignedHead: the statement, signer and signature of a signed file, without the file in it. A
// reader that keeps only the processed content can check the signature later.
struct SignedHead {
  std::vector<uint8_t> bytes;  // of a signed file's payload, up to the file; empty: not signed
  Hash file{};                 // of the file in it
};
inline constexpr size_t kSignedHeadSize = 253;
// kDataLoss for a damaged signed file; only the hash for an unsigned file.
absl::StatusOr<SignedHead> HeadOf(ByteSpan bytes, std::string_view what);
// WithHead: the signed file again. Nothing is checked: open it.
std::vector<uint8_t> WithHead(ByteSpan head, ByteSpan file);
// OpenSignedHead: OpenSigned with the same errors; `file` of the result is empty. `kind`: the
// file's kind.
absl::StatusOr<SignedFile> OpenSignedHead(const SignedHead& head, std::string_view kind,
                                          const Trust& trust, const Expected& expected,
                                          std::string_view what);

// OpenBySignature: OpenSigned for large files, if only the inner file is used. The signature covers
// that file, so the outer checksum is computed only if the signature is false. (A digest of all
// bytes would need it, because the checksum itself is not signed.) `hash`: of the inner file.
absl::StatusOr<SignedFile> OpenBySignature(ByteSpan bytes, const Trust& trust,
                                           const Expected& expected, std::string_view what,
                                           Hash* hash = nullptr);

// Claimed: the statement of a signed file whose signature is not checked yet. A service chooses
// by it who opens the file; the reader that opens it checks the signature.
struct Claimed {
  Statement statement;
  // Of statement, signer and signature. A good signature is of one inner file, so files with equal
  // digests and good signatures have the same content.
  Hash digest{};
};
// ReadClaimed: reads no more than them. kDataLoss for another form; kFailedPrecondition for a file
// that is not signed.
absl::StatusOr<Claimed> ReadClaimed(ByteSpan bytes, std::string_view what);

}  // namespace heft

#endif  // HEFT_BASE_SIGNED_FILE_H_
