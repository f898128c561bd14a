// SPDX-License-Identifier: Apache-2.0
#include "owner/owner_box.h"

#include <sodium.h>

#include "absl/strings/str_cat.h"
#include "owner/key_owner_impl.h"

namespace heft {

absl::StatusOr<std::vector<uint8_t>> SealFor(const SignerKey& signer, ByteSpan secret) {
  uint8_t key[crypto_box_PUBLICKEYBYTES];
  if (crypto_sign_ed25519_pk_to_curve25519(key, signer.data()) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("owner's key ", HexString(signer), ": not a public key"));
  }
  std::vector<uint8_t> out(secret.size() + crypto_box_SEALBYTES);
  crypto_box_seal(out.data(), secret.data(), secret.size(), key);
  return out;
}

absl::StatusOr<SecureVector<uint8_t>> OpenBox(const HeldKey& held, ByteSpan sealed) {
  HEFT_ASSIGN_OR_RETURN(const auto seed, OwnerSeed(held));
  HEFT_ASSIGN_OR_RETURN(auto secret, SecureVector<uint8_t>::Create(crypto_sign_SECRETKEYBYTES));
  HEFT_ASSIGN_OR_RETURN(auto own, SecureVector<uint8_t>::Create(crypto_box_SECRETKEYBYTES));
  uint8_t signer[crypto_sign_PUBLICKEYBYTES], key[crypto_box_PUBLICKEYBYTES];
  crypto_sign_seed_keypair(signer, secret.data(), seed.data());
  crypto_sign_ed25519_sk_to_curve25519(own.data(), secret.data());
  if (sealed.size() < crypto_box_SEALBYTES ||
      crypto_sign_ed25519_pk_to_curve25519(key, signer) != 0) {
    return absl::DataLossError("no sealed secret");
  }
  HEFT_ASSIGN_OR_RETURN(auto out,
                        SecureVector<uint8_t>::Create(sealed.size() - crypto_box_SEALBYTES));
  if (crypto_box_seal_open(out.data(), sealed.data(), sealed.size(), key, own.data()) != 0) {
    return absl::DataLossError("a secret that is sealed for another owner, or damaged");
  }
  return out;
}

}  // namespace heft
