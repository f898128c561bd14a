// SPDX-License-Identifier: Apache-2.0
// Noise flooding: decryption with fresh noise that hides the ciphertext's own noise, from which a
// secret key can be computed (Li and Micciancio, EUROCRYPT 2021).
#ifndef HEFT_CKKS_OWNER_FLOODING_H_
#define HEFT_CKKS_OWNER_FLOODING_H_

#include "base/csprng.h"
#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/owner/secret_key.h"

namespace heft::ckks {

// FloodingOptions: the required security and the permitted error.
struct FloodingOptions {
  int security_bits = 30;       // statistical, at least 30
  uint64_t queries = 1;         // decryptions that an adversary may see
  double largest_error = 1e-3;  // permitted error of a slot, root mean square
  uint32_t parts = 1;           // independent floods in the sum: of partial openings
  uint32_t secrets = 1;         // ternary secrets whose sum the key is (joint_keys.h)
};

// FloodingDeviation: standard deviation of a coefficient's flooding noise, in integer units:
// sqrt(12 queries) 2^(security_bits / 2) times the ciphertext's own error, `slot_error`
// (ckks/noise.h) over sqrt(n). This is the formula of OpenFHE's NOISE_FLOODING_DECRYPT, after Li,
// Micciancio, Schultz and Sorrell, CRYPTO 2022; like OpenFHE it uses a static estimate of the
// error. It is that of one part; the sum of `parts` has sqrt(parts) times as much. Estimates are
// for the key of one owner. With one of `secrets` owners an error is sqrt(secrets) times as large:
// the norm of the secret and the errors of its keys are. (The error of relinearisation grows more,
// but a rescale divides it.)
double FloodingDeviation(const Params& params, double slot_error, const FloodingOptions& options);

// CheckFloodingRoom: whether the noise for the estimate of `ciphertext` fits. kInvalidArgument for
// less than 30 bits or no queries; kFailedPrecondition, with the numbers, if the noise would exceed
// `largest_error`, or wrap around the modulus.
absl::Status CheckFloodingRoom(const Params& params, const Ciphertext& ciphertext,
                               const FloodingOptions& options);

// AddFlood: adds fresh Gaussian noise of this deviation to the coefficients of `poly`, which is in
// NTT form, modulo the first primes.
void AddFlood(const Context& context, double deviation, Csprng& rng, ring::RnsPoly* poly);

// DecryptFlooded: decrypts with flooding noise for that estimate. Errors of CheckFloodingRoom.
absl::StatusOr<Plaintext> DecryptFlooded(const Context& context, const Ciphertext& ciphertext,
                                         const SecretKey& secret, const FloodingOptions& options);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_OWNER_FLOODING_H_
