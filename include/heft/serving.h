// SPDX-License-Identifier: Apache-2.0
// A server with its keys and its trust file, whose signers they were checked by. heft/desk.h serves
// requests with it.
//
//   auto keys = heft::CheckKeys(&trust, {evaluation_keys, "evaluation.keys"});
//   auto served = heft::TrustedServer::Create(model, trust, *keys);
//
// Link heft::server.
#ifndef HEFT_SERVING_H_
#define HEFT_SERVING_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/export.h"
#include "heft/gallery.h"
#include "heft/model.h"
#include "heft/server.h"
#include "heft/trust.h"

namespace heft {

// ReadTrustedModel: reads a model file. If `trust` lists trainers, one of them must have signed it.
// Errors of OpenSigned and Model::Parse.
HEFT_EXPORT absl::StatusOr<Model> ReadTrustedModel(const Trust* trust,
                                                   std::span<const uint8_t> bytes,
                                                   std::string_view what);

// CheckedKeys: key files and their signer. These are views of the checked bytes.
struct CheckedKeys {
  KeyFile evaluation;
  KeyFile enrolment;      // empty and not expanded if there are none
  SignerKey key_owner{};  // zeros: no signature was checked
};
// CheckKeys: checks that one key owner of `trust` signed the evaluation keys and, if given, the
// enrolment keys. Without `trust` no signature is checked. OpenSigned's errors; kFailedPrecondition
// for two different key owners.
HEFT_EXPORT absl::StatusOr<CheckedKeys> CheckKeys(const Trust* trust, const KeyFile& evaluation,
                                                  const KeyFile& enrolment = {});

// TrustedServer: a server whose keys have been checked, with the trust file by which they were.
struct HEFT_EXPORT TrustedServer {
  // Create: errors of Server::CreateFrom.
  static absl::StatusOr<TrustedServer> Create(const Model& model, std::optional<Trust> trust,
                                              const CheckedKeys& keys);

  Server server;
  std::optional<Trust> trust;  // none: no signature is checked
  SignerKey key_owner{};       // the audience of replies; zeros: anybody

  const Trust* trusted() const { return trust ? &*trust : nullptr; }
  // TakeHead: keeps the end of the key owner's journal (KeyOwner::SignedHead, or the file
  // journal.head beside the secret key) in the gallery's store if it is newer than the kept one;
  // returns whether it is. From then on requests to the key owner and replies carry it, so that the
  // key owner opens nothing with an older journal. `what` names it in errors. kFailedPrecondition
  // without a trust file; for a head of another key or key owner; and for a fork, which is a head
  // with the number of the kept one and another digest: the store records it
  // (GalleryInfo::owner_journal_fork). kDataLoss, kUnavailable. Cost: one commit if it is newer.
  absl::StatusOr<bool> TakeHead(const std::string& gallery, std::span<const uint8_t> head,
                                std::string_view what) const;
};

// EquipGallery: creates the files that a gallery's server needs, if they do not exist: its signing
// key, which is returned, and the key from which the randomness of replies is derived. Errors of
// GallerySigner and MakeAuditKey.
HEFT_EXPORT absl::StatusOr<SigningKey> EquipGallery(const std::string& gallery);

}  // namespace heft

#endif  // HEFT_SERVING_H_
