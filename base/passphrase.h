// SPDX-License-Identifier: Apache-2.0
// Secrets in files: unencrypted, or sealed under a passphrase with Argon2id and XChaCha20-Poly1305
// (libsodium). Format: docs/formats.md, "Sealed secrets".
#ifndef HEFT_BASE_PASSPHRASE_H_
#define HEFT_BASE_PASSPHRASE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/secure.h"
#include "base/status.h"
#include "heft/trust.h"

namespace heft {

// Wiped: a passphrase, wiped when destroyed.
struct Wiped {
  std::string text;
  ~Wiped() { SecureWipe(text.data(), text.size()); }
};

// AskPassphrase: the result of `source`; empty without a source. kInvalidArgument if `source`
// returns an empty one, because a file that should be sealed must not be written unencrypted.
absl::Status AskPassphrase(const PassphraseSource& source, Wiped* out);

// WriteSecret: appends a form (0 unencrypted, 1 sealed) and `secret` to `writer`. The bytes already
// in `writer` are sealed along as associated data. With an empty `passphrase` the secret is not
// encrypted, so the content of `writer` is secret afterwards.
absl::Status WriteSecret(ByteWriter* writer, ByteSpan secret, std::span<const char> passphrase);

// SecretIsSealed: reads the form; ReadSecret then reads the rest, `secret.size()` bytes
// unencrypted. `payload` is the whole input of the reader. kInvalidArgument for a wrong passphrase,
// kFailedPrecondition for a missing one, kDataLoss.
bool SecretIsSealed(ByteReader& reader);
absl::Status ReadSecret(ByteReader& reader, ByteSpan payload, bool sealed,
                        std::span<const char> passphrase, std::string_view what,
                        std::span<uint8_t> secret);

}  // namespace heft

#endif  // HEFT_BASE_PASSPHRASE_H_
