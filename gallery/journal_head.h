// SPDX-License-Identifier: Apache-2.0
// JournalHead: the newest end of the key owner's journal (kind HEAD, docs/formats.md). The key
// owner signs it and gives it to its servers. A server keeps the newest one and puts it into its
// replies and requests, so a key owner whose journal was put back to an older state learns of it.
#ifndef HEFT_GALLERY_JOURNAL_HEAD_H_
#define HEFT_GALLERY_JOURNAL_HEAD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "ckks/keys.h"
#include "gallery/gallery_impl.h"
#include "heft/trust.h"

namespace heft {

class GalleryChange;

inline constexpr std::string_view kHeadKind = "HEAD";
// kMaxHeadBytes: of a signed head, more than any has.
inline constexpr size_t kMaxHeadBytes = 1024;
// kMaxEntries: that a journal can have.
inline constexpr uint64_t kMaxEntries = uint64_t{1} << 48;

struct JournalHead {
  ckks::KeyId key_id{};
  uint64_t sequence = 0;  // of the last entry, from 1
  Digest digest{};        // of the chain up to this entry; it tells nothing about the entries
  uint64_t time = 0;      // Unix seconds, of the last entry

  bool operator==(const JournalHead&) const = default;
  std::vector<uint8_t> Serialize() const;
  // Parse: kDataLoss. `bytes`: without the signature.
  static absl::StatusOr<JournalHead> Parse(ByteSpan bytes, std::string_view what);
};

// SignedJournalHead: a head and the signed file that it came in.
struct SignedJournalHead {
  JournalHead head;
  std::vector<uint8_t> file;
};
// SignHead: signed by the key owner, for any reader and without an end.
absl::StatusOr<std::vector<uint8_t>> SignHead(const SigningKey& key, const JournalHead& head);
// OpenHead: a head that `signer` signed as key owner, of the key `key_id`. kDataLoss for damage and
// false signatures; kFailedPrecondition for another signer, role, kind or key.
absl::StatusOr<SignedJournalHead> OpenHead(ByteSpan file, const SignerKey& signer,
                                           const ckks::KeyId& key_id, std::string_view what);

// KeptHead: what a server's store has of a key's journal: the newest signed head, and the signed
// head of the first fork that it was given.
struct KeptHead {
  std::vector<uint8_t> newest;
  std::vector<uint8_t> fork;  // empty: none
};
std::vector<uint8_t> SerializeKeptHead(const KeptHead& kept);
absl::StatusOr<KeptHead> ParseKeptHead(ByteSpan bytes, std::string_view what);

// ReadKeptHead: of the gallery's own key, from the newest state of its store, which may be later
// than the state that `gallery` shows. Empty if there is none.
absl::StatusOr<KeptHead> ReadKeptHead(const Gallery::Impl& gallery);
// The same of the state that a change began with.
absl::StatusOr<KeptHead> ReadKeptHead(GalleryChange* change);

// KeepHead: keeps a head in the gallery's store if it is newer than the kept one; returns whether
// it is. The caller has checked its signature. An older one changes nothing. kFailedPrecondition
// for a head of another key, and for a fork: a head with the number of the kept one and another
// digest. The store records the fork. Otherwise errors of GalleryChange::Begin.
absl::StatusOr<bool> KeepHead(const std::string& gallery, const SignedJournalHead& head);

// NewestEntry: the number of the newest entry that it tells of; 0: none.
absl::StatusOr<uint64_t> NewestEntry(const KeptHead& kept);
// DescribeFork: a sentence for people about a fork that a store has recorded; empty if none.
std::string DescribeFork(const KeptHead& kept);

}  // namespace heft

#endif  // HEFT_GALLERY_JOURNAL_HEAD_H_
