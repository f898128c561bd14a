// SPDX-License-Identifier: Apache-2.0
#include "base/identity.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace heft {
namespace {

constexpr size_t kMaxBytes = 255;

const utf8proc_uint8_t* Utf8(std::string_view text) {
  return reinterpret_cast<const utf8proc_uint8_t*>(text.data());
}

// Decoded: the character at the front of a text, and its size in bytes; size 0 for invalid UTF-8
// (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
struct Decoded {
  utf8proc_int32_t character = 0;
  size_t size = 0;
};
Decoded DecodeUtf8(std::string_view text) {
  Decoded out;
  const utf8proc_ssize_t size =
      utf8proc_iterate(Utf8(text), static_cast<utf8proc_ssize_t>(text.size()), &out.character);
  if (size > 0) out.size = static_cast<size_t>(size);
  return out;
}

bool IsControl(utf8proc_int32_t c) {
  const utf8proc_category_t category = utf8proc_category(c);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

bool TurnsText(utf8proc_int32_t c) {
  return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}

// The kind of a character that may be in a text but not in a name; nullptr if it may be in both.
const char* NoneOfAName(utf8proc_int32_t c) {
  const utf8proc_category_t category = utf8proc_category(c);
  if (category == UTF8PROC_CATEGORY_CF || utf8proc_get_property(c)->ignorable != 0) {
    return "the invisible character";
  }
  if (category == UTF8PROC_CATEGORY_ZS && c != ' ') return "the space";
  // Its normal form is not defined yet.
  if (category == UTF8PROC_CATEGORY_CN) return "the unassigned character";
  return nullptr;
}

bool IsPrintableAscii(std::string_view name) {
  return std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~'; });
}

absl::Status Refuse(const std::string& why) {
  return absl::InvalidArgumentError(
      absl::StrCat("an identity ", why, "; it must be 1 to ", kMaxBytes,
                   " bytes of UTF-8 without control or invisible characters, marks of text "
                   "direction, or spaces at its ends"));
}

// Flaw: why `text` is not a valid name, ignoring its length; empty if it is valid.
std::string Flaw(std::string_view text) {
  if (text.starts_with(' ')) return "starts with the space U+0020, its character 0";
  const bool ends_in_space = text.ends_with(' ');
  if (IsPrintableAscii(text) && !ends_in_space) return "";
  size_t characters = 0;
  for (size_t at = 0; at < text.size(); ++characters) {
    const Decoded decoded = DecodeUtf8(text.substr(at));
    if (decoded.size == 0) return TextFlaw(text);
    const char* const what = NoneOfAName(decoded.character);
    const bool turns = TurnsText(decoded.character), control = IsControl(decoded.character);
    if (what != nullptr || turns || control) {
      return absl::StrFormat("holds %s U+%04X at its character %d (from 0)",
                             control ? "the control character"
                             : turns ? "the mark"
                                     : what,
                             decoded.character, characters);
    }
    at += decoded.size;
  }
  return ends_in_space ? absl::StrCat("ends with the space U+0020, its character ", characters - 1)
                       : "";
}

// Composed: UTF-8 in normal form C.
absl::StatusOr<std::string> Composed(std::string_view text) {
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(Utf8(text), static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(mapped, &std::free);
  if (size < 0) return Refuse(utf8proc_errmsg(size));
  return std::string(reinterpret_cast<const char*>(mapped), static_cast<size_t>(size));
}

absl::Status At(std::string_view what, size_t row, const absl::Status& status) {
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(what), ", row ", row, " (from 0): ", std::string(status.message())));
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

absl::StatusOr<std::string> NormalIdentity(std::string_view name) {
  if (name.empty()) return Refuse("is empty");
  const std::string flaw = Flaw(name);
  if (!flaw.empty()) return Refuse(flaw);
  std::string normal(name);
  if (!IsPrintableAscii(name)) {
    HEFT_ASSIGN_OR_RETURN(normal, Composed(name));
  }
  if (normal.size() > kMaxBytes) return Refuse(absl::StrCat("has ", normal.size(), " bytes"));
  return normal;
}

absl::Status CheckIdentity(std::string_view name) {
  HEFT_ASSIGN_OR_RETURN(const std::string normal, NormalIdentity(name));
  return normal == name ? absl::OkStatus() : Refuse("is not in Unicode's normal form C");
}

absl::Status CheckIdentityAt(std::string_view name, std::string_view what, size_t row) {
  const absl::Status status = CheckIdentity(name);
  return status.ok() ? status : At(what, row, status);
}

absl::StatusOr<std::string> NormalIdentityAt(std::string_view name, std::string_view what,
                                             size_t row) {
  auto normal = NormalIdentity(name);
  if (!normal.ok()) return At(what, row, normal.status());
  return normal;
}

}  // namespace heft
