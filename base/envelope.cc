// SPDX-License-Identifier: Apache-2.0
#include "base/envelope.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/kinds.h"

namespace heft {
namespace {
constexpr std::string_view kMagic("HEFT\r\n\x1a\n", 8);

bool HasMagic(ByteSpan bytes) {
  return bytes.size() >= kEnvelopeHeaderSize &&
         std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}
}  // namespace

std::vector<uint8_t> SealEnvelope(std::string_view kind, uint32_t version, ByteSpan payload) {
  ByteWriter writer;
  writer.Reserve(payload.size() + kEnvelopeOverhead);
  const size_t start = BeginEnvelope(kind, version, &writer);
  writer.Raw(payload);
  EndEnvelope(start, &writer);
  return writer.Take();
}

size_t BeginEnvelope(std::string_view kind, uint32_t version, ByteWriter* writer) {
  const size_t start = writer->bytes().size();
  writer->Raw(AsBytes(kMagic));
  writer->Raw(AsBytes(kind.substr(0, 4)));
  writer->U32(version);
  writer->U64(0);  // the payload's size: EndEnvelope
  return start;
}

Hash EndEnvelope(size_t start, ByteWriter* writer) {
  ByteWriter size;
  size.U64(writer->bytes().size() - start - kEnvelopeHeaderSize);
  writer->Patch(start + kEnvelopeHeaderSize - sizeof(uint64_t), size.bytes());
  const ByteSpan written = ByteSpan(writer->bytes()).subspan(start);
  Hasher hasher;
  hasher.Update(written);
  Hasher whole = hasher;
  const Hash hash = hasher.Finish();
  writer->Raw(hash);
  whole.Update(hash);
  return whole.Finish();
}

std::string EnvelopeKind(ByteSpan bytes) {
  if (!HasMagic(bytes)) return "";
  return std::string(reinterpret_cast<const char*>(bytes.data()) + 8, 4);
}

uint32_t EnvelopeVersion(ByteSpan bytes) {
  return HasMagic(bytes) ? ByteReader(bytes.subspan(12), "envelope").U32() : 0;
}

absl::StatusOr<ByteSpan> OpenEnvelope(ByteSpan bytes, std::string_view kind, uint32_t version,
                                      std::string_view what, Checksum checksum) {
  const std::string name(what);
  if (bytes.empty()) return absl::DataLossError(absl::StrCat(name, ": the file is empty"));
  if (!HasMagic(bytes)) {
    return absl::DataLossError(absl::StrCat(name, ": not a HEFT file (wrong magic bytes)"));
  }
  const std::string found = EnvelopeKind(bytes);
  if (found != kind) {
    return absl::DataLossError(absl::StrCat(name, ": a file of another kind: ", KindName(found),
                                            ", not ", KindName(kind)));
  }
  ByteReader header(bytes.subspan(12, 12), what);
  const uint32_t found_version = header.U32();
  const uint64_t size = header.U64();
  if (found_version != version) {
    return absl::DataLossError(absl::StrCat(name, ": format version ", found_version,
                                            ", this program reads version ", version));
  }
  if (bytes.size() < kEnvelopeOverhead || size != bytes.size() - kEnvelopeOverhead) {
    return absl::DataLossError(absl::StrCat(name, ": truncated or extended: ", size,
                                            " payload bytes declared, the file has ", bytes.size(),
                                            " bytes in all"));
  }
  const ByteSpan hashed = bytes.first(bytes.size() - sizeof(Hash));
  if (checksum == Checksum::kKnown) return hashed.subspan(kEnvelopeHeaderSize);
  const Hash hash = HashBytes(hashed);
  if (!std::equal(hash.begin(), hash.end(), bytes.end() - sizeof(Hash))) {
    return absl::DataLossError(absl::StrCat(name, ": checksum mismatch, the file is damaged"));
  }
  return hashed.subspan(kEnvelopeHeaderSize);
}

}  // namespace heft
