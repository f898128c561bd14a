// SPDX-License-Identifier: Apache-2.0
// Passphrases of C callers.
#ifndef HEFT_C_PASSPHRASE_H_
#define HEFT_C_PASSPHRASE_H_

#include "absl/status/statusor.h"
#include "heft/c/base.h"
#include "heft/trust.h"

namespace heft::c {

// AsSource: empty if data is NULL; the caller of the source refuses an empty passphrase. The
// returned string is the only copy, and that caller wipes it. kInvalidArgument as GivenBytes.
absl::StatusOr<PassphraseSource> AsSource(heft_bytes passphrase);

}  // namespace heft::c

#endif  // HEFT_C_PASSPHRASE_H_
