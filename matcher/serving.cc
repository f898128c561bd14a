// SPDX-License-Identifier: Apache-2.0
#include "heft/serving.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/inside.h"
#include "base/signed_file.h"
#include "base/status.h"
#include "gallery/journal_head.h"
#include "heft/audit.h"
#include "matcher/server_impl.h"

namespace heft {
namespace {

bool Given(const KeyFile& keys) { return keys.expanded != nullptr || !keys.bytes.empty(); }

// The same keys without their signature, and the signer.
absl::StatusOr<SignerKey> CheckOne(const Trust* trust, const std::string& kind, KeyFile* keys) {
  if (trust == nullptr) return SignerKey{};
  const Expected expected = {.roles = {Role::kKeyOwner}, .kind = kind};
  HEFT_ASSIGN_OR_RETURN(const SignedFile file,
                        keys->expanded != nullptr
                            ? keys->expanded->CheckSigned(*trust, expected, keys->what)
                            : OpenBySignature(keys->bytes, *trust, expected, keys->what));
  keys->bytes = file.file;
  keys->verified = true;
  return file.signer;
}

}  // namespace

absl::StatusOr<Model> ReadTrustedModel(const Trust* trust, std::span<const uint8_t> bytes,
                                       std::string_view what) {
  if (trust != nullptr && trust->Lists(Role::kTrainer)) {
    const Expected expected = {.roles = {Role::kTrainer}, .kind = "MODL"};
    HEFT_RETURN_IF_ERROR(OpenSigned(bytes, *trust, expected, what).status());
  }
  return Model::Parse(bytes, what);
}

absl::StatusOr<CheckedKeys> CheckKeys(const Trust* trust, const KeyFile& evaluation,
                                      const KeyFile& enrolment) {
  CheckedKeys keys = {evaluation, enrolment, {}};
  HEFT_ASSIGN_OR_RETURN(keys.key_owner, CheckOne(trust, "EVAL", &keys.evaluation));
  if (!Given(enrolment)) return keys;
  HEFT_ASSIGN_OR_RETURN(const SignerKey other, CheckOne(trust, "ENRK", &keys.enrolment));
  if (other == keys.key_owner) return keys;
  return absl::FailedPreconditionError(absl::StrCat(std::string(enrolment.what),
                                                    ": signed by another key owner than ",
                                                    std::string(evaluation.what)));
}

absl::StatusOr<TrustedServer> TrustedServer::Create(const Model& model, std::optional<Trust> trust,
                                                    const CheckedKeys& keys) {
  HEFT_ASSIGN_OR_RETURN(Server server, Server::CreateFrom(model, keys.evaluation, keys.enrolment));
  return TrustedServer{std::move(server), std::move(trust), keys.key_owner};
}

absl::StatusOr<std::vector<uint8_t>> TrustedServer::SignFor(const SigningKey& key,
                                                            const Gallery& gallery,
                                                            std::span<const uint8_t> request,
                                                            uint64_t life) const {
  return SignReply(key, gallery, {}, 0, key_owner, request, life);
}

absl::StatusOr<bool> TrustedServer::TakeHead(const std::string& gallery,
                                             std::span<const uint8_t> head,
                                             std::string_view what) const {
  if (!trust) {
    return absl::FailedPreconditionError(
        absl::StrCat(std::string(what), ": which key owner to believe? give a trust file"));
  }
  HEFT_ASSIGN_OR_RETURN(const SignedFile file, ReadSigned(head, what));
  Expected expected;
  expected.roles = {Role::kKeyOwner};
  expected.kind = kHeadKind;
  expected.now = file.statement.issued;  // it stays true
  HEFT_RETURN_IF_ERROR(OpenSigned(head, *trust, expected, what).status());
  if (key_owner != SignerKey{} && file.signer != key_owner) {
    return absl::FailedPreconditionError(absl::StrCat(
        std::string(what), ": signed by another key owner than that of the evaluation keys"));
  }
  HEFT_ASSIGN_OR_RETURN(const SignedJournalHead opened,
                        OpenHead(head, file.signer, Inside::Of(server).binding().key_id, what));
  return KeepHead(gallery, opened);
}

absl::StatusOr<SigningKey> EquipGallery(const std::string& gallery) {
  HEFT_ASSIGN_OR_RETURN(SigningKey key, GallerySigner(gallery));
  HEFT_RETURN_IF_ERROR(MakeAuditKey(gallery));
  return key;
}

absl::StatusOr<IncomingRequest> IncomingRequest::Read(const TrustedServer& server,
                                                      std::shared_ptr<const SigningKey> key,
                                                      std::span<const SampleFile> files,
                                                      uint64_t row) {
  return Read(server.trusted(), server.key_owner, std::move(key), files, row);
}

absl::StatusOr<IncomingRequest> IncomingRequest::Read(const Trust* trust,
                                                      const SignerKey& key_owner,
                                                      std::shared_ptr<const SigningKey> key,
                                                      std::span<const SampleFile> files,
                                                      uint64_t row) {
  const SignerKey own = key == nullptr ? SignerKey{} : key->public_key();
  HEFT_ASSIGN_OR_RETURN(Request request, ReadRequest(files, trust, own));
  return IncomingRequest{std::move(request), row, std::move(key), key_owner};
}

absl::Status IncomingRequest::Take(const std::string& gallery) const {
  return key == nullptr ? absl::OkStatus() : RememberRequest(gallery, request, row);
}

absl::StatusOr<std::vector<uint8_t>> IncomingRequest::SignRow(uint64_t of, const Gallery& gallery,
                                                              std::span<const uint8_t> reply,
                                                              uint64_t life) const {
  return SignReply(*key, gallery, request, of, key_owner, reply, life);
}

absl::StatusOr<std::shared_ptr<const SigningKey>> FindSigner(const std::string& gallery) {
  auto key = GallerySigner(gallery);
  if (absl::IsNotFound(key.status())) return std::shared_ptr<const SigningKey>();
  HEFT_RETURN_IF_ERROR(key.status());
  return std::make_shared<const SigningKey>(*std::move(key));
}

absl::StatusOr<EnrolResult> EnrolOnce(const Server& server, const std::string& gallery,
                                      const IncomingRequest& asked, std::vector<SampleFile> files,
                                      const EnrolOptions& options, const Monitor& monitor,
                                      const std::function<absl::Status()>& take) {
  HEFT_ASSIGN_OR_RETURN(const auto before, server.EnrolledBefore(gallery, files, options));
  if (before) return *before;
  HEFT_RETURN_IF_ERROR(take ? take() : asked.Take(gallery));
  EnrolOptions from = options;
  from.client = asked.request.client;
  return server.Enrol(gallery, std::move(files), from, monitor);
}

absl::StatusOr<EnrolResult> EnrolOnce(const TrustedServer& server, const std::string& gallery,
                                      const IncomingRequest& asked, std::vector<SampleFile> files,
                                      EnrolOptions options, const Monitor& monitor,
                                      const std::function<absl::Status()>& take) {
  options.trust = server.trusted();
  return EnrolOnce(server.server, gallery, asked, std::move(files), options, monitor, take);
}

}  // namespace heft
