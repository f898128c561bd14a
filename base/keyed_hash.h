// SPDX-License-Identifier: Apache-2.0
// KeyedHash: bytes that depend on a secret key and a message. Without the key they look random.
#ifndef HEFT_BASE_KEYED_HASH_H_
#define HEFT_BASE_KEYED_HASH_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "base/csprng.h"

namespace heft {

// KeyedHash: fills `out`, of any length, with ChaCha20 under the keyed BLAKE2b of `message`.
// `purpose` separates uses of one key.
void KeyedHash(std::span<uint8_t> out, const Seed& key, std::string_view purpose,
               std::string_view message);

}  // namespace heft

#endif  // HEFT_BASE_KEYED_HASH_H_
