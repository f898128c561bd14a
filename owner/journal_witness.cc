// SPDX-License-Identifier: Apache-2.0
// The journal's head, for the servers that keep it, and what they have seen of the journal.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/signed_file.h"
#include "heft/results.h"
#include "owner/query_journal.h"

namespace heft {
namespace {

constexpr std::string_view kDigestDomain = "HEFT head of a journal, version 1";

// DigestOf: the end of the chain is a MAC, and it is hashed again: it tells nothing.
Digest DigestOf(const KeyId& key_id, uint64_t sequence, const Hash& mac) {
  ByteWriter writer;
  writer.Raw(AsBytes(kDigestDomain));
  writer.Raw(key_id);
  writer.U64(sequence);
  writer.Raw(mac);
  return HashBytes(writer.bytes());
}

// ReadHeadFile: nothing if it does not exist or is not a head of this key. Its signature is not
// checked: who can write beside the journal can also delete the journal.
std::optional<SignedJournalHead> ReadHeadFile(const std::string& path, const KeyId& key_id) {
  const auto bytes = ReadFile(path, kMaxHeadBytes);
  if (!bytes.ok()) return std::nullopt;
  const auto file = Unsigned(*bytes, path);
  if (!file.ok()) return std::nullopt;
  const auto head = JournalHead::Parse(*file, path);
  if (!head.ok() || head->key_id != key_id) return std::nullopt;
  return SignedJournalHead{*head, *bytes};
}

}  // namespace

std::string QueryJournal::HeadFile() const {
  if (path_.empty()) return "";
  return (std::filesystem::path(path_).parent_path() / kHeadFileName).string();
}

// SeenFile: a head that a server has shown and this journal lacks. While it lies there, nothing is
// opened, so replies from before that head are not opened either.
std::string QueryJournal::SeenFile() const { return path_ + ".seen"; }

JournalHead QueryJournal::NewestHead() const {
  return {keys_->key_id(), link_.sequence, DigestOf(keys_->key_id(), link_.sequence, link_.mac),
          ledger_.time};
}

absl::StatusOr<std::optional<JournalHead>> QueryJournal::Head() {
  std::optional<JournalHead> out;
  if (path_.empty()) return out;
  HEFT_RETURN_IF_ERROR(Update([&] {
    out = NewestHead();
    return absl::OkStatus();
  }));
  return out;
}

absl::Status QueryJournal::WriteHead() const {
  if (!sign_) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> file, sign_(NewestHead()));
  return WriteFileAtomic(HeadFile(), ByteSpan(file));
}

bool QueryJournal::Agrees(const JournalHead& head) const {
  if (head.sequence > link_.sequence) return false;
  const uint64_t before = link_.sequence - ends_.size();  // entries that earlier files had
  if (head.sequence <= before) return true;
  return head.digest == DigestOf(keys_->key_id(), head.sequence, ends_[head.sequence - before - 1]);
}

absl::Status QueryJournal::CheckHeads(std::span<const SignedJournalHead> heads) const {
  if (path_.empty()) return absl::OkStatus();
  const std::optional<SignedJournalHead> seen = ReadHeadFile(SeenFile(), keys_->key_id());
  const SignedJournalHead* worst = seen && !Agrees(seen->head) ? &*seen : nullptr;
  for (const SignedJournalHead& shown : heads) {
    if (Agrees(shown.head)) continue;
    if (worst == nullptr || shown.head.sequence > worst->head.sequence) worst = &shown;
  }
  if (worst == nullptr) {
    if (seen) unlink(SeenFile().c_str());  // the newest journal is back
    return absl::OkStatus();
  }
  const JournalHead& head = worst->head;
  if (!seen || seen->head != head) {
    HEFT_RETURN_IF_ERROR(WriteFileAtomic(SeenFile(), ByteSpan(worst->file), kJournalMode));
  }
  const std::string found = head.sequence > link_.sequence
                                ? absl::StrCat("this journal ends at entry ", link_.sequence)
                                : absl::StrCat("this journal has another entry ", head.sequence);
  return Lost(
      absl::StrCat("the journal was put back to an older state, or is that of a copy of "
                   "the key: the server has seen its entry ",
                   head.sequence, " of ", UtcText(head.time), ", and ", found));
}

uint64_t QueryJournal::SeenFromOutside() const {
  uint64_t newest = 0;
  for (const std::string& path : {SeenFile(), HeadFile()}) {
    const auto head = ReadHeadFile(path, keys_->key_id());
    if (head) newest = std::max(newest, head->head.sequence);
  }
  return newest;
}

}  // namespace heft
