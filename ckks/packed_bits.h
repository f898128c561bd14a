// SPDX-License-Identifier: Apache-2.0
// PackBits, UnpackBits: values of a few bits each, the lowest bits first, without gaps.
#ifndef HEFT_CKKS_PACKED_BITS_H_
#define HEFT_CKKS_PACKED_BITS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace heft::ckks {

// PackedSize: `n` is a multiple of 8, so nothing ends within a byte.
constexpr size_t PackedSize(size_t n, int bits) { return n / 8 * static_cast<size_t>(bits); }

// PackBits: values below 2^bits, bits at most 32; `out` has PackedSize bytes.
inline void PackBits(std::span<const uint32_t> values, int bits, std::span<uint8_t> out) {
  uint64_t buffer = 0;
  int held = 0;
  size_t at = 0;
  for (uint32_t value : values) {
    buffer |= uint64_t{value} << held;
    held += bits;
    for (; held >= 8; held -= 8, buffer >>= 8) out[at++] = static_cast<uint8_t>(buffer);
  }
}

inline void UnpackBits(ByteSpan packed, int bits, std::span<uint32_t> out) {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  uint64_t buffer = 0;
  int held = 0;
  size_t at = 0;
  for (uint32_t& value : out) {
    for (; held < bits; held += 8) buffer |= uint64_t{packed[at++]} << held;
    value = static_cast<uint32_t>(buffer & mask);
    buffer >>= bits;
    held -= bits;
  }
}

}  // namespace heft::ckks

#endif  // HEFT_CKKS_PACKED_BITS_H_
