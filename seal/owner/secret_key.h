// SPDX-License-Identifier: Apache-2.0
// ReadSecretKey, EncryptSeeded: SEAL 4.x secret keys, and seeded objects made with one. Only the
// key owner may link this.
#ifndef HEFT_SEAL_OWNER_SECRET_KEY_H_
#define HEFT_SEAL_OWNER_SECRET_KEY_H_

#include <string_view>

#include "base/bytes.h"
#include "base/secure.h"
#include "base/status.h"
#include "ckks/owner/secret_key.h"
#include "seal/encryption.h"
#include "seal/keys.h"

namespace heft::seal {

// ReadSecretKey: `id` becomes the key's name, because SEAL's file has none. kDataLoss unless the
// polynomial is ternary and the same modulo every prime; other errors as in seal/objects.h.
// Constant time in the secret.
absl::StatusOr<ckks::SecretKey> ReadSecretKey(const ckks::Context& context, const ckks::KeyId& id,
                                              ByteSpan bytes, std::string_view what);

// WriteSecretKey: uncompressed, in locked memory.
absl::StatusOr<SecureVector<uint8_t>> WriteSecretKey(const ckks::Context& context,
                                                     const ckks::SecretKey& key);

// SeededEncryption: a secret-key encryption whose part 1 is expanded from `seed` as SEAL does.
struct SeededEncryption {
  ckks::Ciphertext ciphertext;
  SealSeed seed;
};
SeededEncryption EncryptSeeded(const ckks::Context& context, const ckks::Plaintext& plaintext,
                               const ckks::SecretKey& secret, Csprng& rng);

// MakeSeededPublicKey and the others: keys of the full level, seeded.
KeyPart MakeSeededPublicKey(const ckks::Context& context, const ckks::SecretKey& secret,
                            Csprng& rng);
KeyDigits MakeSeededRelinearisationKey(const ckks::Context& context, const ckks::SecretKey& secret,
                                       Csprng& rng);
KeyDigits MakeSeededGaloisKey(const ckks::Context& context, const ckks::SecretKey& secret,
                              uint32_t element, Csprng& rng);

}  // namespace heft::seal

#endif  // HEFT_SEAL_OWNER_SECRET_KEY_H_
