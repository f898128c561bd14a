// SPDX-License-Identifier: Apache-2.0
// How a journal begins: with its key, instead of another one, or anew by hand; and how it ends.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "fusion/key_files.h"
#include "owner/query_journal.h"

namespace heft {
namespace {

absl::StatusOr<SecureVector<uint8_t>> Copy(const SecureVector<uint8_t>& secret) {
  HEFT_ASSIGN_OR_RETURN(auto out, SecureVector<uint8_t>::Create(secret.size()));
  std::copy_n(secret.data(), secret.size(), out.data());
  return out;
}

}  // namespace

absl::Status QueryJournal::StartWith(const std::string& how, QueryLedger ledger,
                                     const SecureVector<uint8_t>& tag_key) {
  HEFT_ASSIGN_OR_RETURN(tag_key_, Copy(tag_key));
  anchor_ = Anchor();
  anchor_.successor = ledger.successor;
  anchor_.restarts = ledger.restarts.size();
  Entry first;
  first.act = Entry::Act::kStart;
  first.time = Now();
  first.text = how;
  first.state = ledger.Serialize();
  return Replace(std::move(first), Link());
}

absl::Status QueryJournal::Start(const std::string& how) {
  const std::lock_guard<std::mutex> guard(mutex_);
  HEFT_ASSIGN_OR_RETURN(const Locks locks, Lock());
  for (const std::string& there : {path_, anchor_path_}) {
    if (!FileExists(there)) continue;
    return absl::AlreadyExistsError(absl::StrCat(there, " exists: this key has a journal already"));
  }
  HEFT_ASSIGN_OR_RETURN(const auto tag_key, NewTagKey());
  return StartWith(how, QueryLedger(), tag_key);
}

absl::StatusOr<Link> QueryJournal::Salvage() {
  ledger_ = QueryLedger();
  HEFT_ASSIGN_OR_RETURN(tag_key_, NewTagKey());
  ends_.clear();
  Link none;
  if (!FileExists(path_)) return none;
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFrom(path_, 0));
  const auto head = JournalFileHead::Parse(bytes, &*keys_, path_);
  if (!head.ok()) return none;
  HEFT_ASSIGN_OR_RETURN(tag_key_, keys_->Open(head->sealed_tag_key));
  Link link{head->before.sequence, {}};
  std::copy_n(bytes.begin() + JournalFileHead::kSize - sizeof(Hash), sizeof(Hash),
              link.mac.begin());
  bool ignored = false;
  const auto read = ReadEntries(
      ByteSpan(bytes).subspan(JournalFileHead::kSize), &*keys_, path_, &link,
      [&](const Entry& entry, const Link& at) { return Take(entry, at, Anchor(), &ignored); });
  HEFT_RETURN_IF_ERROR(read.status());
  return link;
}

absl::Status QueryJournal::Restart(const std::string& reason) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (path_.empty()) return absl::FailedPreconditionError("a journal in memory does not restart");
  if (reason.empty() || reason.size() > 1000) {
    return absl::InvalidArgumentError("say in 1 to 1000 bytes why the journal begins anew");
  }
  HEFT_ASSIGN_OR_RETURN(const Locks locks, Lock());
  loaded_ = false;
  const auto anchor = ReadAnchor(anchor_path_, *keys_);
  if (absl::IsUnavailable(anchor.status())) return anchor.status();
  anchor_ = anchor.ok() ? anchor->value_or(Anchor()) : Anchor();  // a damaged one is replaced
  HEFT_ASSIGN_OR_RETURN(Link before, Salvage());
  if (anchor_.successor != KeyId{}) ledger_.successor = anchor_.successor;
  HEFT_RETURN_IF_ERROR(ledger_.CheckInUse());
  if (anchor_.link.sequence >= before.sequence) before = anchor_.link;
  // Behind all that servers have seen of it.
  before.sequence = std::max(before.sequence, SeenFromOutside());
  anchor_.restarts = std::max<uint64_t>(anchor_.restarts, ledger_.restarts.size()) + 1;
  if (FileExists(path_)) {
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> old, ReadFrom(path_, 0));
    HEFT_RETURN_IF_ERROR(WriteFileAtomic(absl::StrCat(path_, ".before-", before.sequence + 1),
                                         ByteSpan(old), kJournalMode));
  }
  Entry first;
  first.act = Entry::Act::kRestart;
  first.time = Now();
  first.text = reason;
  first.state = ledger_.Serialize();
  HEFT_RETURN_IF_ERROR(Replace(std::move(first), before));
  unlink(SeenFile().c_str());
  link_ = anchor_.link;
  ledger_.time = Now();
  return WriteHead();
}

