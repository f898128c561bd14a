// SPDX-License-Identifier: Apache-2.0
// Key sets: a secret key with all that goes with it, in one folder. All of a set's files are
// written or none, and a secret key is never overwritten. Public keys are signed by the key owner,
// whom the folder's trust file lists. Link heft::heft.
#ifndef HEFT_KEY_SET_H_
#define HEFT_KEY_SET_H_

#include <string>

#include "absl/status/statusor.h"
#include "heft/export.h"
#include "heft/json.h"
#include "heft/key_owner.h"

namespace heft {

// KeySet: what was written.
struct KeySet {
  KeyId key_id{};
  std::string parameters, security;  // in words
  std::string secret_key;            // FOLDER/secret.key, mode 0600; empty if it was not written
  std::string encryption_key;        // FOLDER/encryption.key, for clients
  std::string evaluation_keys;       // FOLDER/evaluation.keys, for the server
  std::string enrolment_keys;        // FOLDER/enrolment.keys, the same; two rings alone
  size_t enrolment_keys_bytes = 0;
  size_t encryption_key_bytes = 0;
  size_t evaluation_keys_bytes = 0;
  std::string rekeying_key;  // FOLDER/rekeying.key, for the server; after RenewKey
  size_t rekeying_key_bytes = 0;
  std::string trust;  // FOLDER/trust.heft: whom to believe, for all roles (heft/trust.h)
};

// KeySetJson: all of it, by the names of the fields; files and sizes that are not there left out.
HEFT_EXPORT Json KeySetJson(const KeySet& set);

// MakeKeySet: a new secret key, sealed under `passphrase`, or in the clear if that is not set.
// kInvalidArgument if it gives an empty one. kAlreadyExists where the folder holds a key, before
// `passphrase` is asked.
HEFT_EXPORT absl::StatusOr<KeySet> MakeKeySet(const Model& model, const std::string& folder,
                                              const PassphraseSource& passphrase = {},
                                              const Monitor& monitor = {});

// MakePublicKeys: new encryption and evaluation keys for a secret key that is there, in the place
// of those in the folder: after a model with other rotations. A trust file that is there stays,
// with the owner added.
HEFT_EXPORT absl::StatusOr<KeySet> MakePublicKeys(const KeyOwner& owner, const std::string& folder,
                                                  const Monitor& monitor = {});

// RenewKey: a set for a new secret key, the key that moves galleries to it, and the old key's
// record of queries handed on, which revokes the old key. kFailedPrecondition if it is revoked
// already. Where `old` requires signatures, its trust goes along, with the new key in the place of
// its own.
HEFT_EXPORT absl::StatusOr<KeySet> RenewKey(const KeyOwner& old, const std::string& folder,
                                            const PassphraseSource& passphrase = {},
                                            const Monitor& monitor = {});

}  // namespace heft

#endif  // HEFT_KEY_SET_H_
