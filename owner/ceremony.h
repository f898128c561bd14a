// SPDX-License-Identifier: Apache-2.0
// Ceremony: the public record of how a secret key was shared, signed by the dealer, or by all
// owners of a joint key, and of each renewal of the shares (kind CERE, docs/formats.md). All owners
// have the same one; each share holds a copy, and partial openings state its digest, so shares of
// different ceremonies never mix.
#ifndef HEFT_OWNER_CEREMONY_H_
#define HEFT_OWNER_CEREMONY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "ckks/keys.h"
#include "ckks/owner/secret_share.h"
#include "heft/model.h"
#include "heft/trust.h"

namespace heft {

inline constexpr std::string_view kCeremonyKind = "CERE";

struct Ceremony {
  struct Owner {
    SignerKey signer{};  // signs this owner's partial openings and approvals
    Digest share{};      // ShareDigest
    bool operator==(const Owner&) const = default;
  };
  ckks::KeyId key_id{};
  ModelId model_id{};
  uint32_t threshold = 0;
  uint32_t renewal = 0;  // how often the shares were renewed
  Digest previous{};     // RecordDigest before this renewal; zeros: none
  SignerKey dealer{};    // signed the public keys: replies are made for it; a joint key: owner 1
  // SHA-256 of the files of the key set; of a joint key without their signatures.
  Digest encryption_key{}, evaluation_keys{}, enrolment_keys{};
  std::vector<Owner> owners;
  // A joint key, which had no dealer: the number of owners whose secrets add up; a dealer's: 1.
  uint32_t secrets = 1;
  Digest transcript{};  // of the messages from which a joint key was made
  // The owners' last messages (owner/join_message.h), which sign the rest; none after a renewal.
  std::vector<std::vector<uint8_t>> approvals;

  bool joint() const { return secrets > 1; }

  ckks::Sharing sharing() const { return {static_cast<uint32_t>(owners.size()), threshold}; }
  const Owner& owner(uint32_t number) const { return owners.at(number - 1); }

  // Signers: the owners' signing keys.
  absl::StatusOr<Trust> Signers() const;
  // RecordDigest: of all but the approvals: the same at all owners.
  Digest RecordDigest() const;
  std::vector<uint8_t> Serialize() const;
  // Parse: kDataLoss. `bytes`: without the signature.
  static absl::StatusOr<Ceremony> Parse(ByteSpan bytes, std::string_view what);
};

// ReadCeremony: checks the signature and that the dealer signed, or for a renewal or a joint key,
// one of its owners; and the approvals of all owners of a joint key. `when`: Unix seconds of the
// signature.
struct SignedCeremony {
  Ceremony ceremony;
  Digest digest{};  // RecordDigest
  uint64_t when = 0;
};
absl::StatusOr<SignedCeremony> ReadCeremony(ByteSpan signed_bytes, std::string_view what);

// OwnerName: "owner-2".
std::string OwnerName(uint32_t owner);
// OwnersText: "1, 3".
std::string OwnersText(const ckks::OwnerSet& set);

}  // namespace heft

#endif  // HEFT_OWNER_CEREMONY_H_
