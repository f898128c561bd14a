// SPDX-License-Identifier: Apache-2.0
#include "seal/format.h"

#include <blake2.h>

#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"

namespace heft::seal {
namespace {

constexpr uint16_t kMagic = 0xA15E;
constexpr uint8_t kMajor = 4;
constexpr uint8_t kMinor = 1;

absl::Status Bad(std::string_view what, std::string_view why) {
  return absl::DataLossError(absl::StrCat(std::string(what), ": ", std::string(why)));
}

}  // namespace

void WriteHeader(ByteWriter& writer, uint64_t size, Compression compression) {
  writer.U8(kMagic & 0xFF);
  writer.U8(kMagic >> 8);
  writer.U8(kHeaderSize);
  writer.U8(kMajor);
  writer.U8(kMinor);
  writer.U8(static_cast<uint8_t>(compression));
  writer.U8(0);
  writer.U8(0);
  writer.U64(size);
}

absl::StatusOr<Header> ReadHeader(ByteReader& reader, std::string_view what) {
  const uint32_t start = reader.U32();
  const uint32_t rest = reader.U32();
  Header header;
  header.size = reader.U64();
  if (!reader.ok()) return Bad(what, "truncated: a header of SEAL is cut short");
  if ((start & 0xFFFF) != kMagic) return Bad(what, "not an object of SEAL (wrong magic bytes)");
  if ((start >> 16 & 0xFF) != kHeaderSize) return Bad(what, "an unknown header of SEAL");
  const uint32_t major = start >> 24;
  if (major != kMajor) {
    return Bad(what, absl::StrCat("written by SEAL ", major, ".", rest & 0xFF,
                                  ", 4.x is read: load and save it with SEAL 4"));
  }
  const uint32_t compression = rest >> 8 & 0xFF;
  if (compression > static_cast<uint32_t>(Compression::kZstd) || rest >> 16 != 0) {
    return Bad(what, "an unknown compression mode");
  }
  header.compression = static_cast<Compression>(compression);
  return header;
}

std::vector<uint8_t> WrapObject(ByteSpan members, Compression compression) {
  const std::vector<uint8_t> body = Compress(compression, members);
  ByteWriter writer;
  writer.Reserve(kHeaderSize + body.size());
  WriteHeader(writer, kHeaderSize + body.size(), compression);
  writer.Raw(body);
  return writer.Take();
}

absl::StatusOr<Members> Members::Open(ByteSpan bytes, size_t max_size, std::string_view what) {
  ByteReader reader(bytes, what);
  HEFT_ASSIGN_OR_RETURN(const Header header, ReadHeader(reader, what));
  if (header.size != bytes.size()) {
    return Bad(what, absl::StrCat("truncated or extended: ", header.size,
                                  " bytes declared, there are ", bytes.size()));
  }
  Members members;
  const ByteSpan body = bytes.subspan(kHeaderSize);
  if (header.compression == Compression::kNone) {
    members.view_ = body;
  } else {
    HEFT_ASSIGN_OR_RETURN(members.owned_, Decompress(header.compression, body, max_size, what));
  }
  return members;
}

absl::StatusOr<ByteSpan> ReadNested(ByteReader& reader, std::string_view what) {
  const auto header = ReadHeader(reader, what);
  absl::Status status = header.status();
  if (status.ok() && header->compression != Compression::kNone) {
    status = Bad(what, "a compressed object within another one");
  }
  if (status.ok() &&
      (header->size < kHeaderSize || header->size - kHeaderSize > reader.remaining())) {
    status = Bad(what, absl::StrCat("truncated: an object declares ", header->size, " bytes"));
  }
  if (!status.ok()) {
    reader.Fail("a nested object is damaged");
    return status;
  }
  return reader.Raw(header->size - kHeaderSize);
}

ParmsId ParmsIdOf(const ckks::Params& params, size_t primes) {
  ByteWriter writer;
  writer.U64(kSchemeCkks);
  writer.U64(params.n());
  for (size_t i = 0; i < primes; ++i) writer.U64(params.modulus(i).value());
  writer.U64(0);  // plain modulus
  ParmsId id{};
  blake2b(id.data(), writer.bytes().data(), nullptr, id.size(), writer.bytes().size(), 0);
  return id;
}

absl::StatusOr<size_t> ReadLevel(ByteReader& reader, const ckks::Params& params,
                                 std::string_view what) {
  const ByteSpan id = reader.Raw(sizeof(ParmsId));
  HEFT_RETURN_IF_ERROR(reader.status());
  for (size_t primes = 1; primes <= params.limbs() + 1; ++primes) {
    const ParmsId level = ParmsIdOf(params, primes);
    if (std::memcmp(level.data(), id.data(), level.size()) == 0) return primes;
  }
  return absl::FailedPreconditionError(
      absl::StrCat(std::string(what), ": made with other SEAL parameters (parms_id ", HexString(id),
                   "); needed: ", params.Describe(), ", in this order, the special prime last"));
}

void WriteResidues(ByteWriter& writer, const ring::RnsPoly& poly) {
  std::vector<uint64_t> words(poly.n());
  for (size_t l = 0; l < poly.limbs(); ++l) {
    const std::span<const uint32_t> limb = poly.limb(l);
    std::copy(limb.begin(), limb.end(), words.begin());
    writer.Raw({reinterpret_cast<const uint8_t*>(words.data()), words.size() * sizeof(uint64_t)});
  }
}

ring::RnsPoly ReadResidues(ByteReader& reader, const ckks::Context& context, size_t limbs) {
  const size_t n = context.n();
  const ByteSpan bytes = reader.Raw(limbs * n * sizeof(uint64_t));
  if (!reader.ok()) return {};
  ring::RnsPoly poly(n, limbs);
  for (size_t l = 0; l < limbs; ++l) {
    const uint64_t q = context.modulus(l).value();
    bool reduced = true;
    for (size_t i = 0; i < n; ++i) {
      uint64_t word;
      std::memcpy(&word, bytes.data() + (l * n + i) * sizeof(word), sizeof(word));
      reduced &= word < q;
      poly.limb(l)[i] = static_cast<uint32_t>(word);
    }
    if (!reduced) {
      reader.Fail(absl::StrCat("a residue is not below its prime, limb ", l));
      return {};
    }
  }
  return poly;
}

void WriteArrayHeader(ByteWriter& writer, size_t count) {
  WriteHeader(writer, kArrayOverhead + count * sizeof(uint64_t));
  writer.U64(count);
}

}  // namespace heft::seal
