// SPDX-License-Identifier: Apache-2.0
#include "owner/sub_secret.h"

#include <sodium.h>

namespace heft {
namespace {

constexpr size_t kSize = 32;

void Absorb(crypto_generichash_state* state, const ckks::SecretKey& key) {
  const auto coefficients = key.coefficients();
  crypto_generichash_update(state, reinterpret_cast<const uint8_t*>(coefficients.data()),
                            coefficients.size());
}

}  // namespace

absl::StatusOr<SecureVector<uint8_t>> SubSecret(const SecretKeys& keys, std::string_view purpose) {
  HEFT_ASSIGN_OR_RETURN(auto state, SecureVector<crypto_generichash_state>::Create(1));
  HEFT_ASSIGN_OR_RETURN(auto out, SecureVector<uint8_t>::Create(kSize));
  crypto_generichash_init(state.data(), nullptr, 0, out.size());
  crypto_generichash_update(state.data(), reinterpret_cast<const uint8_t*>(purpose.data()),
                            purpose.size());
  Absorb(state.data(), keys.enrolment);
  if (keys.small) Absorb(state.data(), *keys.small);
  crypto_generichash_final(state.data(), out.data(), out.size());
  return out;
}

absl::StatusOr<SecureVector<uint8_t>> SubSecret(const HeldKey& held, std::string_view purpose) {
  if (held.whole() != nullptr) return SubSecret(*held.whole(), purpose);
  return SubSecret(held.share()->own, purpose);
}

absl::StatusOr<SecureVector<uint8_t>> SubSecret(const SecureVector<uint8_t>& own,
                                                std::string_view purpose) {
  HEFT_ASSIGN_OR_RETURN(auto state, SecureVector<crypto_generichash_state>::Create(1));
  HEFT_ASSIGN_OR_RETURN(auto out, SecureVector<uint8_t>::Create(kSize));
  crypto_generichash_init(state.data(), own.data(), own.size(), out.size());
  crypto_generichash_update(state.data(), reinterpret_cast<const uint8_t*>(purpose.data()),
                            purpose.size());
  crypto_generichash_final(state.data(), out.data(), out.size());
  return out;
}

}  // namespace heft
