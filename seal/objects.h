// SPDX-License-Identifier: Apache-2.0
// ReadCiphertext and the like: SEAL 4.x objects without keys, encryption parameters, plaintexts,
// ciphertexts (docs/seal.md). The CKKS scheme, in NTT form, with primes below 2^30: what this
// engine computes with.
//
// Readers take the whole of `bytes` as one object, with any compression, and check sizes before
// they take memory and residues before anything computes with them; `what` names the object in
// errors. kDataLoss: damaged bytes. kFailedPrecondition: good ones of other parameters.
// kInvalidArgument: what SEAL allows and this engine does not.
#ifndef HEFT_SEAL_OBJECTS_H_
#define HEFT_SEAL_OBJECTS_H_

#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/context.h"
#include "seal/encryption.h"
#include "seal/format.h"

namespace heft::seal {

// WriteParams: data primes, then the special one.
std::vector<uint8_t> WriteParams(const ckks::Params& params, Compression compression);
// ReadParams: insecure sets are refused unless `allow_insecure`.
absl::StatusOr<ckks::Params> ReadParams(ByteSpan bytes, std::string_view what,
                                        bool allow_insecure = false);

// WritePlaintext: kInvalidArgument for an extended plaintext.
absl::StatusOr<std::vector<uint8_t>> WritePlaintext(const ckks::Context& context,
                                                    const ckks::Plaintext& plaintext,
                                                    Compression compression);
// ReadPlaintext: of a data level. The noise is taken to be that of an encoding.
absl::StatusOr<ckks::Plaintext> ReadPlaintext(const ckks::Context& context, ByteSpan bytes,
                                              std::string_view what);

// WriteCiphertext: two or three parts. With `seed`, which part 1 was expanded from (two parts
// only), half the bytes.
std::vector<uint8_t> WriteCiphertext(const ckks::Context& context,
                                     const ckks::Ciphertext& ciphertext, Compression compression,
                                     const SealSeed* seed = nullptr);
// ReadCiphertext: a seeded part is expanded, and its seed returned through `seed` where that is
// given. The noise is taken to be that of a fresh public-key encryption: SEAL's files do not tell.
absl::StatusOr<ckks::Ciphertext> ReadCiphertext(const ckks::Context& context, ByteSpan bytes,
                                                std::string_view what,
                                                std::optional<SealSeed>* seed = nullptr);

}  // namespace heft::seal

#endif  // HEFT_SEAL_OBJECTS_H_
