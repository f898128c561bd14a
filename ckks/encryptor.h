// SPDX-License-Identifier: Apache-2.0
// Encrypt: public-key encryption, what a capture device does. Nothing here needs a secret.
#ifndef HEFT_CKKS_ENCRYPTOR_H_
#define HEFT_CKKS_ENCRYPTOR_H_

#include "base/csprng.h"
#include "ckks/ciphertext.h"
#include "ckks/keys.h"

namespace heft::ckks {

// Encrypt works at the plaintext's level: modulo the special prime too and divides by it, as SEAL
// does, which leaves little more than the rounding as noise. Requires a plaintext of this context
// that is not extended.
Ciphertext Encrypt(const Context& context, const Plaintext& plaintext, const PublicKey& key,
                   Csprng& rng);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_ENCRYPTOR_H_
