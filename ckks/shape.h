// SPDX-License-Identifier: Apache-2.0
// CheckShape: what every operation takes for granted of its operands. Debug builds assert it at
// each of them (base/check.h), so that a broken ciphertext is found where it arises.
#ifndef HEFT_CKKS_SHAPE_H_
#define HEFT_CKKS_SHAPE_H_

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/context.h"
#include "ckks/keys.h"

namespace heft::ckks {

// CheckShape of a ciphertext: two or three parts of this context's degree, of equal limbs, 1 to
// all, every residue below its prime; a positive, finite scale; a noise estimate that is not
// negative.
absl::Status CheckShape(const Context& context, const Ciphertext& a);

// CheckShape of a plaintext: the same for its one polynomial, with the special prime's limb where
// it is extended.
absl::Status CheckShape(const Context& context, const Plaintext& a);

// CheckShape of a public key: both parts modulo all primes, the special one included.
absl::Status CheckShape(const Context& context, const PublicKey& key);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_SHAPE_H_
