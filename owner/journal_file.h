// SPDX-License-Identifier: Apache-2.0
// The journal on disk (kind JRNL, docs/formats.md): a head, then entries, each with a MAC that is
// chained over all before it. Entries are appended and flushed; a file is never changed otherwise,
// only replaced as a whole by one whose head carries on the chain.
#ifndef HEFT_OWNER_JOURNAL_FILE_H_
#define HEFT_OWNER_JOURNAL_FILE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/secure.h"
#include "base/status.h"
#include "owner/journal_keys.h"
#include "owner/query_ledger.h"

namespace heft {

inline constexpr std::string_view kJournalKind = "JRNL";

// Link: how far a chain has come.
struct Link {
  uint64_t sequence = 0;  // of the last entry; 0: none
  Hash mac{};
  bool operator==(const Link&) const = default;
};

// JournalFileHead: what a file begins with.
struct JournalFileHead {
  KeyFingerprint fingerprint{};
  KeyId key_id{};
  std::vector<uint8_t> sealed_tag_key;
  Link before;  // where the file goes on that this one has replaced

  std::vector<uint8_t> Serialize(const JournalKeys& keys) const;
  // Parse: takes the head from the front of `bytes`. Without `keys` its MAC is not looked at; with
  // them, kFailedPrecondition for another key's journal.
  static absl::StatusOr<JournalFileHead> Parse(ByteSpan bytes, const JournalKeys* keys,
                                               std::string_view what);
  static constexpr size_t kSize =
      16 + sizeof(KeyFingerprint) + sizeof(KeyId) + JournalKeys::kSealedSize + 8 + 2 * sizeof(Hash);
};

// SealEntry: an entry as it is appended, behind `link`, which it moves on.
std::vector<uint8_t> SealEntry(const Entry& entry, const JournalKeys& keys, Link* link);

// ReadEntries: entries from the front of `bytes`, in order, until the bytes end or are no entry
// that follows `link`; returns how many bytes they take. Without `keys` no MAC is looked at. `take`
// gets an entry and the chain's end behind it; its error ends the reading.
absl::StatusOr<size_t> ReadEntries(
    ByteSpan bytes, const JournalKeys* keys, std::string_view what, Link* link,
    const std::function<absl::Status(const Entry&, const Link&)>& take);

// Stamp: which file it is and how long.
struct Stamp {
  uint64_t device = 0, inode = 0, size = 0;
};
std::optional<Stamp> StampOf(const std::string& path);
// ReadFrom: the file from `offset` on.
absl::StatusOr<std::vector<uint8_t>> ReadFrom(const std::string& path, uint64_t offset);

}  // namespace heft

#endif  // HEFT_OWNER_JOURNAL_FILE_H_
