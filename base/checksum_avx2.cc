// SPDX-License-Identifier: Apache-2.0
// XXH3 compiled for AVX2. Do not compile inline functions of other headers here: the linker keeps
// one copy of each for the whole program, and it could be the AVX2 one.
#define XXH_INLINE_ALL  // nothing of the library is linked
#include <xxhash.h>

#include "base/checksum_internal.h"

namespace heft::internal {

uint64_t ChecksumAvx2(const uint8_t* bytes, size_t size) { return XXH3_64bits(bytes, size); }

}  // namespace heft::internal
