// SPDX-License-Identifier: Apache-2.0
// The key owner's signing key, and whose replies it takes.
#include "base/signing.h"

#include <string_view>
#include <utility>

#include "base/signed_file.h"
#include "gallery/owner/key_owner_impl.h"
#include "gallery/owner/sub_secret.h"

namespace heft {
namespace {

constexpr std::string_view kSigningDomain = "HEFT key owner's signing key, version 1";

}  // namespace

absl::StatusOr<SigningKey> KeyOwner::Impl::Signer() const {
  HEFT_ASSIGN_OR_RETURN(const auto seed, SubSecret(keys_, kSigningDomain));
  return SigningKeyOfSeed(seed.span());
}

absl::Status KeyOwner::Impl::RequireSigned(Trust trust) {
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, Signer());
  public_key_ = signer.public_key();
  trust_ = std::move(trust);
  return absl::OkStatus();
}

absl::StatusOr<KeyOwner::Impl::TrustedReply> KeyOwner::Impl::CheckSigned(
    ByteSpan bytes, std::string_view kind, std::string_view what) const {
  if (!trust_) {
    HEFT_ASSIGN_OR_RETURN(const ByteSpan file, Unsigned(bytes, what));
    TrustedReply reply{file, {}, {}, 0, {}};
    if (!IsSigned(bytes)) return reply;
    HEFT_ASSIGN_OR_RETURN(const SignedFile read, ReadSigned(bytes, what));
    reply.request = read.statement.request;
    return reply;
  }
  HEFT_ASSIGN_OR_RETURN(
      const SignedFile file,
      OpenSigned(bytes, *trust_,
                 {.roles = {Role::kServer}, .kind = std::string(kind), .audience = public_key_},
                 what));
  return TrustedReply{file.file, file.statement.subject, file.statement.gallery,
                      file.statement.generation, file.statement.request};
}

}  // namespace heft
