// SPDX-License-Identifier: Apache-2.0
// The key owner's side of a renewal: it decrypts padded blocks and encrypts them again.
//
// A server that sends other ciphertexts than blocks gains nothing that it can read. The answer
// consists of encryptions, of the same form and length whatever is in them. Nothing else that
// leaves here, no error and no time, depends on a decrypted value (fusion/owner/renewal.h). Fresh
// encryptions of functions of the secret are as safe as the evaluation keys, which are such
// encryptions too. A server can take the noise out of ciphertexts by a renewal, so levels do not
// bound the length of its computations. It learns a result only if a score is published, as before,
// and that is charged.
#include "gallery/renewal.h"

#include "absl/strings/str_cat.h"
#include "base/signed_file.h"
#include "fusion/key_files.h"
#include "fusion/owner/renewal.h"
#include "heft/server.h"
#include "owner/key_owner_impl.h"

namespace heft {

absl::StatusOr<KeyOwner::Impl::AskedRenewal> KeyOwner::Impl::CheckRenewal(
    ByteSpan bytes, std::string_view what) const {
  HEFT_RETURN_IF_ERROR(journal_->CheckInUse());
  HEFT_ASSIGN_OR_RETURN(const TrustedReply trusted, CheckSigned(bytes, kRenewalRequestKind, what));
  HEFT_ASSIGN_OR_RETURN(RenewalRequest request,
                        ParseRenewalRequest(instance(), trusted.file, what));
  HEFT_RETURN_IF_ERROR(CheckKeyId(key_id(), request.binding.key_id, what));
  HEFT_ASSIGN_OR_RETURN(const std::vector<SignedJournalHead> heads, OpenHeads(request.head, what));
  HEFT_RETURN_IF_ERROR(journal_->CheckInUse(heads));
  if (request.binding.model_id != model_id_) {
    return absl::FailedPreconditionError(
        absl::StrCat(std::string(what), ": blocks of another model"));
  }
  if (trusted.gallery && *trusted.gallery != request.gallery) {
    return absl::FailedPreconditionError(
        absl::StrCat(std::string(what), ": blocks of another gallery than it is signed for"));
  }
  HEFT_ASSIGN_OR_RETURN(const ByteSpan file, Unsigned(bytes, what));
  PartSubject subject = {{HashBytes(file)},
                         {{request.gallery, request.generation, {}}},
                         HashBytes(AsBytes("renewal of blocks"))};
  return AskedRenewal{std::move(request), std::move(subject)};
}

Hash KeyOwner::Impl::RenewalReference(const PartSubject& subject, const OwnerSet& set) const {
  ByteWriter writer;
  writer.Raw(key_id());
  writer.Raw(ceremony_->digest);
  writer.Raw(subject.files[0]);
  writer.U32Array(set);
  return HashBytes(writer.bytes());
}

absl::StatusOr<RenewalPart> KeyOwner::Impl::OwnRenewalPart(const AskedRenewal& asked,
                                                           const OwnerSet& set) const {
  HEFT_RETURN_IF_ERROR(journal_->RecordOnce(
      asked.subject.files[0],
      "this owner has given its part of this renewal before, and gives one for each request: ask "
      "the server for another one (heft-server gallery renew)"));
  return MakeRenewalPart(instance(), held_.share()->matching, set, asked.request.sources,
                         asked.request.targets, RenewalReference(asked.subject, set));
}

absl::StatusOr<std::vector<uint8_t>> KeyOwner::Impl::RenewPart(ByteSpan bytes,
                                                               std::string_view what,
                                                               const OwnerSet& set) const {
  HEFT_RETURN_IF_ERROR(CheckOwnSet(set));
  HEFT_ASSIGN_OR_RETURN(AskedRenewal asked, CheckRenewal(bytes, what));
  HEFT_ASSIGN_OR_RETURN(RenewalPart part, OwnRenewalPart(asked, set));
  return SignPart(std::move(asked.subject), set, {}, std::move(part));
}

absl::StatusOr<RenewedBlocks> KeyOwner::Impl::Renew(ByteSpan bytes, std::string_view what,
                                                    const GivenParts& given) const {
  HEFT_ASSIGN_OR_RETURN(const AskedRenewal asked, CheckRenewal(bytes, what));
  const RenewalRequest& request = asked.request;
  Renewal renewal;
  renewal.binding = request.binding;
  renewal.gallery = request.gallery;
  renewal.generation = request.generation;
  renewal.exchange = request.exchange;
  if (held_.whole() != nullptr) {
    HEFT_RETURN_IF_ERROR(CheckNoParts(given));
    for (const std::vector<Move>& moves : request.targets) {
      HEFT_ASSIGN_OR_RETURN(auto target, RenewBlock(instance(), key(), request.sources, moves));
      renewal.targets.push_back(std::move(target));
    }
  } else {
    HEFT_ASSIGN_OR_RETURN(std::vector<PartFile> files, PartsOf(asked.subject, given));
    const OwnerSet set = files[0].set;
    std::vector<RenewalPart> parts;
    for (PartFile& file : files) parts.push_back(std::move(file.renewal));
    for (const RenewalPart& part : parts) {
      HEFT_RETURN_IF_ERROR(
          CheckRenewalPart(instance(), part, request.sources.size(), request.targets));
    }
    HEFT_ASSIGN_OR_RETURN(RenewalPart own, OwnRenewalPart(asked, set));
    parts.push_back(std::move(own));
    HEFT_ASSIGN_OR_RETURN(renewal.targets,
                          CombineRenewal(instance(), request.sources, request.targets, parts,
                                         RenewalReference(asked.subject, set)));
  }
  RenewedBlocks out;
  for (const std::vector<Move>& moves : request.targets) out.templates += moves.size();
  out.blocks = renewal.targets.size();
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, Signer());
  Statement statement;
  statement.role = Role::kKeyOwner;
  statement.gallery = request.gallery;
  statement.generation = request.generation;
  statement.expires = UnixTime() + kAdmissionLife;
  HEFT_ASSIGN_OR_RETURN(out.signed_renewal,
                        signer.Sign(statement, SerializeRenewal(instance(), renewal)));
  return out;
}

absl::StatusOr<RenewedBlocks> KeyOwner::Renew(std::span<const uint8_t> request,
                                              std::string_view what,
                                              std::span<const ReplyFile> parts) const {
  return impl_->Renew(request, what, {parts, nullptr});
}

absl::StatusOr<RenewedBlocks> KeyOwner::Renew(std::span<const uint8_t> request,
                                              std::string_view what,
                                              const PartSource& source) const {
  return impl_->Renew(request, what, {{}, &source});
}

absl::StatusOr<std::vector<uint8_t>> KeyOwner::RenewPart(std::span<const uint8_t> request,
                                                         std::string_view what,
                                                         const OwnerSet& owners) const {
  return impl_->RenewPart(request, what, owners);
}

}  // namespace heft
