// SPDX-License-Identifier: Apache-2.0
// Hash: BLAKE2b-256 (libsodium), for checksums and for the identities of objects.
#ifndef HEFT_BASE_HASH_H_
#define HEFT_BASE_HASH_H_

#include <array>
#include <cstdint>

#include "base/bytes.h"

namespace heft {

using Hash = std::array<uint8_t, 32>;

// HashBytes: the hash of `bytes`, without a key.
Hash HashBytes(ByteSpan bytes);

}  // namespace heft

#endif  // HEFT_BASE_HASH_H_
