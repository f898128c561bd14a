// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace heft {

static_assert(std::endian::native == std::endian::little,
              "arrays are copied as they are; a big-endian port must swap here");

ByteSpan AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string HexString(ByteSpan bytes) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void ByteWriter::F64(double v) { U64(std::bit_cast<uint64_t>(v)); }

void ByteWriter::String(std::string_view text) {
  U64(text.size());
  Raw(AsBytes(text));
}

void ByteWriter::Raw(ByteSpan bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }

void ByteWriter::U32Array(std::span<const uint32_t> words) {
  Raw({reinterpret_cast<const uint8_t*>(words.data()), words.size_bytes()});
}

void ByteWriter::F64Array(std::span<const double> values) {
  Raw({reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()});
}

void ByteWriter::Patch(size_t at, ByteSpan bytes) {
  HEFT_DCHECK(at <= bytes_.size() && bytes.size() <= bytes_.size() - at, "bytes that are there");
  std::ranges::copy(bytes, bytes_.begin() + static_cast<std::ptrdiff_t>(at));
}

void ByteReader::Fail(std::string_view why) {
  if (status_.ok()) status_ = absl::DataLossError(absl::StrCat(what_, ": ", std::string(why)));
}

bool ByteReader::Need(size_t size) {
  if (!ok()) return false;
  if (size <= remaining()) return true;
  Fail(absl::StrCat("truncated: ", size, " more bytes expected at offset ", position_, ", ",
                    remaining(), " left"));
  return false;
}

uint64_t ByteReader::Scalar(size_t size) {
  if (!Need(size)) return 0;
  uint64_t v = 0;
  std::memcpy(&v, bytes_.data() + position_, size);
  position_ += size;
  return v;
}

double ByteReader::F64() { return std::bit_cast<double>(U64()); }

std::string ByteReader::String(size_t max_size) {
  const uint64_t size = Count(1, max_size);
  const ByteSpan raw = Raw(size);
  return std::string(reinterpret_cast<const char*>(raw.data()), raw.size());
}

ByteSpan ByteReader::Raw(size_t size) {
  if (!Need(size)) return {};
  const ByteSpan out = bytes_.subspan(position_, size);
  position_ += size;
  return out;
}

void ByteReader::U32Array(std::span<uint32_t> out) {
  if (out.empty() || !Need(out.size_bytes())) return;  // memcpy takes no null pointer
  std::memcpy(out.data(), bytes_.data() + position_, out.size_bytes());
  position_ += out.size_bytes();
}

void ByteReader::F64Array(std::span<double> out) {
  if (out.empty() || !Need(out.size_bytes())) return;  // memcpy takes no null pointer
  std::memcpy(out.data(), bytes_.data() + position_, out.size_bytes());
  position_ += out.size_bytes();
}

uint64_t ByteReader::Count(size_t element_size, uint64_t max) {
  const uint64_t count = U64();
  if (!ok()) return 0;
  if (count > max) {
    Fail(absl::StrCat("declares ", count, " elements, more than the ", max, " allowed"));
    return 0;
  }
  if (element_size != 0 && count > remaining() / element_size) {
    Fail(absl::StrCat("truncated: declares ", count, " elements of ", element_size, " bytes, ",
                      remaining(), " bytes left"));
    return 0;
  }
  return count;
}

absl::Status ByteReader::Finish() {
  if (ok() && remaining() != 0) Fail(absl::StrCat(remaining(), " bytes too many at the end"));
  return status_;
}

}  // namespace heft
