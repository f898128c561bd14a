// SPDX-License-Identifier: Apache-2.0
// WithoutPrime: the same instance without one data prime. A ciphertext modulo Q is also one modulo
// Q / q_i, and a switching key decomposes by single primes, so it works for both. A computation
// that does not need a level can leave out its prime, and saves a share of the transforms and of
// the keys to read.
#ifndef HEFT_CKKS_SUBCHAIN_H_
#define HEFT_CKKS_SUBCHAIN_H_

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/keys.h"

namespace heft::ckks {

// WithoutPrime, of parameters: kInvalidArgument unless `limb` is a data prime and another one
// remains.
absl::StatusOr<Params> WithoutPrime(const Params& params, size_t limb);

// WithoutPrime, of a ciphertext: kInvalidArgument unless `a` has more limbs than `limb`, and at
// least two.
absl::StatusOr<Ciphertext> WithoutPrime(const Ciphertext& a, size_t limb);

// WithoutPrime, of keys: keys with fewer limbs stay as they are.
SwitchKey WithoutPrime(const SwitchKey& key, size_t limb);
EvaluationKeys WithoutPrime(const EvaluationKeys& keys, size_t limb);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_SUBCHAIN_H_
