// SPDX-License-Identifier: Apache-2.0
// Passphrases of C callers.
#ifndef HEFT_C_PASSPHRASE_H_
#define HEFT_C_PASSPHRASE_H_

#include <string>

#include "heft/c/base.h"
#include "heft/trust.h"

namespace heft::c {

// AsSource: none where data is NULL; an empty one that is given is refused by who asks. The string
// that it returns is the one copy, which who asks wipes.
inline PassphraseSource AsSource(heft_bytes passphrase) {
  if (passphrase.data == nullptr) return {};
  return [passphrase]() -> absl::StatusOr<std::string> {
    return std::string(static_cast<const char*>(passphrase.data), passphrase.size);
  };
}

}  // namespace heft::c

#endif  // HEFT_C_PASSPHRASE_H_
