// SPDX-License-Identifier: Apache-2.0
// Text as std::string_view, as Debian's Abseil has its own type, which does not mix with it.
#ifndef HEFT_SERVICE_TEXT_H_
#define HEFT_SERVICE_TEXT_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace heft::service {

// Split: the pieces between separators: one more than the number of separators.
inline std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const size_t at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == text.npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

// Trim: without spaces, tabs and line ends at both ends.
inline std::string_view Trim(std::string_view text) {
  const size_t from = text.find_first_not_of(" \t\r\n");
  if (from == text.npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r\n") - from + 1);
}

inline char LowerCase(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
inline std::string LowerCase(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return LowerCase(c); });
  return out;
}

// SameText: equality without the case of ASCII letters.
inline bool SameText(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return LowerCase(x) == LowerCase(y); });
}

// IsLoopback: whether an address, "HOST:PORT", is one of this machine.
inline bool IsLoopback(std::string_view address) {
  return address.starts_with("127.") || address.starts_with("[::1]:");
}

// Message: the message of a status, as a string.
inline std::string Message(const absl::Status& status) { return std::string(status.message()); }

}  // namespace heft::service

#endif  // HEFT_SERVICE_TEXT_H_
