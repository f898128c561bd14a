// SPDX-License-Identifier: Apache-2.0
// Encrypt: public-key encryption, for clients. Nothing here needs a secret.
#ifndef HEFT_CKKS_ENCRYPTOR_H_
#define HEFT_CKKS_ENCRYPTOR_H_

#include "base/csprng.h"
#include "ckks/ciphertext.h"
#include "ckks/keys.h"

namespace heft::ckks {

// Encrypt: at the plaintext's level. Computes modulo the special prime too and divides by it, as
// SEAL does, which leaves little noise besides the rounding. Requires a plaintext of this context
// that is not extended.
Ciphertext Encrypt(const Context& context, const Plaintext& plaintext, const PublicKey& key,
                   Csprng& rng);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_ENCRYPTOR_H_
