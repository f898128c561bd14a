// SPDX-License-Identifier: Apache-2.0
// JournalKeys: what authenticates a key's journal, derived from the secret key itself: only its
// holder can write one, and it fits no other key.
#ifndef HEFT_OWNER_JOURNAL_KEYS_H_
#define HEFT_OWNER_JOURNAL_KEYS_H_

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/secure.h"
#include "base/status.h"
#include "fusion/owner/key_share.h"
#include "owner/query_ledger.h"

namespace heft {

// KeyFingerprint: of the secret itself, whatever key id its file states.
using KeyFingerprint = std::array<uint8_t, 16>;

class JournalKeys {
 public:
  static absl::StatusOr<JournalKeys> Derive(const SecretKeys& secret);
  static absl::StatusOr<JournalKeys> Derive(const HeldKey& held);
  // Of a secret of 32 bytes, or of a new one that is kept nowhere: for tests.
  static absl::StatusOr<JournalKeys> FromMaster(const KeyId& key_id,
                                                const SecureVector<uint8_t>& master);
  static absl::StatusOr<JournalKeys> Random(const KeyId& key_id);

  const KeyId& key_id() const { return key_id_; }
  const KeyFingerprint& fingerprint() const { return fingerprint_; }

  // Mac: BLAKE2b-256 under the key, over the parts one after the other.
  Hash Mac(std::initializer_list<ByteSpan> parts) const;
  // Seal, Open: 32 bytes under the key (XSalsa20-Poly1305), 72 bytes with nonce and tag.
  std::vector<uint8_t> Seal(const SecureVector<uint8_t>& secret) const;
  absl::StatusOr<SecureVector<uint8_t>> Open(ByteSpan sealed) const;
  static constexpr size_t kSealedSize = 24 + 16 + 32;

 private:
  KeyId key_id_{};
  KeyFingerprint fingerprint_{};
  SecureVector<uint8_t> mac_, seal_;
};

// NewTagKey: what names become tags under. It goes along to a renewed key, whose ledger has the old
// one's tags.
absl::StatusOr<SecureVector<uint8_t>> NewTagKey();

// NameHash: the first 16 bytes of the SHA-256 of an identity's name. TagOf: that under the key.
std::array<uint8_t, 16> NameHash(const std::string& identity);
IdentityTag TagOf(const SecureVector<uint8_t>& tag_key, const std::array<uint8_t, 16>& name_hash);

}  // namespace heft

#endif  // HEFT_OWNER_JOURNAL_KEYS_H_
