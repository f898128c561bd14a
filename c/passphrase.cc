// SPDX-License-Identifier: Apache-2.0
#include "c/passphrase.h"

#include <string>

#include "c/call.h"

namespace heft::c {
namespace {

constexpr size_t kRoom = 1 << 16;  // for the text of a passphrase that a call asks for

absl::StatusOr<std::string> Ask(const heft_passphrase& source) {
  std::string text(kRoom, '\0');
  const ptrdiff_t length = CallBack(source.ask, source.user, text.data(), text.size());
  const bool fits = length >= 0 && static_cast<size_t>(length) <= kRoom;
  // What lies beyond the length is not the passphrase's, and the caller wipes the length alone.
  for (size_t i = fits ? static_cast<size_t>(length) : 0; i < kRoom; ++i) {
    const_cast<volatile char&>(text[i]) = 0;
  }
  if (length < 0) return absl::CancelledError("the function for the passphrase failed");
  if (!fits) return absl::InvalidArgumentError("the passphrase is too long");
  text.resize(static_cast<size_t>(length));
  return text;
}

}  // namespace

absl::StatusOr<PassphraseSource> AsSource(heft_bytes passphrase) {
  if (passphrase.data == nullptr && passphrase.size == 0) return PassphraseSource();
  if (passphrase.size != HEFT_ASKED) {
    HEFT_RETURN_IF_ERROR(GivenBytes("passphrase", passphrase));
    return [passphrase]() -> absl::StatusOr<std::string> {
      return std::string(static_cast<const char*>(passphrase.data), passphrase.size);
    };
  }
  const auto* source = static_cast<const heft_passphrase*>(passphrase.data);
  HEFT_RETURN_IF_ERROR(Given(source, "passphrase"));
  HEFT_RETURN_IF_ERROR(Given(source->ask, "passphrase: ask"));
  return [source] { return Ask(*source); };
}

}  // namespace heft::c
