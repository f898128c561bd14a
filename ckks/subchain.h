// SPDX-License-Identifier: Apache-2.0
// WithoutPrime: the same instance with one data prime left out. A ciphertext modulo Q is one modulo
// Q / q_i, and a switching key decomposes by single primes, so it serves any of them: a route that
// does not need a level can leave its prime out, and with it a share of the transforms and of the
// keys to read.
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

// WithoutPrime, of keys: those of fewer limbs than that keep what they have.
SwitchKey WithoutPrime(const SwitchKey& key, size_t limb);
EvaluationKeys WithoutPrime(const EvaluationKeys& keys, size_t limb);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_SUBCHAIN_H_
