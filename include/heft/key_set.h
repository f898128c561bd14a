// SPDX-License-Identifier: Apache-2.0
// Key sets: a secret key with its public keys, in one folder. All files of a set are written or
// none, and a secret key is never overwritten. The key owner signs the public keys, and the
// folder's trust file lists its signing key. Link heft::heft.
#ifndef HEFT_KEY_SET_H_
#define HEFT_KEY_SET_H_

#include <string>

#include "absl/status/statusor.h"
#include "heft/export.h"
#include "heft/json.h"
#include "heft/key_owner.h"

namespace heft {

// KeySet: the files that were written.
struct KeySet {
  KeyId key_id{};
  std::string parameters, security;  // in words
  std::string secret_key;            // FOLDER/secret.key, mode 0600; empty if it was not written
  std::string encryption_key;        // FOLDER/encryption.key, for clients
  std::string evaluation_keys;       // FOLDER/evaluation.keys, for the server
  std::string enrolment_keys;        // FOLDER/enrolment.keys, for the server; only with two rings
  size_t enrolment_keys_bytes = 0;
  size_t encryption_key_bytes = 0;
  size_t evaluation_keys_bytes = 0;
  std::string rekeying_key;  // FOLDER/rekeying.key, for the server; after RenewKey
  size_t rekeying_key_bytes = 0;
  std::string trust;  // FOLDER/trust.heft: accepted signers, for all roles (heft/trust.h)
};

// KeySetJson: all fields by their names, without files that were not written and their sizes.
HEFT_EXPORT Json KeySetJson(const KeySet& set);

// MakeKeySet: a new secret key, sealed under `passphrase`, or in the clear without one.
// kInvalidArgument for an empty passphrase. kAlreadyExists if the folder holds a key; `passphrase`
// is not called then.
HEFT_EXPORT absl::StatusOr<KeySet> MakeKeySet(const Model& model, const std::string& folder,
                                              const PassphraseSource& passphrase = {},
                                              const Monitor& monitor = {});

// MakePublicKeys: replaces the encryption and evaluation keys of an existing secret key, for
// example for a model with other rotations. An existing trust file stays, with the owner added.
HEFT_EXPORT absl::StatusOr<KeySet> MakePublicKeys(const KeyOwner& owner, const std::string& folder,
                                                  const Monitor& monitor = {});

// RenewKey: a set for a new secret key, and the key that moves galleries to it. The old key's
// record of queries moves to the new key, which revokes the old one. kFailedPrecondition if it is
// already revoked. If `old` requires signatures, its trust is copied, with the new signing key
// instead of the old one.
HEFT_EXPORT absl::StatusOr<KeySet> RenewKey(const KeyOwner& old, const std::string& folder,
                                            const PassphraseSource& passphrase = {},
                                            const Monitor& monitor = {});

}  // namespace heft

#endif  // HEFT_KEY_SET_H_
