// SPDX-License-Identifier: Apache-2.0
// BLAKE2b-256 (libsodium) for checksums and identities of objects.
#ifndef HEFT_BASE_HASH_H_
#define HEFT_BASE_HASH_H_

#include <array>
#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace heft {

using Hash = std::array<uint8_t, 32>;

Hash HashBytes(ByteSpan bytes);

// Lower-case hexadecimal, the first `bytes` bytes of it.
std::string HexString(ByteSpan bytes);

}  // namespace heft

#endif  // HEFT_BASE_HASH_H_
