// SPDX-License-Identifier: Apache-2.0
// Passphrases of C callers.
#ifndef HEFT_C_PASSPHRASE_H_
#define HEFT_C_PASSPHRASE_H_

#include <string>

#include "heft/c/base.h"
#include "heft/trust.h"

namespace heft::c {

// AsSource: empty if data is NULL; the caller of the source refuses an empty passphrase. The
// returned string is the only copy, and that caller wipes it.
inline PassphraseSource AsSource(heft_bytes passphrase) {
  if (passphrase.data == nullptr) return {};
  return [passphrase]() -> absl::StatusOr<std::string> {
    return std::string(static_cast<const char*>(passphrase.data), passphrase.size);
  };
}

}  // namespace heft::c

#endif  // HEFT_C_PASSPHRASE_H_
