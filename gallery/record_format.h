// SPDX-License-Identifier: Apache-2.0
// Shared byte formats of a gallery's records (gallery/records.h).
#ifndef HEFT_GALLERY_RECORD_FORMAT_H_
#define HEFT_GALLERY_RECORD_FORMAT_H_

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace heft::internal {

inline constexpr uint8_t kRecordVersion = 1;
inline constexpr uint64_t kMaxPlaces = uint64_t{1} << 32;

// Versioned: every value starts with a version byte.
inline ByteReader Versioned(ByteSpan bytes, std::string_view what) {
  ByteReader reader(bytes, what);
  if (reader.U8() != kRecordVersion) reader.Fail("of a later version of the format");
  return reader;
}

// Padded: pads a value to a long one, which has pages of its own. So nothing of it stays in a page
// that others share (store/store.h, Scrub).
inline constexpr size_t kLeastPadded = 4096;
inline std::vector<uint8_t> Padded(std::vector<uint8_t> bytes) {
  bytes.resize(std::max(bytes.size(), kLeastPadded));
  return bytes;
}

// ReadPadding: for a value of `size` bytes.
inline void ReadPadding(ByteReader& reader, size_t size) {
  const ByteSpan padding = reader.Raw(reader.remaining());
  if (std::ranges::any_of(padding, [](uint8_t byte) { return byte != 0; })) {
    reader.Fail("bytes that must be zero are not");
  }
  if (size < kLeastPadded || (size > kLeastPadded && !padding.empty())) {
    reader.Fail("of another length than what is in it");
  }
}

}  // namespace heft::internal

#endif  // HEFT_GALLERY_RECORD_FORMAT_H_
