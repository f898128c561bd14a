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
#include "fusion/key_files.h"
#include "fusion/owner/renewal.h"
#include "heft/server.h"
#include "owner/key_owner_impl.h"

namespace heft {

absl::StatusOr<RenewedBlocks> KeyOwner::Impl::Renew(ByteSpan bytes, std::string_view what) const {
  HEFT_RETURN_IF_ERROR(RequireWhole("renew blocks of a gallery"));
  HEFT_RETURN_IF_ERROR(journal_->CheckInUse());
  HEFT_ASSIGN_OR_RETURN(const TrustedReply trusted, CheckSigned(bytes, kRenewalRequestKind, what));
  HEFT_ASSIGN_OR_RETURN(const RenewalRequest request,
                        ParseRenewalRequest(instance(), trusted.file, what));
  HEFT_RETURN_IF_ERROR(CheckKeyId(key_id(), request.binding.key_id, what));
  HEFT_ASSIGN_OR_RETURN(const std::vector<SignedJournalHead> heads, OpenHeads(request.head, what));
  HEFT_RETURN_IF_ERROR(journal_->CheckInUse(heads));
  if (request.binding.model_id != model_.Id()) {
    return absl::FailedPreconditionError(
        absl::StrCat(std::string(what), ": blocks of another model"));
  }
  if (trusted.gallery && *trusted.gallery != request.gallery) {
    return absl::FailedPreconditionError(
        absl::StrCat(std::string(what), ": blocks of another gallery than it is signed for"));
  }
  Renewal renewal;
  renewal.binding = request.binding;
  renewal.gallery = request.gallery;
  renewal.generation = request.generation;
  renewal.exchange = request.exchange;
  RenewedBlocks out;
  for (const std::vector<Move>& moves : request.targets) {
    HEFT_ASSIGN_OR_RETURN(auto target, RenewBlock(instance(), key(), request.sources, moves));
    renewal.targets.push_back(std::move(target));
    out.templates += moves.size();
  }
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
                                              std::string_view what) const {
  return impl_->Renew(request, what);
}

}  // namespace heft
