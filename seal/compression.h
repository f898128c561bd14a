// SPDX-License-Identifier: Apache-2.0
// Compress, Decompress: SEAL's compression of whole objects: zlib (RFC 1950) and zstd streams.
// Decompression never takes more memory than its caller allows, whatever the stream declares;
// internal buffers are wiped, because secret keys pass through them.
#ifndef HEFT_SEAL_COMPRESSION_H_
#define HEFT_SEAL_COMPRESSION_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

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

}  // namespace heft::seal

#endif  // HEFT_SEAL_COMPRESSION_H_
