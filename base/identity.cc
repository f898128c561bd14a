// SPDX-License-Identifier: Apache-2.0
#include "base/identity.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace heft {
namespace {

constexpr size_t kMaxBytes = 255;

// DecodeUtf8: the character at the front of `text`, which is not empty, and its size in bytes; size
// 0 for what is not UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
struct Decoded {
  uint32_t character = 0;
  size_t size = 0;
};
Decoded DecodeUtf8(std::string_view text) {
  const uint8_t first = text[0];
  if (first < 0x80) return {first, 1};
  const size_t size = std::countl_one(first);
  if (size < 2 || size > 4 || size > text.size()) return {};
  uint32_t character = first & (0x7fu >> size);
  for (size_t i = 1; i < size; ++i) {
    const uint8_t next = text[i];
    if ((next & 0xc0) != 0x80) return {};
    character = character << 6 | (next & 0x3f);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = character >= 0xd800 && character <= 0xdfff;
  if (character < kSmallest[size] || surrogate || character > 0x10ffff) return {};
  return {character, size};
}

bool IsControl(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
}

bool TurnsText(uint32_t c) {
  return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}

absl::Status Refuse(const std::string& why) {
  return absl::InvalidArgumentError(
      absl::StrCat("an identity ", why, "; it must be 1 to ", kMaxBytes,
                   " bytes of UTF-8 without control characters or marks of text direction"));
}

}  // namespace

std::string TextFlaw(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Decoded decoded = DecodeUtf8(text.substr(at));
    if (decoded.size == 0) return absl::StrCat("is not UTF-8 from its byte ", at, " on");
    if (IsControl(decoded.character)) {
      return absl::StrFormat("holds the control character U+%04X", decoded.character);
    }
    if (TurnsText(decoded.character)) {
      return absl::StrFormat("holds the mark U+%04X", decoded.character);
    }
    at += decoded.size;
  }
  return "";
}

absl::Status CheckIdentity(std::string_view name) {
  if (name.empty()) return Refuse("is empty");
  if (name.size() > kMaxBytes) return Refuse(absl::StrCat("has ", name.size(), " bytes"));
  const std::string flaw = TextFlaw(name);
  return flaw.empty() ? absl::OkStatus() : Refuse(flaw);
}

absl::Status CheckIdentityAt(std::string_view name, std::string_view what, size_t row) {
  const absl::Status status = CheckIdentity(name);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(what), ", row ", row, " (from 0): ", std::string(status.message())));
}

}  // namespace heft
