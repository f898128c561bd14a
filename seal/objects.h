// SPDX-License-Identifier: Apache-2.0
// ReadCiphertext and the like: SEAL 4.x objects without keys: encryption parameters, plaintexts and
// ciphertexts (docs/seal.md). Supported are the CKKS scheme, NTT form, and primes below 2^30.
//
// Readers take all of `bytes` as one object, with any compression. They check sizes before they
// allocate memory, and residues before any computation; `what` names the object in errors.
// kDataLoss: damaged bytes. kFailedPrecondition: valid bytes of other parameters. kInvalidArgument:
// features of SEAL that HEFT does not support.
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
// ReadPlaintext: of a data level. Assumes the noise of an encoding.
absl::StatusOr<ckks::Plaintext> ReadPlaintext(const ckks::Context& context, ByteSpan bytes,
                                              std::string_view what);

// WriteCiphertext: two or three parts. With `seed`, from which part 1 was expanded (two parts
// only), half the bytes.
std::vector<uint8_t> WriteCiphertext(const ckks::Context& context,
                                     const ckks::Ciphertext& ciphertext, Compression compression,
                                     const SealSeed* seed = nullptr);
// ReadCiphertext: expands a seeded part, and returns its seed in `seed` if that is given. Assumes
// the noise of a fresh public-key encryption, because SEAL's files do not contain it.
absl::StatusOr<ckks::Ciphertext> ReadCiphertext(const ckks::Context& context, ByteSpan bytes,
                                                std::string_view what,
                                                std::optional<SealSeed>* seed = nullptr);

}  // namespace heft::seal

#endif  // HEFT_SEAL_OBJECTS_H_
