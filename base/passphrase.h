// SPDX-License-Identifier: Apache-2.0
// Secrets in files: in the clear, or sealed under a passphrase with Argon2id and XChaCha20-Poly1305
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

// Wiped: a passphrase for as long as it is needed.
struct Wiped {
  std::string text;
  ~Wiped() { SecureWipe(text.data(), text.size()); }
};

// AskPassphrase: what `source` gives; empty where there is none to ask. kInvalidArgument where it
// gives an empty one: whoever asked for a sealed file must not get one in the clear.
absl::Status AskPassphrase(const PassphraseSource& source, Wiped* out);

// WriteSecret appends a form (0 clear, 1 sealed) and `secret` to what `writer` holds, which is
// sealed along as associated data. In the clear, where `passphrase` is empty, what the writer holds
// is secret from here on.
absl::Status WriteSecret(ByteWriter* writer, ByteSpan secret, std::span<const char> passphrase);

// SecretIsSealed takes the form; ReadSecret then takes the rest, of `secret.size()` bytes in the
// clear. `payload` is what the reader began with. kInvalidArgument for a wrong passphrase,
// kFailedPrecondition for none where one is needed, kDataLoss.
bool SecretIsSealed(ByteReader& reader);
absl::Status ReadSecret(ByteReader& reader, ByteSpan payload, bool sealed,
                        std::span<const char> passphrase, std::string_view what,
                        std::span<uint8_t> secret);

}  // namespace heft

#endif  // HEFT_BASE_PASSPHRASE_H_
