// SPDX-License-Identifier: Apache-2.0
#include "base/checksum.h"

#define XXH_INLINE_ALL  // nothing of the library is linked
#include <xxhash.h>

namespace heft {

uint64_t FastChecksum(ByteSpan bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace heft
