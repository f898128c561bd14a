// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/inside.h"
#include "base/signed_file.h"
#include "base/status.h"
#include "gallery/journal_head.h"
#include "heft/audit.h"
#include "heft/desk.h"
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

}  // namespace heft
