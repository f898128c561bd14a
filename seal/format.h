// SPDX-License-Identifier: Apache-2.0
// Compress, Decompress: SEAL's compression of whole objects: zlib (RFC 1950) and zstd streams.
// Decompression never takes more memory than its caller allows, whatever the stream declares.
// Internal buffers are wiped, because they may hold secret keys.
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

// Compression: with SEAL's numbers.
enum class Compression : uint8_t { kNone = 0, kZlib = 1, kZstd = 2 };

// Compress: all of `in` as one stream.
std::vector<uint8_t> Compress(Compression compression, ByteSpan in);

// Decompress: `compression` is not kNone. All of `in` must be one stream. kDataLoss for a damaged
// stream and for more than `max_size` bytes; `what` names the object.
absl::StatusOr<std::vector<uint8_t>> Decompress(Compression compression, ByteSpan in,
                                                size_t max_size, std::string_view what);
// DecompressExactly: the same into the caller's memory; kDataLoss unless the stream fills `out`
// exactly.
absl::Status DecompressExactly(Compression compression, ByteSpan in, std::span<uint8_t> out,
                               std::string_view what);

// Header, Members: the frame of SEAL 4.x objects (docs/seal.md): a header of 16 bytes before every
// object, also nested ones; only the outermost object may be compressed.

// kSchemeCkks: SEAL's number of the scheme.
inline constexpr uint8_t kSchemeCkks = 2;

// kHeaderSize: of every object's header.
inline constexpr size_t kHeaderSize = 16;
// WriteHeader: magic, header size, version 4.1 (readable for SEAL 4.1 and later), compression.
void WriteHeader(ByteWriter& writer, uint64_t size, Compression compression = Compression::kNone);

// Header: the content of a header.
struct Header {
  Compression compression = Compression::kNone;
  uint64_t size = 0;  // of the object, header included
};
// ReadHeader: kDataLoss unless the input begins an object of SEAL 4.x.
absl::StatusOr<Header> ReadHeader(ByteReader& reader, std::string_view what);

// WrapObject: the header and the members of an object, compressed if requested.
std::vector<uint8_t> WrapObject(ByteSpan members, Compression compression);

// Members: the members of the object in `bytes`: a view, or decompressed.
class Members {
 public:
  // Open: at most `max_size` bytes. kDataLoss for damaged bytes.
  static absl::StatusOr<Members> Open(ByteSpan bytes, size_t max_size, std::string_view what);
  ByteSpan span() const { return owned_.empty() ? view_ : ByteSpan(owned_); }

 private:
  ByteSpan view_;
  std::vector<uint8_t> owned_;
};

// ReadNested: the members of a nested object, which is never compressed. A failure also sets
// `reader`'s.
absl::StatusOr<ByteSpan> ReadNested(ByteReader& reader, std::string_view what);

// ParmsId: SEAL's id of a level, BLAKE2b-256 of scheme, degree, primes and plain modulus. `primes`
// counts from the base; all primes are the key level.
using ParmsId = std::array<uint8_t, 32>;
ParmsId ParmsIdOf(const ckks::Params& params, size_t primes);
// ReadLevel: the number of primes of a level by its id; kFailedPrecondition for other parameters.
absl::StatusOr<size_t> ReadLevel(ByteReader& reader, const ckks::Params& params,
                                 std::string_view what);

// WriteResidues, ReadResidues: residues of a polynomial modulo the first primes, as elements of
// SEAL's DynArray without the array's header, one u64 each. Reading fails in `reader` for a residue
// that is not below its prime.
void WriteResidues(ByteWriter& writer, const ring::RnsPoly& poly);
ring::RnsPoly ReadResidues(ByteReader& reader, const ckks::Context& context, size_t limbs);
// kArrayOverhead: bytes of the header and count before the elements.
inline constexpr size_t kArrayOverhead = kHeaderSize + sizeof(uint64_t);
void WriteArrayHeader(ByteWriter& writer, size_t count);

}  // namespace heft::seal

#endif  // HEFT_SEAL_FORMAT_H_
