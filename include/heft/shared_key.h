// SPDX-License-Identifier: Apache-2.0
// Shared keys: a secret key that no owner holds alone. It is shared among `owners` key owners, and
// opening a reply, or a proof of an enrolment, takes `threshold` of them (KeyOwner::OpenPart).
// Nothing changes for clients and servers. docs/owners.md. Link heft::heft.
#ifndef HEFT_SHARED_KEY_H_
#define HEFT_SHARED_KEY_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/export.h"
#include "heft/json.h"
#include "heft/key_owner.h"
#include "heft/key_set.h"

namespace heft {

// SharedKeySet: the files of a dealer's ceremony.
struct SharedKeySet {
  KeySet keys;  // public ones, and the trust file, which lists all owners
  uint32_t threshold = 0;
  std::vector<std::string> shares;  // FOLDER/owner-1/share.key and so on, mode 0600
  size_t share_bytes = 0;           // of each
  std::string ceremony;             // FOLDER/ceremony.heft, the dealer's signed record
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

// CeremonyCheck: what an owner's share says of its ceremony.
struct CeremonyCheck {
  SharedKey shared;
  KeyId key_id{};
  uint64_t time = 0;  // Unix seconds, of the dealer's signature
  SignerKey dealer{};
  Digest digest{};  // of the record: the same for all owners
  std::vector<SignerKey> owners;
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

#endif  // HEFT_SHARED_KEY_H_