absl::Status QueryJournal::PassOn(const std::string& path, JournalKeys next) {
  return Update([&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(ledger_.CheckInUse());
    if (FileExists(path)) return absl::AlreadyExistsError(absl::StrCat(path, " exists"));
    const KeyId successor = next.key_id();
    const auto heir = OnDisk(path, std::move(next), options_);
    HEFT_ASSIGN_OR_RETURN(const Locks locks, heir->Lock());
    const std::string how = keys_ ? absl::StrCat("in place of key ", HexString(keys_->key_id()))
                                  : std::string("in place of a key in memory");
    QueryLedger ledger = ledger_.ForSuccessor();
    HEFT_RETURN_IF_ERROR(heir->StartWith(how, std::move(ledger), tag_key_));
    Entry entry;
    entry.act = Entry::Act::kRevocation;
    entry.time = Now();
    entry.successor = successor;
    return Add(std::move(entry));
  });
}

absl::Status QueryJournal::PassOnTo(QueryJournal& heir) {
  if (path_.empty() || heir.path_.empty()) {
    return absl::FailedPreconditionError("a journal in memory is not passed on to a share");
  }
  return Update([&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(ledger_.CheckInUse());
    QueryLedger ledger = ledger_.ForSuccessor();
    HEFT_RETURN_IF_ERROR(heir.TakeOver(std::move(ledger), tag_key_));
    Entry entry;
    entry.act = Entry::Act::kRevocation;
    entry.time = Now();
    entry.successor = heir.keys_->key_id();
    return Add(std::move(entry));
  });
}

absl::Status QueryJournal::Unused() const {
  HEFT_RETURN_IF_ERROR(ledger_.CheckInUse());
  if (ledger_.models.empty() && ledger_.replies.empty() && ledger_.states.empty() &&
      ledger_.gallery == GalleryId{} && ledger_.proofs == 0) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      path_, ": this share was used before its key took the old one's place: make a new key"));
}

absl::Status QueryJournal::CheckUnused() {
  return Update([&] { return Unused(); });
}

absl::Status QueryJournal::TakeOver(QueryLedger ledger, const SecureVector<uint8_t>& tag_key) {
  const std::lock_guard<std::mutex> guard(mutex_);
  HEFT_ASSIGN_OR_RETURN(const Locks locks, Lock());
  HEFT_RETURN_IF_ERROR(Refresh());
  HEFT_RETURN_IF_ERROR(Unused());
  ledger.restarts = ledger_.restarts;
  HEFT_ASSIGN_OR_RETURN(tag_key_, Copy(tag_key));
  Entry sum;
  sum.act = Entry::Act::kCheckpoint;
  sum.time = Now();
  sum.state = ledger.Serialize();
  HEFT_RETURN_IF_ERROR(Replace(std::move(sum), link_));
  link_ = anchor_.link;
  return WriteHead();
}

void QueryJournal::Discard() {
  for (const std::string& file : {path_, anchor_path_}) {
    for (const char* suffix : {"", ".lock"}) unlink((file + suffix).c_str());
  }
  for (const std::string& file : {HeadFile(), SeenFile()}) unlink(file.c_str());
}

}  // namespace heft
