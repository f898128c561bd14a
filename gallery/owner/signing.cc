// SPDX-License-Identifier: Apache-2.0
// The key owner's signing key, and whose replies it takes.
#include "base/signing.h"

#include <sodium.h>

#include <string_view>
#include <utility>

#include "gallery/owner/key_owner_impl.h"

namespace heft {
namespace {

constexpr std::string_view kDomain = "HEFT key owner's signing key, version 1";

void Absorb(crypto_generichash_state* state, const ckks::SecretKey& key) {
  const auto coefficients = key.coefficients();
  crypto_generichash_update(state, reinterpret_cast<const uint8_t*>(coefficients.data()),
                            coefficients.size());
}

}  // namespace

// A hash of the secret: who has it learns nothing of the secret key, and no file more is needed.
absl::StatusOr<SigningKey> KeyOwner::Impl::Signer() const {
  HEFT_ASSIGN_OR_RETURN(auto state, SecureVector<crypto_generichash_state>::Create(1));
  HEFT_ASSIGN_OR_RETURN(auto seed, SecureVector<uint8_t>::Create(kSigningSeedSize));
  crypto_generichash_init(state.data(), nullptr, 0, seed.size());
  crypto_generichash_update(state.data(), reinterpret_cast<const uint8_t*>(kDomain.data()),
                            kDomain.size());
  Absorb(state.data(), keys_.enrolment);
  if (keys_.small) Absorb(state.data(), *keys_.small);
  crypto_generichash_final(state.data(), seed.data(), seed.size());
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
  if (!trust_) return TrustedReply{bytes};
  HEFT_ASSIGN_OR_RETURN(
      const SignedFile file,
      OpenSigned(bytes, *trust_,
                 {.roles = {Role::kServer}, .kind = std::string(kind), .audience = public_key_}, what));
  return TrustedReply{file.file, file.statement.subject, file.statement.gallery,
                      file.statement.generation};
}

}  // namespace heft
