// SPDX-License-Identifier: Apache-2.0
// A request, from what came to what is signed: what everybody does who serves one, a tool, a daemon
// or a database, and in this order. Whose keys, who asks, once, the answer, for the key owner:
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

// ReadTrustedModel: a model file; where `trust` lists trainers, one of them must have signed it.
// Errors of OpenSigned and Model::Parse.
HEFT_EXPORT absl::StatusOr<Model> ReadTrustedModel(const Trust* trust,
                                                   std::span<const uint8_t> bytes,
                                                   std::string_view what);

// CheckedKeys: files of keys, and who signed them. Views of what they were checked from.
struct CheckedKeys {
  KeyFile evaluation;
  KeyFile enrolment;      // none: of no bytes, and not expanded
  SignerKey key_owner{};  // zeros: nobody was asked
};
// CheckKeys: evaluation keys, and those for enrolment where there are any, signed by a key owner of
// `trust`, both by the same; without `trust` nobody is asked. OpenSigned's errors, and
// kFailedPrecondition for two key owners.
HEFT_EXPORT absl::StatusOr<CheckedKeys> CheckKeys(const Trust* trust, const KeyFile& evaluation,
                                                  const KeyFile& enrolment = {});

// TrustedServer: a server whose keys have been checked, and whose word counts with it.
struct HEFT_EXPORT TrustedServer {
  // Create: errors of Server::CreateFrom.
  static absl::StatusOr<TrustedServer> Create(const Model& model, std::optional<Trust> trust,
                                              const CheckedKeys& keys);

  Server server;
  std::optional<Trust> trust;  // none: nobody is asked
  SignerKey key_owner{};       // for whom replies are; zeros: anybody

  const Trust* trusted() const { return trust ? &*trust : nullptr; }
  // SignFor: what only the key owner is to read, and answer, of a gallery: what waits, or is to be
  // renewed.
  absl::StatusOr<std::vector<uint8_t>> SignFor(const SigningKey& key, const Gallery& gallery,
                                               std::span<const uint8_t> request,
                                               uint64_t life = kAdmissionLife) const;
};

// EquipGallery: what a gallery's server needs beside it, made where it is not there: the key that
// it signs with, which is the result, and what its replies' randomness follows from. Errors of
// GallerySigner and MakeAuditKey.
HEFT_EXPORT absl::StatusOr<SigningKey> EquipGallery(const std::string& gallery);

// RowOf: what a probe is signed and remembered as: its row, or kAllRows for a mean.
inline uint64_t RowOf(const ProbeOptions& options) {
  return options.average ? kAllRows : options.row;
}

// IncomingRequest: a request on its way through a server.
struct HEFT_EXPORT IncomingRequest {
  // Read: who asks, by the files as they came (ReadRequest). `key` signs the replies; nullptr: of a
  // gallery that is yet to be, whose server has no key that a request could be for. Changes
  // nothing.
  static absl::StatusOr<IncomingRequest> Read(const TrustedServer& server,
                                              std::shared_ptr<const SigningKey> key,
                                              std::span<const SampleFile> files, uint64_t row);
  // The same where no TrustedServer is held: nullptr, nobody is asked; for whom replies are.
  static absl::StatusOr<IncomingRequest> Read(const Trust* trust, const SignerKey& key_owner,
                                              std::shared_ptr<const SigningKey> key,
                                              std::span<const SampleFile> files, uint64_t row);

  // Take: for good, when nothing is left that could be said against it: the last thing before it is
  // worked on. Errors of RememberRequest. Of a gallery that is yet to be nothing is remembered.
  absl::Status Take(const std::string& gallery) const;
  // Sign: a reply to it, or to one row where all were asked for, for the key owner.
  absl::StatusOr<std::vector<uint8_t>> Sign(const Gallery& gallery, std::span<const uint8_t> reply,
                                            uint64_t life = kLife) const {
    return SignRow(row, gallery, reply, life);
  }
  absl::StatusOr<std::vector<uint8_t>> SignRow(uint64_t of, const Gallery& gallery,
                                               std::span<const uint8_t> reply,
                                               uint64_t life = kLife) const;

  // Signer: the same for Server::IdentifySigned; good as long as this is.
  ReplySigner Signer(uint64_t life = kLife) const {
    return {key.get(), &request, row, key_owner, life};
  }

  Request request;  // `client` may be set where nobody signed it: whose budget it is
  uint64_t row = 0;
  std::shared_ptr<const SigningKey> key;
  SignerKey key_owner{};
};

// FindSigner: GallerySigner for IncomingRequest::Read; nullptr where there is no gallery yet.
HEFT_EXPORT absl::StatusOr<std::shared_ptr<const SigningKey>> FindSigner(
    const std::string& gallery);

// EnrolOnce: Server::Enrol of a request. Who asks again with the idempotency key of one that was
// answered is told so, and nothing else happens; otherwise `take` takes it for good (without it
// asked.Take(gallery)) and it is enrolled. Authorisations count as the options' trust says.
HEFT_EXPORT absl::StatusOr<EnrolResult> EnrolOnce(const Server& server, const std::string& gallery,
                                                  const IncomingRequest& asked,
                                                  std::vector<SampleFile> files,
                                                  const EnrolOptions& options,
                                                  const Monitor& monitor = {},
                                                  const std::function<absl::Status()>& take = {});
// The same, by the server's trust.
HEFT_EXPORT absl::StatusOr<EnrolResult> EnrolOnce(const TrustedServer& server,
                                                  const std::string& gallery,
                                                  const IncomingRequest& asked,
                                                  std::vector<SampleFile> files,
                                                  EnrolOptions options, const Monitor& monitor = {},
                                                  const std::function<absl::Status()>& take = {});

}  // namespace heft

#endif  // HEFT_SERVING_H_
