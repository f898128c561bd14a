// SPDX-License-Identifier: Apache-2.0
// CheckShape: the contract of all operands. Debug builds assert it in each operation
// (base/check.h), so that an invalid ciphertext is found where it is created.
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

// CheckShape of a plaintext: the same for its one polynomial, with the special prime's limb if it
// is extended.
absl::Status CheckShape(const Context& context, const Plaintext& a);

// CheckShape of a public key: both parts modulo all primes, the special one included.
absl::Status CheckShape(const Context& context, const PublicKey& key);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_SHAPE_H_
