// SPDX-License-Identifier: Apache-2.0
// KeyShare: what one of several key owners holds: a share of the secret keys of both rings, and a
// secret of its own, from which its signing key and its journal's keys follow. Files of kind SHAR,
// sealed like secret keys. Format: docs/formats.md.
#ifndef HEFT_FUSION_OWNER_KEY_SHARE_H_
#define HEFT_FUSION_OWNER_KEY_SHARE_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/secure.h"
#include "base/status.h"
#include "ckks/owner/secret_share.h"
#include "fusion/owner/keygen.h"
#include "fusion/rings.h"

namespace heft {

inline constexpr std::string_view kKeyShareKind = "SHAR";
inline constexpr size_t kOwnSecretSize = 32;

struct KeyShare {
  ckks::KeyId key_id{};
  // The signed record of the ceremony that made the share (owner/ceremony.h).
  std::vector<uint8_t> ceremony;
  SecureVector<uint8_t> own;  // kOwnSecretSize bytes that no other owner has
  ckks::SecretShare enrolment, matching;

  uint32_t owner() const { return matching.owner(); }
};

// NewOwnSecret: from the system's generator.
absl::StatusOr<SecureVector<uint8_t>> NewOwnSecret();

// ShareKeys: a share of both rings' keys for each owner, without a ceremony. kFailedPrecondition
// for a model of one ring: partial openings take a profile that floods, which has two.
absl::StatusOr<std::vector<KeyShare>> ShareKeys(const Rings& rings, const SecretKeys& keys,
                                                const ckks::Sharing& sharing, Csprng& rng);

// PackShares, UnpackShares: the residues of both rings' shares, with as many bits each as their
// prime has. kDataLoss for other bytes than PackShares gives.
absl::StatusOr<SecureVector<uint8_t>> PackShares(const Rings& rings,
                                                 const ckks::SecretShare& enrolment,
                                                 const ckks::SecretShare& matching);
absl::Status UnpackShares(const Rings& rings, ByteSpan packed, ckks::SecretShare* enrolment,
                          ckks::SecretShare* matching);

// ShareDigest: commits to a share without telling anything of it: SHA-256 of its secret bytes;
// `own`, which is uniform, is among them. kUnavailable.
absl::StatusOr<Hash> ShareDigest(const Rings& rings, const KeyShare& share);

// SerializeKeyShare: without a passphrase the bytes themselves are secret: wipe them.
absl::StatusOr<std::vector<uint8_t>> SerializeKeyShare(const Rings& rings, const KeyShare& share,
                                                       std::span<const char> passphrase);
// KeyShareIsSealed, ParseKeyShare: errors as of secret key files.
absl::StatusOr<bool> KeyShareIsSealed(ByteSpan bytes, std::string_view what);
absl::StatusOr<KeyShare> ParseKeyShare(const Rings& rings, ByteSpan bytes,
                                       std::span<const char> passphrase, std::string_view what);

// HeldKey: what a key owner holds: the whole secret key, or a share of it.
class HeldKey {
 public:
  HeldKey(SecretKeys whole) : held_(std::move(whole)) {}  // NOLINT: what most owners hold
  HeldKey(KeyShare share) : held_(std::move(share)) {}    // NOLINT

  // Of the two, the one that is not held is nullptr.
  const SecretKeys* whole() const { return std::get_if<SecretKeys>(&held_); }
  const KeyShare* share() const { return std::get_if<KeyShare>(&held_); }
  KeyShare* share() { return std::get_if<KeyShare>(&held_); }
  const ckks::KeyId& key_id() const {
    return whole() != nullptr ? whole()->key_id() : share()->key_id;
  }

 private:
  std::variant<SecretKeys, KeyShare> held_;
};

}  // namespace heft

#endif  // HEFT_FUSION_OWNER_KEY_SHARE_H_
