// SPDX-License-Identifier: Apache-2.0
// The key owner's signing key, and whose replies it takes.
#include "base/signing.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/signed_file.h"
#include "owner/key_owner_impl.h"
#include "owner/sub_secret.h"

namespace heft {
namespace {

constexpr std::string_view kSigningDomain = "HEFT key owner's signing key, version 1";

}  // namespace

absl::StatusOr<SecureVector<uint8_t>> OwnerSeed(const HeldKey& held) {
  return SubSecret(held, kSigningDomain);
}

absl::StatusOr<SigningKey> OwnerSigner(const HeldKey& held) {
  HEFT_ASSIGN_OR_RETURN(const auto seed, OwnerSeed(held));
  return SigningKeyOfSeed(seed.span());
}

absl::StatusOr<SigningKey> OwnerSigner(const SecureVector<uint8_t>& own) {
  HEFT_ASSIGN_OR_RETURN(const auto seed, SubSecret(own, kSigningDomain));
  return SigningKeyOfSeed(seed.span());
}

absl::StatusOr<SigningKey> KeyOwner::Impl::Signer() const { return OwnerSigner(held_); }

void KeyOwner::Impl::SignHeads() {
  if (ceremony_) return;
  journal_->SignHeads([this](const JournalHead& head) -> absl::StatusOr<std::vector<uint8_t>> {
    HEFT_ASSIGN_OR_RETURN(const SigningKey signer, Signer());
    return SignHead(signer, head);
  });
}

absl::StatusOr<std::vector<uint8_t>> KeyOwner::Impl::SignedHead() const {
  // A server keeps the head of one journal for a key, and each owner of a shared key has its own.
  if (ceremony_) return std::vector<uint8_t>();
  HEFT_ASSIGN_OR_RETURN(const std::optional<JournalHead> head, journal_->Head());
  if (!head) return std::vector<uint8_t>();
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, Signer());
  return SignHead(signer, *head);
}

absl::StatusOr<std::vector<SignedJournalHead>> KeyOwner::Impl::OpenHeads(
    ByteSpan shown, std::string_view what) const {
  std::vector<SignedJournalHead> heads;
  if (shown.empty()) return heads;
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, Signer());
  HEFT_ASSIGN_OR_RETURN(
      SignedJournalHead head,
      OpenHead(shown, signer.public_key(), key_id(),
               absl::StrCat(std::string(what), ": the end of the key owner's journal in it")));
  heads.push_back(std::move(head));
  return heads;
}

absl::Status KeyOwner::Impl::RequireSigned(Trust trust) {
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, Signer());
  // Servers sign for the signer of their keys: of a shared key the dealer, for all owners.
  public_key_ = ceremony_ ? ceremony_->ceremony.dealer : signer.public_key();
  trust_ = std::move(trust);
  return absl::OkStatus();
}

absl::StatusOr<KeyOwner::Impl::TrustedReply> KeyOwner::Impl::CheckSigned(
    ByteSpan bytes, std::string_view kind, std::string_view what) const {
  if (!trust_) {
    TrustedReply reply{.file = bytes};
    if (IsSigned(bytes)) {
      HEFT_ASSIGN_OR_RETURN(const SignedFile read, ReadSigned(bytes, what));
      reply.file = read.file;
      reply.request = read.statement.request;
    }
    reply.hash = HashBytes(reply.file);
    return reply;
  }
  TrustedReply reply{.checksum = Checksum::kKnown};
  HEFT_ASSIGN_OR_RETURN(const SignedFile file, OpenBySignature(bytes, *trust_,
                                                               {.roles = {Role::kServer},
                                                                .kind = std::string(kind),
                                                                .audience = public_key_},
                                                               what, &reply.hash));
  reply.file = file.file;
  reply.client = file.statement.subject;
  reply.gallery = file.statement.gallery;
  reply.generation = file.statement.generation;
  reply.request = file.statement.request;
  return reply;
}

}  // namespace heft
