// SPDX-License-Identifier: Apache-2.0
// PublicStream: adds a ChaCha20 stream to `out` by exclusive or, in Bernstein's layout: a nonce of
// 8 bytes, and a counter of 64 bits that begins at `block`. `out` has whole blocks of 64 bytes,
// less than 2^31 bytes in all. Only for public keys: not every copy of the key is wiped.
#ifndef HEFT_BASE_PUBLIC_STREAM_H_
#define HEFT_BASE_PUBLIC_STREAM_H_

#include <array>
#include <cstdint>
#include <span>

namespace heft {

void PublicStream(std::span<uint8_t> out, const std::array<uint8_t, 32>& key,
                  const std::array<uint8_t, 8>& nonce, uint64_t block);

}  // namespace heft

#endif  // HEFT_BASE_PUBLIC_STREAM_H_
