// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <sodium.h>

namespace heft {

Hash HashBytes(ByteSpan bytes) {
  Hash hash;
  crypto_generichash(hash.data(), hash.size(), bytes.data(), bytes.size(), nullptr, 0);
  return hash;
}

std::string HexString(ByteSpan bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (uint8_t b : bytes) {
    text.push_back(kDigits[b >> 4]);
    text.push_back(kDigits[b & 15]);
  }
  return text;
}

}  // namespace heft
