// SPDX-License-Identifier: Apache-2.0
// Compress, Decompress: SEAL's compression of whole objects: zlib (RFC 1950) and zstd streams.
// Decompression never takes more memory than its caller allows, whatever the stream declares;
// internal buffers are wiped, because secret keys pass through them.
#ifndef HEFT_SEAL_FORMAT_H_
#define HEFT_SEAL_FORMAT_H_

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "ckks/context.h"
#include "ring/rns_poly.h"

namespace heft::seal {

// Compression: as SEAL numbers them.
enum class Compression : uint8_t { kNone = 0, kZlib = 1, kZstd = 2 };

// Compress: one stream of the whole of `in`.
std::vector<uint8_t> Compress(Compression compression, ByteSpan in);

// Decompress: compression is not kNone. The whole of `in` must be one stream. kDataLoss for a
// damaged stream and for one of more than `max_size` bytes; `what` names the object.
absl::StatusOr<std::vector<uint8_t>> Decompress(Compression compression, ByteSpan in,
                                                size_t max_size, std::string_view what);
// DecompressExactly: the same into memory of the caller's; kDataLoss unless the stream fills `out`
// exactly.
absl::Status DecompressExactly(Compression compression, ByteSpan in, std::span<uint8_t> out,
                               std::string_view what);

// Header, Members: the frame of SEAL 4.x objects (docs/seal.md): a header of 16 bytes before every
// object, nested ones too; only the outermost is ever compressed.

// kSchemeCkks: as SEAL numbers its schemes.
inline constexpr uint8_t kSchemeCkks = 2;

// kHeaderSize: of every object's header.
inline constexpr size_t kHeaderSize = 16;
// WriteHeader: magic, header size, version 4.1 (which SEAL 4.1 and later read), compression.
void WriteHeader(ByteWriter& writer, uint64_t size, Compression compression = Compression::kNone);

// Header: what one says.
struct Header {
  Compression compression = Compression::kNone;
  uint64_t size = 0;  // of the object, header included
};
// ReadHeader: kDataLoss unless this begins an object of SEAL 4.x.
absl::StatusOr<Header> ReadHeader(ByteReader& reader, std::string_view what);

// WrapObject puts the header before the members of an object, compressed if asked.
std::vector<uint8_t> WrapObject(ByteSpan members, Compression compression);

// Members: those of an object that is the whole of `bytes`: a view of them, or decompressed.
class Members {
 public:
  // Open: at most `max_size` bytes. kDataLoss for damaged bytes.
  static absl::StatusOr<Members> Open(ByteSpan bytes, size_t max_size, std::string_view what);
  ByteSpan span() const { return owned_.empty() ? view_ : ByteSpan(owned_); }

 private:
  ByteSpan view_;
  std::vector<uint8_t> owned_;
};

// ReadNested: the members of a nested object, which is never compressed; a failure is left in
// `reader` too.
absl::StatusOr<ByteSpan> ReadNested(ByteReader& reader, std::string_view what);

// ParmsId: SEAL's identity of a level, BLAKE2b-256 of scheme, degree, primes and plain modulus.
// `primes` counts from the base; all of them is the key level.
using ParmsId = std::array<uint8_t, 32>;
ParmsId ParmsIdOf(const ckks::Params& params, size_t primes);
// ReadLevel: the number of primes of a level by its identity; kFailedPrecondition for other
// parameters.
absl::StatusOr<size_t> ReadLevel(ByteReader& reader, const ckks::Params& params,
                                 std::string_view what);

// WriteResidues, ReadResidues: a polynomial's as SEAL's DynArray elements, one u64 each, without
// the array's header: the limbs are modulo the first primes. Reading fails in `reader` for a
// residue not below its prime.
void WriteResidues(ByteWriter& writer, const ring::RnsPoly& poly);
ring::RnsPoly ReadResidues(ByteReader& reader, const ckks::Context& context, size_t limbs);
// kArrayOverhead: the header and count that go before the elements.
inline constexpr size_t kArrayOverhead = kHeaderSize + sizeof(uint64_t);
void WriteArrayHeader(ByteWriter& writer, size_t count);

}  // namespace heft::seal

#endif  // HEFT_SEAL_FORMAT_H_
