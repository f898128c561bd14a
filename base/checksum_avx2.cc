// SPDX-License-Identifier: Apache-2.0
// XXH3 compiled for AVX2. No inline function of another header may be compiled here: the linker
// would keep one copy of it for all, and it would be this one.
#define XXH_INLINE_ALL  // nothing of the library is linked
#include <xxhash.h>

#include "base/checksum_internal.h"

namespace heft::internal {

uint64_t ChecksumAvx2(const uint8_t* bytes, size_t size) { return XXH3_64bits(bytes, size); }

}  // namespace heft::internal
