// SPDX-License-Identifier: Apache-2.0
// Serving a request, from the received files to the signed reply, in the order in which every
// server must do it, be it a tool, a daemon or a database. The steps: check the keys, identify the
// client, record the request, compute, and sign for the key owner:
//
//   auto keys = heft::CheckKeys(&trust, {evaluation_keys, "evaluation.keys"});
//   auto served = heft::TrustedServer::Create(model, trust, *keys);
//   auto asked = heft::IncomingRequest::Read(*served, signing_key, files, heft::RowOf(options));
//   auto taken = asked->Take("gallery");
//   auto scores = served->server.Identify(gallery, files, options);
//   auto reply = asked->Sign(gallery, *scores);
//
// Link heft::server.
#ifndef HEFT_SERVING_H_
#define HEFT_SERVING_H_

#include <cstdint>
#include <functional>
#include <memory>
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
#include "heft/progress.h"
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
  // SignFor: signs a request that only the key owner may read and answer: for an admission or a
  // renewal.
  absl::StatusOr<std::vector<uint8_t>> SignFor(const SigningKey& key, const Gallery& gallery,
                                               std::span<const uint8_t> request,
                                               uint64_t life = kAdmissionLife) const;
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

// RowOf: the row that is signed and recorded for a probe: its row, or kAllRows for a mean.
inline uint64_t RowOf(const ProbeOptions& options) {
  return options.average ? kAllRows : options.row;
}

// IncomingRequest: a request while a server handles it.
struct HEFT_EXPORT IncomingRequest {
  // Read: determines the client from the files as they were received (ReadRequest). `key` signs the
  // replies; nullptr for a gallery that does not exist yet, whose server has no key to which a
  // request could be addressed. Changes nothing.
  static absl::StatusOr<IncomingRequest> Read(const TrustedServer& server,
                                              std::shared_ptr<const SigningKey> key,
                                              std::span<const SampleFile> files, uint64_t row);
  // The same without a TrustedServer. `trust` nullptr: no signature is checked. `key_owner`: the
  // audience of replies.
  static absl::StatusOr<IncomingRequest> Read(const Trust* trust, const SignerKey& key_owner,
                                              std::shared_ptr<const SigningKey> key,
                                              std::span<const SampleFile> files, uint64_t row);

  // Take: records the request as answered; call it after all checks and immediately before the
  // computation. Errors of RememberRequest. Records nothing for a gallery that does not exist yet.
  absl::Status Take(const std::string& gallery) const;
  // Sign: signs a reply to the request for the key owner; SignRow signs the reply to one row of a
  // request for all rows.
  absl::StatusOr<std::vector<uint8_t>> Sign(const Gallery& gallery, std::span<const uint8_t> reply,
                                            uint64_t life = kLife) const {
    return SignRow(row, gallery, reply, life);
  }
  absl::StatusOr<std::vector<uint8_t>> SignRow(uint64_t of, const Gallery& gallery,
                                               std::span<const uint8_t> reply,
                                               uint64_t life = kLife) const;

  // Signer: the same for Server::IdentifySigned; valid as long as this object.
  ReplySigner Signer(uint64_t life = kLife) const {
    return {key.get(), &request, row, key_owner, life};
  }

  Request request;  // `client` may be set if unsigned: the client whose budget is charged
  uint64_t row = 0;
  std::shared_ptr<const SigningKey> key;
  SignerKey key_owner{};
};

// FindSigner: GallerySigner for IncomingRequest::Read; nullptr if the gallery does not exist yet.
HEFT_EXPORT absl::StatusOr<std::shared_ptr<const SigningKey>> FindSigner(
    const std::string& gallery);

// EnrolOnce: Server::Enrol for a request. A repeated request with a known idempotency key returns
// the stored answer and changes nothing. Otherwise `take` (default: asked.Take(gallery)) records
// the request and the samples are enrolled, as sent by its client. Authorisations are checked
// against the trust file of the options.
HEFT_EXPORT absl::StatusOr<EnrolResult> EnrolOnce(const Server& server, const std::string& gallery,
                                                  const IncomingRequest& asked,
                                                  std::vector<SampleFile> files,
                                                  const EnrolOptions& options,
                                                  const Monitor& monitor = {},
                                                  const std::function<absl::Status()>& take = {});
// The same with the server's trust file.
HEFT_EXPORT absl::StatusOr<EnrolResult> EnrolOnce(const TrustedServer& server,
                                                  const std::string& gallery,
                                                  const IncomingRequest& asked,
                                                  std::vector<SampleFile> files,
                                                  EnrolOptions options, const Monitor& monitor = {},
                                                  const std::function<absl::Status()>& take = {});

}  // namespace heft

#endif  // HEFT_SERVING_H_
