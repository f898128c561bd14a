// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <sodium.h>

namespace heft {

Hash HashBytes(ByteSpan bytes) {
  Hash hash;
  crypto_generichash(hash.data(), hash.size(), bytes.data(), bytes.size(), nullptr, 0);
  return hash;
}

}  // namespace heft
