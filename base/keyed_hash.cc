// SPDX-License-Identifier: Apache-2.0
#include "base/keyed_hash.h"

#include <sodium.h>

#include <array>

namespace heft {

void KeyedHash(std::span<uint8_t> out, const Seed& key, std::string_view purpose,
               std::string_view message) {
  static_assert(Seed().size() == crypto_stream_chacha20_KEYBYTES);
  crypto_generichash_state state;
  crypto_generichash_init(&state, key.data(), key.size(), key.size());
  // The length comes first, so that no two pairs of purpose and message give the same bytes.
  const std::array<uint8_t, 1> length = {static_cast<uint8_t>(purpose.size())};
  crypto_generichash_update(&state, length.data(), length.size());
  for (const std::string_view part : {purpose, message}) {
    crypto_generichash_update(&state, reinterpret_cast<const uint8_t*>(part.data()), part.size());
  }
  Seed subkey;
  crypto_generichash_final(&state, subkey.data(), subkey.size());
  const std::array<uint8_t, crypto_stream_chacha20_NONCEBYTES> nonce{};
  crypto_stream_chacha20(out.data(), out.size(), nonce.data(), subkey.data());
  sodium_memzero(subkey.data(), subkey.size());
  sodium_memzero(&state, sizeof(state));
}

}  // namespace heft
