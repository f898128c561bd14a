// SPDX-License-Identifier: Apache-2.0
// Envelope: the frame of every HEFT file (docs/formats.md):
//
//   0   8  magic "HEFT\r\n\x1a\n"
//   8   4  kind, four ASCII letters ("MODL", "CTXT", ...)
//   12  4  version of that kind
//   16  8  payload size in bytes
//   24  n  payload
//   24+n 32 SHA-256 of everything before it
//
// The line-ending bytes in the magic catch text-mode transfers, as PNG's do.
#ifndef HEFT_BASE_ENVELOPE_H_
#define HEFT_BASE_ENVELOPE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace heft {

// kEnvelopeHeaderSize: bytes before the payload. kEnvelopeOverhead: all bytes except the payload.
inline constexpr size_t kEnvelopeHeaderSize = 24;
inline constexpr size_t kEnvelopeOverhead = kEnvelopeHeaderSize + sizeof(Hash);

// SealEnvelope: the whole file. `kind` has four letters.
std::vector<uint8_t> SealEnvelope(std::string_view kind, uint32_t version, ByteSpan payload);

// BeginEnvelope, EndEnvelope: the same without a copy: the payload is appended between the two
// calls. Begin returns the payload's position for End. End returns the hash of the whole file,
// which costs little once the envelope's own hash is computed.
size_t BeginEnvelope(std::string_view kind, uint32_t version, ByteWriter* writer);
Hash EndEnvelope(size_t start, ByteWriter* writer);

// Checksum: whether to check an envelope's hash. kKnown: a checked signature or outer envelope
// covers the same bytes, or the reader trusts none of them.
enum class Checksum { kCheck, kKnown };

// OpenEnvelope: the payload, a view into `bytes`. kDataLoss unless magic, kind, version, size and
// hash are right; `what` names the object in the message ("model file x.model"). Hashing takes 1 ms
// for a megabyte.
absl::StatusOr<ByteSpan> OpenEnvelope(ByteSpan bytes, std::string_view kind, uint32_t version,
                                      std::string_view what, Checksum checksum = Checksum::kCheck);

// EnvelopeKind: the kind that an envelope declares ("MODL"), empty if `bytes` do not begin one.
std::string EnvelopeKind(ByteSpan bytes);

// EnvelopeVersion: the declared version, for kinds with several supported versions; 0 if `bytes` do
// not begin an envelope.
uint32_t EnvelopeVersion(ByteSpan bytes);

}  // namespace heft

#endif  // HEFT_BASE_ENVELOPE_H_
