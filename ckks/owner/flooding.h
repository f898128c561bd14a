// SPDX-License-Identifier: Apache-2.0
// Noise flooding: decryption with fresh noise that hides the ciphertext's own, from which a secret
// key can be computed (Li and Micciancio, EUROCRYPT 2021).
#ifndef HEFT_CKKS_OWNER_FLOODING_H_
#define HEFT_CKKS_OWNER_FLOODING_H_

#include "base/csprng.h"
#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/owner/secret_key.h"

namespace heft::ckks {

// FloodingOptions: what the noise is to hide, and what it may cost.
struct FloodingOptions {
  int security_bits = 30;       // statistical, at least 30
  uint64_t queries = 1;         // decryptions that an adversary may see
  double largest_error = 1e-3;  // of a slot that the caller can live with, root mean square
};

// FloodingDeviation: standard deviation of a coefficient's flooding noise, in integer units:
// sqrt(12 queries) 2^(security_bits / 2) times the ciphertext's own error, `slot_error`
// (ckks/noise.h) over sqrt(n). This is the formula of OpenFHE's NOISE_FLOODING_DECRYPT, after Li,
// Micciancio, Schultz and Sorrell, CRYPTO 2022; like OpenFHE it takes a static estimate for the
// error.
double FloodingDeviation(const Params& params, double slot_error, const FloodingOptions& options);

// CheckFloodingRoom: whether there is room for the noise that the estimate of `ciphertext` asks
// for. kInvalidArgument for less than 30 bits or no queries; kFailedPrecondition, with the numbers,
// where the noise would be larger than `largest_error`, or wrap around the modulus.
absl::Status CheckFloodingRoom(const Params& params, const Ciphertext& ciphertext,
                               const FloodingOptions& options);

// DecryptFlooded decrypts with flooding noise for that estimate; the errors of CheckFloodingRoom.
absl::StatusOr<Plaintext> DecryptFlooded(const Context& context, const Ciphertext& ciphertext,
                                         const SecretKey& secret, const FloodingOptions& options);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_OWNER_FLOODING_H_
