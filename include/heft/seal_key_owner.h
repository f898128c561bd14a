// SPDX-License-Identifier: Apache-2.0
// The key owner's exchange with Microsoft SEAL 4.x (heft/seal.h): the functions that need the
// secret key. Link heft::heft, never in a server.
#ifndef HEFT_SEAL_KEY_OWNER_H_
#define HEFT_SEAL_KEY_OWNER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/base.h"
#include "heft/key_owner.h"
#include "heft/seal.h"

namespace heft {

// ImportSealSecretKey: creates the secret key file `out` (mode 0600) from SEAL's SecretKey in the
// file `in`, sealed if `passphrase` is set and returns one. `in` is the matching ring's key and
// `enrolment_in` the enrolment ring's. kInvalidArgument unless both are given. kAlreadyExists if
// `out` exists; kFailedPrecondition if other users may read `in`, which holds the key unencrypted.
HEFT_EXPORT absl::Status ImportSealSecretKey(const Model& model, const KeyId& key_id,
                                             const std::string& in, const std::string& out,
                                             const PassphraseSource& passphrase = {},
                                             const Monitor& monitor = {},
                                             const std::string& enrolment_in = "");

// ExportSealSecretKey: writes SEAL's SecretKey, unencrypted, into a new file of mode 0600.
HEFT_EXPORT absl::Status ExportSealSecretKey(const KeyOwner& owner, const std::string& out,
                                             const Monitor& monitor = {},
                                             SealRing ring = SealRing::kMatching);

// SealEvaluationKeys: new keys for SEAL, all that the model needs in the matching ring. (SEAL has
// no ring switch, so HEFT must do the enrolment.)
struct SealEvaluationKeys {
  std::vector<uint8_t> relinearisation;  // SEAL's RelinKeys
  std::vector<uint8_t> galois;           // SEAL's GaloisKeys
  size_t galois_keys = 0;                // number of Galois keys
};
HEFT_EXPORT absl::StatusOr<SealEvaluationKeys> ExportSealEvaluationKeys(
    const KeyOwner& owner, SealCompression compression, const Monitor& monitor = {});

}  // namespace heft

#endif  // HEFT_SEAL_KEY_OWNER_H_
