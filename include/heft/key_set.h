// SPDX-License-Identifier: Apache-2.0
// Key sets: a secret key with its public keys, in one folder. All files of a set are written or
// none, and a secret key is never overwritten. The key owner signs the public keys, and the
// folder's trust file lists its signing key. Link heft::heft.
#ifndef HEFT_KEY_SET_H_
#define HEFT_KEY_SET_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/base.h"
#include "heft/files.h"
#include "heft/key_owner.h"

namespace heft {

// KeySet: the files that were written.
struct KeySet {
  KeyId key_id{};          // id of the key
  std::string parameters;  // the encryption parameters in words
  std::string security;    // their security in words
  // Path of the secret key, FOLDER/secret.key, mode 0600; empty if it was not written.
  std::string secret_key;
  std::string encryption_key;  // path of the encryption key, FOLDER/encryption.key, for clients
  // Path of the evaluation keys, FOLDER/evaluation.keys, for the server.
  std::string evaluation_keys;
  // Path of the enrolment keys, FOLDER/enrolment.keys, for the server; empty if there is one ring.
  std::string enrolment_keys;
  size_t enrolment_keys_bytes = 0;   // bytes of the enrolment keys
  size_t encryption_key_bytes = 0;   // bytes of the encryption key
  size_t evaluation_keys_bytes = 0;  // bytes of the evaluation keys
  // Path of the re-keying key, FOLDER/rekeying.key, for the server, after RenewKey; otherwise
  // empty.
  std::string rekeying_key;
  size_t rekeying_key_bytes = 0;  // bytes of the re-keying key
  std::string trust;  // path of the trust file, FOLDER/trust.heft: accepted signers of all roles
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

// Shared keys: a secret key that no owner holds alone. It is shared among `owners` key owners, and
// opening a reply, or a proof of an enrolment, takes `threshold` of them (KeyOwner::OpenPart).
// Nothing changes for clients and servers. docs/owners.md. Link heft::heft.

// SharedKeySet: the files of a dealer's ceremony.
struct SharedKeySet {
  KeySet keys;                      // the public keys, and the trust file, which lists all owners
  uint32_t threshold = 0;           // number of owners who open together
  std::vector<std::string> shares;  // paths of the shares, FOLDER/owner-1/share.key and so on
  size_t share_bytes = 0;           // bytes of a share
  std::string ceremony;             // path of the dealer's signed record, FOLDER/ceremony.heft
};
HEFT_EXPORT Json SharedKeySetJson(const SharedKeySet& set);

// MakeSharedKeySet: deals the shares of a new secret key, which it wipes. `passphrases`: one for
// each owner's share; empty: unsealed. Each owner's folder also gets the trust file, the record and
// the owner's journal. kInvalidArgument unless 2 <= threshold <= 3 and threshold <= owners <= 5,
// and for passphrases of another number; kFailedPrecondition for a model of another profile than
// "flooded", or without room for the noise of `threshold` owners; kAlreadyExists if the folder
// holds keys. After a failure no file is left.
HEFT_EXPORT absl::StatusOr<SharedKeySet> MakeSharedKeySet(
    const Model& model, const std::string& folder, uint32_t owners, uint32_t threshold,
    const std::vector<PassphraseSource>& passphrases = {}, const Monitor& monitor = {});

// Shared keys: a gallery moves from one to another. Both must be shared, for one model, with the
// same threshold, and an owner has the same number in both. GiveRekeyingPart writes this owner's
// signed part of the re-keying key, for one of the other `owners`, which passes it to
// CombineRekeyingKey. Each also hands its record of queries on to its new share, unused until then,
// and revokes its old share; so it does so once. kFailedPrecondition for other shares, a revoked
// one, and parts of others; kDataLoss, kInvalidArgument, kAlreadyExists.
HEFT_EXPORT absl::Status GiveRekeyingPart(const KeyOwner& old, const KeyOwner& next,
                                          const OwnerSet& owners, const std::string& path);
HEFT_EXPORT absl::Status CombineRekeyingKey(const KeyOwner& old, const KeyOwner& next,
                                            std::span<const ReplyFile> parts,
                                            const std::string& path);

// JoinStep: what one call of JoinKeySet did.
struct JoinStep {
  uint32_t round = 0;   // round of the message that was written, 1 to 5; 6: the set is complete
  uint32_t owner = 0;   // number of this owner, from round 2 on; before 0
  uint32_t owners = 0;  // number of owners, all of whom open
  std::string message;  // path of the message for all owners, or empty
  uint64_t message_bytes = 0;  // size of the message
  KeySet keys;                 // the public keys and the trust file of a complete set
  std::string share;           // path of this owner's share of a complete set
  std::string ceremony;        // path of the record of a complete set
};
HEFT_EXPORT Json JoinStepJson(const JoinStep& step);

// JoinKeySet: one step of a ceremony without a dealer, for a key that all `owners`, 2 or 3, open
// together. Each draws its own term of the secret, whose sum is in no process. A step writes a
// message for all owners, and the next one takes the files of all messages of a round, this owner's
// among them: hello, commit, parts, last, record. The owner's state between the steps is in
// FOLDER/joining.key, sealed under `passphrase` as the share will be. `messages`: paths; none: the
// first step, in a folder without keys. Later `owners` may be 0.
//
// kInvalidArgument for another number of owners, messages of another round, missing and repeated
// ones. kFailedPrecondition for a model as in MakeSharedKeySet; for messages of another ceremony or
// model; for an owner that was shown other messages than this one, or whose parts are not those
// that it committed to. kAlreadyExists, kDataLoss, kCancelled. After an error a step can be
// repeated with the right messages. All owners must compare the record's digest (CheckCeremony).
HEFT_EXPORT absl::StatusOr<JoinStep> JoinKeySet(const Model& model, const std::string& folder,
                                                uint32_t owners,
                                                std::span<const std::string> messages,
                                                const PassphraseSource& passphrase = {},
                                                const Monitor& monitor = {});

// CeremonyCheck: what an owner's share says of its ceremony.
struct CeremonyCheck {
  SharedKey shared;               // whose share it is
  KeyId key_id{};                 // id of the key
  uint64_t time = 0;              // Unix seconds of the dealer's signature
  SignerKey dealer{};             // public key of the dealer
  Digest digest{};                // digest of the record: the same for all owners
  std::vector<SignerKey> owners;  // public signing key of each owner
  bool joint = false;             // made without a dealer: the first owner signed the public keys
};
// CheckCeremony: whether the public keys in `folder` are those of the ceremony that `owner`'s share
// is of, and the share is the one that its record commits to. kDataLoss for a file that is not,
// kFailedPrecondition for a whole key.
HEFT_EXPORT absl::StatusOr<CeremonyCheck> CheckCeremony(const KeyOwner& owner,
                                                        const std::string& folder);
HEFT_EXPORT Json CeremonyCheckJson(const CeremonyCheck& check);

// New shares of the same key, which no owner sees: to renew all shares, so that stolen old
// ones are worthless, or to replace an owner whose share is lost. Each of `threshold` owners gives
// a message for all (GiveNewShares), and every owner makes its new share from all messages
// (TakeNewShare). Public keys, replies and journals stay.
//
// Replacement: the owner that is replaced, and the new one's public signing key; 0: none.
struct Replacement {
  uint32_t owner = 0;
  SignerKey signer{};
  bool operator==(const Replacement&) const = default;
};
// GiveNewShares: a signed message, whose parts are sealed for the owners. `owners`: all who give
// one, this one among them. kInvalidArgument, kFailedPrecondition.
HEFT_EXPORT absl::StatusOr<std::vector<uint8_t>> GiveNewShares(const KeyOwner& owner,
                                                               const OwnerSet& owners,
                                                               const Replacement& replacement = {});
// TakeNewShare: writes the new share to `path`. It takes the old one's place, beside the journal,
// once all owners have theirs; destroy the old shares then. kAlreadyExists, kDataLoss,
// kFailedPrecondition for messages that do not belong together or to the share.
HEFT_EXPORT absl::Status TakeNewShare(const KeyOwner& owner, std::span<const ReplyFile> messages,
                                      const std::string& path,
                                      const PassphraseSource& passphrase = {});
// MakeBlankShare: for the successor of `owner`: a share of nothing yet, with a signing key
// and a journal, for TakeNewShare. `record`: ceremony.heft. Returns the public key for Replacement.
HEFT_EXPORT absl::StatusOr<SignerKey> MakeBlankShare(const Model& model,
                                                     std::span<const uint8_t> record,
                                                     uint32_t owner, const std::string& path,
                                                     const PassphraseSource& passphrase = {});

}  // namespace heft

#endif  // HEFT_KEY_SET_H_
