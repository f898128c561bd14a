// SPDX-License-Identifier: Apache-2.0
// Every HEFT file is an envelope (docs/formats.md):
//
//   0   8  magic "HEFT\r\n\x1a\n"
//   8   4  kind, four ASCII letters ("MODL", "CTXT", ...)
//   12  4  version of that kind
//   16  8  payload size in bytes
//   24  n  payload
//   24+n 32 BLAKE2b-256 of everything before it
//
// The line-ending bytes in the magic catch text-mode transfers, as PNG's do.
#ifndef HEFT_BASE_ENVELOPE_H_
#define HEFT_BASE_ENVELOPE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/status.h"

namespace heft {

inline constexpr std::size_t kEnvelopeHeaderSize = 24;
inline constexpr std::size_t kEnvelopeOverhead = kEnvelopeHeaderSize + sizeof(Hash);

// `kind` has four letters.
std::vector<uint8_t> SealEnvelope(std::string_view kind, uint32_t version, ByteSpan payload);

// The payload, a view into `bytes`. kDataLoss unless magic, kind, version, size and hash are right;
// `what` names the object in the message ("model file x.model").
absl::StatusOr<ByteSpan> OpenEnvelope(ByteSpan bytes, std::string_view kind, uint32_t version,
                                      std::string_view what);

// The kind of an envelope ("MODL"), empty if `bytes` is not one; and its version, 0 if not.
std::string EnvelopeKind(ByteSpan bytes);
uint32_t EnvelopeVersion(ByteSpan bytes);

// The version that an envelope declares, for kinds of which several are read; 0 if it is not one.
uint32_t EnvelopeVersion(ByteSpan bytes);

}  // namespace heft

#endif  // HEFT_BASE_ENVELOPE_H_
