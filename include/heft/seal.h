// SPDX-License-Identifier: Apache-2.0
// Objects of Microsoft SEAL 4.x in and out (docs/seal.md), and the operations that compute on them:
// heft::seal::ReadParams, ReadCiphertext, ReadRelinearisationKey, ...; heft::ckks::Multiply,
// Rotate,
// ... SEAL itself is not needed. examples/seal_exchange.cc shows both sides.
#ifndef HEFT_SEAL_H_
#define HEFT_SEAL_H_

#include "ckks/arithmetic.h"  // IWYU pragma: export
#include "ckks/encoder.h"     // IWYU pragma: export
#include "ckks/key_switch.h"  // IWYU pragma: export
#include "seal/keys.h"        // IWYU pragma: export
#include "seal/objects.h"     // IWYU pragma: export

#endif  // HEFT_SEAL_H_
