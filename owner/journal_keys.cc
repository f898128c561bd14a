// SPDX-License-Identifier: Apache-2.0
#include "owner/journal_keys.h"

#include <sodium.h>

#include <algorithm>

#include "owner/sub_secret.h"

namespace heft {
namespace {

constexpr size_t kKeySize = 32;
constexpr std::string_view kJournalDomain = "HEFT journal of openings, 1";
constexpr char kContext[crypto_kdf_CONTEXTBYTES + 1] = "heftjrnl";
static_assert(crypto_kdf_KEYBYTES == kKeySize && crypto_secretbox_KEYBYTES == kKeySize);
static_assert(JournalKeys::kSealedSize ==
              crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES + kKeySize);

void HashCoefficients(crypto_generichash_state* state, const ckks::SecretKey& key) {
  const std::span<const int8_t> c = key.coefficients();
  crypto_generichash_update(state, reinterpret_cast<const uint8_t*>(c.data()), c.size());
}

absl::StatusOr<SecureVector<uint8_t>> Subkey(const SecureVector<uint8_t>& master, uint64_t id) {
  HEFT_ASSIGN_OR_RETURN(auto key, SecureVector<uint8_t>::Create(kKeySize));
  crypto_kdf_derive_from_key(key.data(), key.size(), id, kContext, master.data());
  return key;
}

}  // namespace

absl::StatusOr<JournalKeys> JournalKeys::FromMaster(const KeyId& key_id,
                                                    const SecureVector<uint8_t>& master) {
  JournalKeys keys;
  keys.key_id_ = key_id;
  HEFT_ASSIGN_OR_RETURN(keys.mac_, Subkey(master, 1));
  HEFT_ASSIGN_OR_RETURN(keys.seal_, Subkey(master, 2));
  HEFT_ASSIGN_OR_RETURN(const auto name, Subkey(master, 3));
  std::copy_n(name.data(), keys.fingerprint_.size(), keys.fingerprint_.begin());
  return keys;
}

absl::StatusOr<JournalKeys> JournalKeys::Derive(const SecretKeys& secret) {
  HEFT_ASSIGN_OR_RETURN(auto master, SecureVector<uint8_t>::Create(kKeySize));
  crypto_generichash_state state;
  crypto_generichash_init(&state, reinterpret_cast<const uint8_t*>(kJournalDomain.data()),
                          kJournalDomain.size(), kKeySize);
  HashCoefficients(&state, secret.enrolment);
  if (secret.small) HashCoefficients(&state, *secret.small);
  crypto_generichash_final(&state, master.data(), master.size());
  SecureWipe(&state, sizeof(state));
  return FromMaster(secret.key_id(), master);
}

absl::StatusOr<JournalKeys> JournalKeys::Derive(const HeldKey& held) {
  if (held.whole() != nullptr) return Derive(*held.whole());
  HEFT_ASSIGN_OR_RETURN(const auto master, SubSecret(held, kJournalDomain));
  return FromMaster(held.key_id(), master);
}

absl::StatusOr<JournalKeys> JournalKeys::Random(const KeyId& key_id) {
  HEFT_ASSIGN_OR_RETURN(const auto master, NewTagKey());
  return FromMaster(key_id, master);
}

Hash JournalKeys::Mac(std::initializer_list<ByteSpan> parts) const {
  crypto_generichash_state state;
  Hash out;
  crypto_generichash_init(&state, mac_.data(), mac_.size(), out.size());
  for (const ByteSpan part : parts) {
    crypto_generichash_update(&state, part.data(), part.size());
  }
  crypto_generichash_final(&state, out.data(), out.size());
  SecureWipe(&state, sizeof(state));
  return out;
}

std::vector<uint8_t> JournalKeys::Seal(const SecureVector<uint8_t>& secret) const {
  std::vector<uint8_t> out(kSealedSize);
  randombytes_buf(out.data(), crypto_secretbox_NONCEBYTES);
  crypto_secretbox_easy(out.data() + crypto_secretbox_NONCEBYTES, secret.data(), kKeySize,
                        out.data(), seal_.data());
  return out;
}

absl::StatusOr<SecureVector<uint8_t>> JournalKeys::Open(ByteSpan sealed) const {
  HEFT_ASSIGN_OR_RETURN(auto out, SecureVector<uint8_t>::Create(kKeySize));
  if (sealed.size() != kSealedSize ||
      crypto_secretbox_open_easy(out.data(), sealed.data() + crypto_secretbox_NONCEBYTES,
                                 sealed.size() - crypto_secretbox_NONCEBYTES, sealed.data(),
                                 seal_.data()) != 0) {
    return absl::DataLossError("sealed under another key, or damaged");
  }
  return out;
}

absl::StatusOr<SecureVector<uint8_t>> NewTagKey() {
  HEFT_ASSIGN_OR_RETURN(auto key, SecureVector<uint8_t>::Create(kKeySize));
  randombytes_buf(key.data(), key.size());
  return key;
}

std::array<uint8_t, 16> NameHash(const std::string& identity) {
  const Hash hash = HashBytes(AsBytes(identity));
  std::array<uint8_t, 16> out;
  std::copy_n(hash.begin(), out.size(), out.begin());
  return out;
}

IdentityTag TagOf(const SecureVector<uint8_t>& tag_key, const std::array<uint8_t, 16>& name_hash) {
  IdentityTag tag;
  crypto_generichash(tag.data(), tag.size(), name_hash.data(), name_hash.size(), tag_key.data(),
                     tag_key.size());
  return tag;
}

}  // namespace heft
