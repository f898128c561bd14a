// SPDX-License-Identifier: Apache-2.0
#include "base/checksum.h"

#define XXH_INLINE_ALL  // nothing of the library is linked
#include <xxhash.h>

#include "base/checksum_internal.h"

namespace heft {

uint64_t FastChecksum(ByteSpan bytes) {
#ifdef HEFT_CHECKSUM_AVX2
  // Baseline instructions take twice as long as reading the memory.
  static const bool wide = __builtin_cpu_supports("avx2");
  if (wide) return internal::ChecksumAvx2(bytes.data(), bytes.size());
#endif
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace heft
