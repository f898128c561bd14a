// SPDX-License-Identifier: Apache-2.0
// PartFile: one owner's partial openings of all ciphertexts of one answer, or its part of a renewal
// of blocks or of a re-keying key (kind PART, docs/formats.md), and what they are bound to. The
// owner signs it.
#ifndef HEFT_OWNER_PART_FILE_H_
#define HEFT_OWNER_PART_FILE_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/envelope.h"
#include "base/status.h"
#include "ckks/owner/secret_share.h"
#include "fusion/owner/renewal.h"
#include "fusion/rings.h"
#include "owner/opener.h"
#include "owner/query_ledger.h"

namespace heft {

// ReadArray: so many bytes; the array stays as it is if they are missing.
template <size_t kSize>
void ReadArray(ByteReader& reader, std::array<uint8_t, kSize>* out) {
  const ByteSpan bytes = reader.Raw(kSize);
  if (reader.ok()) std::ranges::copy(bytes, out->begin());
}

inline constexpr std::string_view kPartKind = "PART";
// kMaxPartBytes: of a file, that is read: replies of a gallery of millions.
inline constexpr uint64_t kMaxPartBytes = uint64_t{1} << 32;

// PartSubject: the files that are opened, and the purpose.
struct PartSubject {
  std::vector<Digest> files;        // the replies' or the request's hashes, without signatures
  std::vector<SignedState> states;  // of the galleries that they are of
  Digest question{};                // a rule, scores, an approval, ...
};
// Mismatch: how `other` differs: "of another reply"; empty: not at all.
std::string Mismatch(const PartSubject& mine, const PartSubject& other);

struct PartFile {
  ckks::KeyId key_id{};
  Digest ceremony{};
  uint32_t owner = 0;
  ckks::OwnerSet set;
  PartSubject subject;
  std::vector<PartialOpening> openings;
  RenewalPart renewal;
  std::optional<ckks::SeededSwitchKey> rekeying;  // part of a re-keying key

  // Write: appends the file; returns its hash. Size: about how many bytes the openings take.
  Hash Write(const Rings& rings, ByteWriter* out) const;
  size_t Size(const Rings& rings) const;
  std::vector<uint8_t> Serialize(const Rings& rings) const;
  // Parse: kDataLoss. `bytes`: without the signature.
  static absl::StatusOr<PartFile> Parse(const Rings& rings, ByteSpan bytes, std::string_view what,
                                        Checksum checksum = Checksum::kCheck);
};

}  // namespace heft

#endif  // HEFT_OWNER_PART_FILE_H_
