// SPDX-License-Identifier: Apache-2.0
// ByteWriter and ByteReader: little-endian fields. The reader never reads past its input. It checks
// every declared count against the remaining bytes before it allocates. status() reports the first
// failure.
#ifndef HEFT_BASE_BYTES_H_
#define HEFT_BASE_BYTES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/status.h"

namespace heft {

// ByteSpan: bytes that another object owns.
using ByteSpan = std::span<const uint8_t>;

// AsBytes: a view of the text's memory.
ByteSpan AsBytes(std::string_view text);

// HexString: two lower-case hexadecimal digits for each byte.
std::string HexString(ByteSpan bytes);

// ByteWriter: appends fields to a vector of bytes.
class ByteWriter {
 public:
  // Reserve: room for `size` bytes in total. Growth would leave copies behind, which matters for
  // secrets.
  void Reserve(size_t size) { bytes_.reserve(size); }
  void U8(uint8_t v) { Scalar(v); }
  void U32(uint32_t v) { Scalar(v); }
  void U64(uint64_t v) { Scalar(v); }
  void F64(double v);
  // String: a length as u64, then the bytes.
  void String(std::string_view text);
  void Raw(ByteSpan bytes);
  void U32Array(std::span<const uint32_t> words);  // no length
  void F64Array(std::span<const double> values);   // no length
  // Patch: replaces bytes that were written at `at`.
  void Patch(size_t at, ByteSpan bytes);

  const std::vector<uint8_t>& bytes() const { return bytes_; }
  std::vector<uint8_t> Take() { return std::move(bytes_); }

 private:
  template <typename T>
  void Scalar(T v) {
    uint8_t raw[sizeof(T)];
    for (size_t i = 0; i < sizeof(T); ++i) raw[i] = static_cast<uint8_t>(v >> (8 * i));
    bytes_.insert(bytes_.end(), raw, raw + sizeof(T));
  }
  std::vector<uint8_t> bytes_;
};

// ByteReader: takes fields from the front of a span.
class ByteReader {
 public:
  // `what` names the object in error messages ("ciphertext", "model").
  ByteReader(ByteSpan bytes, std::string_view what) : bytes_(bytes), what_(what) {}

  // The field readers return 0 or nothing after a failure.
  uint8_t U8() { return static_cast<uint8_t>(Scalar(1)); }
  uint32_t U32() { return static_cast<uint32_t>(Scalar(4)); }
  uint64_t U64() { return Scalar(8); }
  double F64();
  std::string String(size_t max_size = 1 << 20);
  ByteSpan Raw(size_t size);
  void U32Array(std::span<uint32_t> out);
  void F64Array(std::span<double> out);

  // Count: a number of elements of `element_size` bytes each. Fails and returns 0 if they exceed
  // the rest of the input or `max`.
  uint64_t Count(size_t element_size, uint64_t max);

  size_t remaining() const { return bytes_.size() - position_; }
  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  // Fail: marks the input as bad unless it already is.
  void Fail(std::string_view why);
  // Finish: OK if nothing failed and the input is used up.
  absl::Status Finish();

 private:
  uint64_t Scalar(size_t size);
  bool Need(size_t size);

  ByteSpan bytes_;
  std::string what_;
  size_t position_ = 0;
  absl::Status status_;
};

// Hash: SHA-256 (FIPS 180-4), for checksums and object identities.
using Hash = std::array<uint8_t, 32>;

// HashBytes: the hash of `bytes`, without a key (base/hash.cc).
Hash HashBytes(ByteSpan bytes);

}  // namespace heft

#endif  // HEFT_BASE_BYTES_H_
