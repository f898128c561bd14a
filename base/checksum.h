// SPDX-License-Identifier: Apache-2.0
// FastChecksum: detects damage at memory speed. It does not detect deliberate changes: use
// HashBytes for those.
#ifndef HEFT_BASE_CHECKSUM_H_
#define HEFT_BASE_CHECKSUM_H_

#include "base/bytes.h"

namespace heft {

// FastChecksum: XXH3, 64 bits.
uint64_t FastChecksum(ByteSpan bytes);

}  // namespace heft

#endif  // HEFT_BASE_CHECKSUM_H_
