// SPDX-License-Identifier: Apache-2.0
// PackBits, UnpackBits: values of a few bits each, the lowest bits first, without gaps.
#ifndef HEFT_CKKS_PACKED_BITS_H_
#define HEFT_CKKS_PACKED_BITS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace heft::ckks {

// PackedSize: `n` is a multiple of 8, so the data end at a byte boundary.
constexpr size_t PackedSize(size_t n, int bits) { return n / 8 * static_cast<size_t>(bits); }

// PackBits: values below 2^bits, bits at most 32; `out` has PackedSize bytes.
inline void PackBits(std::span<const uint32_t> values, int bits, std::span<uint8_t> out) {
  uint64_t buffer = 0;
  int held = 0;
  size_t at = 0;
  for (uint32_t value : values) {
    buffer |= uint64_t{value} << held;
    held += bits;
    if (held < 32) continue;
    for (int i = 0; i < 4; ++i) out[at + i] = static_cast<uint8_t>(buffer >> (8 * i));
    at += 4;
    buffer >>= 32;
    held -= 32;
  }
  for (; held > 0; held -= 8, buffer >>= 8) out[at++] = static_cast<uint8_t>(buffer);
}

// UnpackBits: `packed` has PackedSize bytes.
inline void UnpackBits(ByteSpan packed, int bits, std::span<uint32_t> out) {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  uint64_t buffer = 0;
  int held = 0;
  size_t at = 0;
  for (uint32_t& value : out) {
    if (held < bits && packed.size() - at >= 4) {
      uint32_t word = 0;
      for (int i = 0; i < 4; ++i) word |= uint32_t{packed[at + i]} << (8 * i);
      at += 4;
      buffer |= uint64_t{word} << held;
      held += 32;
    }
    for (; held < bits; held += 8) buffer |= uint64_t{packed[at++]} << held;
    value = static_cast<uint32_t>(buffer & mask);
    buffer >>= bits;
    held -= bits;
  }
}

}  // namespace heft::ckks

#endif  // HEFT_CKKS_PACKED_BITS_H_
