// SPDX-License-Identifier: Apache-2.0
// Ed25519 (libsodium): the implementation of heft::SigningKey.
#ifndef HEFT_BASE_SIGNING_H_
#define HEFT_BASE_SIGNING_H_

#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/secure.h"
#include "base/status.h"
#include "heft/trust.h"

namespace heft {

using Signature = std::array<uint8_t, 64>;
inline constexpr size_t kSigningSeedSize = 32;

class SigningKey::Impl {
 public:
  // The key of a seed. The seed is as secret as the key.
  static absl::StatusOr<std::unique_ptr<Impl>> FromSeed(std::span<const uint8_t> seed);
  // Reads a key file (kind SIGK). An unencrypted file is itself secret: wipe its bytes after use.
  static absl::StatusOr<std::unique_ptr<Impl>> Parse(ByteSpan bytes,
                                                     const PassphraseSource& passphrase,
                                                     std::string_view what);
  absl::StatusOr<std::vector<uint8_t>> Serialize(std::span<const char> passphrase) const;

  // A key outside this process.
  static std::unique_ptr<Impl> Outside(const SignerKey& public_key, OutsideSigner sign);

  const SignerKey& public_key() const { return public_; }
  // Always succeeds for a key in this process.
  absl::StatusOr<Signature> Sign(ByteSpan message) const;

 private:
  Impl() = default;
  SecureVector<uint8_t> secret_;  // the seed, then the public key: libsodium's form
  SignerKey public_{};
  OutsideSigner outside_;  // instead of secret_
};

// SigningKeyOfSeed: Impl::FromSeed as the public object.
absl::StatusOr<SigningKey> SigningKeyOfSeed(std::span<const uint8_t> seed);

bool SignatureIsGood(const SignerKey& key, ByteSpan message, const Signature& signature);

}  // namespace heft

#endif  // HEFT_BASE_SIGNING_H_
