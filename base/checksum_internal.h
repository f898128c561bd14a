// SPDX-License-Identifier: Apache-2.0
// Shared by checksum.cc and checksum_avx2.cc.
#ifndef HEFT_BASE_CHECKSUM_INTERNAL_H_
#define HEFT_BASE_CHECKSUM_INTERNAL_H_

#include <cstddef>
#include <cstdint>

namespace heft::internal {

// ChecksumAvx2: FastChecksum, on machines with AVX2.
uint64_t ChecksumAvx2(const uint8_t* bytes, size_t size);

}  // namespace heft::internal

#endif  // HEFT_BASE_CHECKSUM_INTERNAL_H_
