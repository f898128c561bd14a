// SPDX-License-Identifier: Apache-2.0
// ByteWriter and ByteReader: little-endian fields. The reader never reads past its input, bounds
// every declared count by the bytes that are there before anything is allocated, and reports the
// first failure through status().
#ifndef HEFT_BASE_BYTES_H_
#define HEFT_BASE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/status.h"

namespace heft {

using ByteSpan = std::span<const uint8_t>;

ByteSpan AsBytes(std::string_view text);

class ByteWriter {
 public:
  // Room for `size` bytes in all: no copies are left behind by growth, which matters for secrets.
  void Reserve(std::size_t size) { bytes_.reserve(size); }
  void U8(uint8_t v) { Scalar(v); }
  void U32(uint32_t v) { Scalar(v); }
  void U64(uint64_t v) { Scalar(v); }
  void F64(double v);
  // A length as u64, then the bytes.
  void String(std::string_view text);
  void Raw(ByteSpan bytes);
  void U32Array(std::span<const uint32_t> words);  // no length
  void F64Array(std::span<const double> values);   // no length

  const std::vector<uint8_t>& bytes() const { return bytes_; }
  std::vector<uint8_t> Take() { return std::move(bytes_); }

 private:
  template <typename T>
  void Scalar(T v) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes_.push_back(static_cast<uint8_t>(v >> (8 * i)));
  }
  std::vector<uint8_t> bytes_;
};

class ByteReader {
 public:
  // `what` names the object in error messages ("ciphertext", "model").
  ByteReader(ByteSpan bytes, std::string_view what) : bytes_(bytes), what_(what) {}

  // Fields; 0 or empty after a failure.
  uint8_t U8() { return static_cast<uint8_t>(Scalar(1)); }
  uint32_t U32() { return static_cast<uint32_t>(Scalar(4)); }
  uint64_t U64() { return Scalar(8); }
  double F64();
  std::string String(std::size_t max_size = 1 << 20);
  ByteSpan Raw(std::size_t size);
  void U32Array(std::span<uint32_t> out);
  void F64Array(std::span<double> out);

  // A count of elements of `element_size` bytes each that must still fit into the input and be at
  // most `max`; fails and returns 0 otherwise.
  uint64_t Count(std::size_t element_size, uint64_t max);

  std::size_t remaining() const { return bytes_.size() - position_; }
  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  // Marks the input as bad unless it already is.
  void Fail(std::string_view why);
  // OK if nothing failed and nothing is left over.
  absl::Status Finish();

 private:
  uint64_t Scalar(std::size_t size);
  bool Need(std::size_t size);

  ByteSpan bytes_;
  std::string what_;
  std::size_t position_ = 0;
  absl::Status status_;
};

}  // namespace heft

#endif  // HEFT_BASE_BYTES_H_
