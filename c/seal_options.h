// SPDX-License-Identifier: Apache-2.0
// Arguments of the exchange with SEAL (heft/c/seal.h).
#ifndef HEFT_C_SEAL_OPTIONS_H_
#define HEFT_C_SEAL_OPTIONS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "c/options.h"
#include "heft/seal.h"

namespace heft::c {

// SealOptions: "compression" and "ring". Each call has one or both.
struct SealOptions {
  SealCompression compression = SealCompression::kZstd;
  SealRing ring = SealRing::kMatching;

  absl::Status Read(const heft_options* options, bool with_compression, bool with_ring) {
    std::string how = "zstd", of = "matching";
    OptionReader read(options);
    if (with_compression) read.Text("compression", &how);
    if (with_ring) read.Text("ring", &of);
    HEFT_RETURN_IF_ERROR(read.Finish());
    HEFT_ASSIGN_OR_RETURN(compression, ParseSealCompression(how));
    HEFT_ASSIGN_OR_RETURN(ring, ParseSealRing(of));
    return absl::OkStatus();
  }
};

// ParseKeyId: kInvalidArgument.
inline absl::StatusOr<KeyId> ParseKeyId(const char* text) {
  const auto id = ParseGalleryId(text);  // of the same form
  if (id.ok()) return *id;
  return absl::InvalidArgumentError(
      "key_id: give 32 hexadecimal digits, those of a new key id or "
      "of a file that was inspected");
}

}  // namespace heft::c

#endif  // HEFT_C_SEAL_OPTIONS_H_
