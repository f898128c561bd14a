// SPDX-License-Identifier: Apache-2.0
#include "owner/query_journal.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/append_file.h"
#include "base/csprng.h"
#include "base/files.h"

namespace heft {
namespace {

ReplyTag ReplyTagOf(const Hash& reply) {
  ReplyTag tag;
  std::copy_n(reply.begin(), tag.size(), tag.begin());
  return tag;
}

Entry PartEntry(const Hash& reply, uint64_t time) {
  Entry entry;
  entry.act = Entry::Act::kPart;
  entry.time = time;
  entry.reply = ReplyTagOf(reply);
  return entry;
}

// Prune forgets what no longer limits anything: buckets that are full again, and identities that
// were accepted once or twice.
void Prune(QueryLedger* ledger) {
  constexpr uint64_t kFew = 2;
  for (auto& [id, model] : ledger->models) {
    const BudgetLimits limits = model.limits.value_or(BudgetLimits());
    const uint64_t size = limits.decisions;
    std::erase_if(model.shares, [&](const auto& share) {
      const QueryLedger::ShareUse& use = share.second;
      const uint64_t now = ledger->reckoning.time;
      return use.scores == 0 && use.bucket.Spent(now, Share(size)) == 0 &&
             use.rejections.Spent(now, limits.rejections) == 0;
    });
    std::erase_if(model.identities, [&](const auto& identity) {
      const QueryLedger::Use& use = identity.second;
      return use.scores == 0 && use.decisions <= kFew &&
             use.bucket.Spent(ledger->reckoning.time, size) == 0;
    });
  }
}

std::string_view Missing(const std::optional<Anchor>& anchor) {
  return anchor ? "the key's journal is not there"
                : "the key has no journal: it was copied without it";
}

}  // namespace

absl::StatusOr<std::unique_ptr<QueryJournal>> QueryJournal::InMemory(
    const std::optional<BudgetLimits>& limits, JournalOptions options) {
  std::unique_ptr<QueryJournal> journal(new QueryJournal);
  HEFT_ASSIGN_OR_RETURN(journal->tag_key_, NewTagKey());
  journal->limits_ = limits;
  journal->options_ = std::move(options);
  return journal;
}

std::unique_ptr<QueryJournal> QueryJournal::OnDisk(std::string path, JournalKeys keys,
                                                   JournalOptions options) {
  std::unique_ptr<QueryJournal> journal(new QueryJournal);
  journal->path_ = std::move(path);
  journal->anchor_path_ = AnchorPath(keys);
  journal->keys_ = std::move(keys);
  journal->options_ = std::move(options);
  return journal;
}

uint64_t QueryJournal::Now() const {
  return options_.clock ? options_.clock()
                        : static_cast<uint64_t>(std::max<time_t>(time(nullptr), 0));
}

absl::StatusOr<QueryJournal::Locks> QueryJournal::Lock() const {
  HEFT_RETURN_IF_ERROR(MakeAnchorFolder(anchor_path_));
  HEFT_ASSIGN_OR_RETURN(FileLock journal, FileLock::Take(path_ + ".lock", kJournalMode));
  HEFT_ASSIGN_OR_RETURN(FileLock anchor, FileLock::Take(anchor_path_ + ".lock", kJournalMode));
  return Locks{std::move(journal), std::move(anchor)};
}

absl::Status QueryJournal::Lost(std::string_view why) const {
  return absl::FailedPreconditionError(absl::StrCat(
      why.starts_with(path_) ? "" : path_ + ": ", std::string(why),
      ". Nothing is opened without a key's latest journal: put that back beside the key, or, if it "
      "is lost or you moved the key yourself, begin another one, which is recorded: "
      "heft budget --restart REASON"));
}

absl::Status QueryJournal::Take(const Entry& entry, const Link& link, const Anchor& anchor,
                                bool* anchored) {
  const bool first = ends_.empty();
  const bool begins = entry.act == Entry::Act::kStart || entry.act == Entry::Act::kRestart ||
                      entry.act == Entry::Act::kCheckpoint;
  if (first != begins) return absl::DataLossError(absl::StrCat(path_, ": out of order"));
  HEFT_RETURN_IF_ERROR(ledger_.Apply(entry, path_));
  ends_.push_back(link.mac);
  *anchored = *anchored || link == anchor.link;
  return absl::OkStatus();
}

// Load reads the file, or the part appended since it was read; `anchored`: the anchor's entry is
// among that.
absl::Status QueryJournal::Load(const Anchor& anchor, bool whole, bool* anchored) {
  loaded_ = false;
  *anchored = !whole && link_ == anchor.link;
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFrom(path_, whole ? 0 : stamp_.size));
  ByteSpan rest = bytes;
  if (whole) {
    HEFT_ASSIGN_OR_RETURN(const JournalFileHead head,
                          JournalFileHead::Parse(bytes, &*keys_, path_));
    HEFT_ASSIGN_OR_RETURN(tag_key_, keys_->Open(head.sealed_tag_key));
    ledger_ = QueryLedger();
    ends_.clear();
    *anchored = head.before == anchor.link;
    rest = rest.subspan(JournalFileHead::kSize);
    link_.sequence = head.before.sequence;
    std::copy_n(rest.begin() - sizeof(Hash), sizeof(Hash), link_.mac.begin());  // the head's own
    stamp_.size = JournalFileHead::kSize;
  }
  HEFT_ASSIGN_OR_RETURN(const size_t read, ReadEntries(rest, &*keys_, path_, &link_,
                                                       [&](const Entry& entry, const Link& link) {
                                                         return Take(entry, link, anchor, anchored);
                                                       }));
  stamp_.size += read;
  if (ends_.empty()) {
    return absl::DataLossError(absl::StrCat(path_, ": damaged: nothing of it can be read"));
  }
  // The rest was being written when the power went. It was never answered, as the anchor
  // does not know it. The next entry takes its place.
  loaded_ = *anchored;
  return absl::OkStatus();
}

absl::Status QueryJournal::Refresh() {
  const auto read = ReadAnchor(anchor_path_, *keys_);
  if (absl::IsDataLoss(read.status())) return Lost(std::string(read.status().message()));
  HEFT_RETURN_IF_ERROR(read.status());
  const std::optional<Anchor>& anchor = *read;
  const std::optional<Stamp> stamp = StampOf(path_);
  if (!stamp) return Lost(Missing(anchor));
  if (!anchor) {
    return Lost(absl::StrCat("key and journal were copied from elsewhere: ", anchor_path_,
                             " does not say how far the journal has come"));
  }
  bool anchored = false;
  const bool follow = loaded_ && stamp->device == stamp_.device && stamp->inode == stamp_.inode &&
                      stamp->size >= stamp_.size;
  absl::Status loaded = follow ? Load(*anchor, /*whole=*/false, &anchored) : absl::OkStatus();
  stamp_.device = stamp->device;
  stamp_.inode = stamp->inode;
  if (!anchored) loaded = Load(*anchor, /*whole=*/true, &anchored);
  if (absl::IsDataLoss(loaded) || absl::IsFailedPrecondition(loaded)) {
    return Lost(std::string(loaded.message()));
  }
  HEFT_RETURN_IF_ERROR(loaded);
  if (!anchored && anchor->link.sequence > link_.sequence) {
    return Lost(
        stamp->size > stamp_.size
            ? absl::StrCat("damaged behind entry ", link_.sequence, " of ", anchor->link.sequence)
            : absl::StrCat("an older journal was put back, or its end cut off: it has ",
                           link_.sequence, " entries, the key's own has ", anchor->link.sequence));
  }
  if (!anchored) return Lost("not the key's own journal but one of a copy of the key");
  anchor_ = *anchor;
  if (anchor_.successor != KeyId{}) ledger_.successor = anchor_.successor;
  return absl::OkStatus();
}

absl::Status QueryJournal::Add(Entry entry) {
  entry.sequence = link_.sequence + 1;
  Csprng().Fill(entry.nonce);
  if (path_.empty()) {
    ++link_.sequence;
  } else {
    const std::vector<uint8_t> sealed = SealEntry(entry, *keys_, &link_);
    pending_.insert(pending_.end(), sealed.begin(), sealed.end());
    ends_.push_back(link_.mac);
  }
  return ledger_.Apply(entry, path_);
}

absl::Status QueryJournal::Commit() {
  if (path_.empty() || pending_.empty()) return absl::OkStatus();
  HEFT_RETURN_IF_ERROR(AppendToFile(path_, stamp_.size, pending_));
  anchor_.link = link_;
  anchor_.successor = ledger_.successor;
  HEFT_RETURN_IF_ERROR(WriteAnchor(anchor_path_, *keys_, anchor_));
  stamp_.size += pending_.size();
  HEFT_RETURN_IF_ERROR(WriteHead());
  if (ends_.size() > options_.entries_per_file) Compact();
  return absl::OkStatus();
}

absl::Status QueryJournal::Update(const std::function<absl::Status()>& change) {
  const std::lock_guard<std::mutex> guard(mutex_);
  pending_.clear();
  if (path_.empty()) return change();
  if (!FileExists(path_)) {  // a lock of it would stay behind, which nothing needs
    const auto anchor = ReadAnchor(anchor_path_, *keys_);
    if (anchor.ok()) return Lost(Missing(*anchor));
  }
  HEFT_ASSIGN_OR_RETURN(const Locks locks, Lock());
  HEFT_RETURN_IF_ERROR(Refresh());
  absl::Status status = change();
  if (status.ok()) status = Commit();
  // Memory and file now differ.
  if (!status.ok() && !pending_.empty()) loaded_ = false;
  return status;
}

absl::Status QueryJournal::Replace(Entry first, const Link& before) {
  loaded_ = false;
  first.sequence = before.sequence + 1;
  Csprng().Fill(first.nonce);
  JournalFileHead head;
  head.fingerprint = keys_->fingerprint();
  head.key_id = keys_->key_id();
  head.sealed_tag_key = keys_->Seal(tag_key_);
  head.before = before;
  std::vector<uint8_t> bytes = head.Serialize(*keys_);
  Link link{before.sequence, {}};
  std::copy(bytes.end() - sizeof(Hash), bytes.end(), link.mac.begin());
  const std::vector<uint8_t> entry = SealEntry(first, *keys_, &link);
  bytes.insert(bytes.end(), entry.begin(), entry.end());
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(path_, bytes, kJournalMode));
  anchor_.link = link;
  return WriteAnchor(anchor_path_, *keys_, anchor_);
}

// Compact begins a new file with the sums of the old one. If that fails the old one grows on.
void QueryJournal::Compact() {
  Prune(&ledger_);
  Entry sum;
  sum.act = Entry::Act::kCheckpoint;
  sum.time = Now();
  sum.state = ledger_.Serialize();
  (void)Replace(std::move(sum), link_);
}

BudgetLimits QueryJournal::LimitsOf(const ModelId& model, const BudgetLimits& defaults) const {
  const auto it = ledger_.models.find(model);
  const bool known = it != ledger_.models.end() && it->second.limits;
  return known ? it->second.LimitsFor(defaults) : limits_.value_or(defaults);
}

absl::Status QueryJournal::EnsureLimits(const ModelId& model, const BudgetLimits& defaults) {
  const auto it = ledger_.models.find(model);
  const bool known = it != ledger_.models.end() && it->second.limits;
  // Fewer scores count at once; more, only when they are set by hand.
  if (known && defaults.scores >= it->second.measured) return absl::OkStatus();
  Entry entry;
  entry.act = Entry::Act::kLimits;
  entry.time = Now();
  entry.model = model;
  entry.limits = LimitsOf(model, defaults);
  entry.measured = defaults.scores;
  return Add(std::move(entry));
}

Entry QueryJournal::EntryOf(const Opening& opening, Entry::Act act) const {
  Entry entry;
  entry.act = act;
  entry.time = Now();
  entry.client = opening.client;
  entry.model = opening.model;
  entry.verification = opening.verification;
  entry.decision = opening.decision;
  entry.slots = opening.slots;
  entry.reply = ReplyTagOf(opening.replies.at(0));
  return entry;
}

absl::StatusOr<std::vector<Entry>> QueryJournal::EntriesOf(const Opening& opening) {
  HEFT_RETURN_IF_ERROR(ledger_.CheckInUse());
  HEFT_RETURN_IF_ERROR(CheckHeads(opening.heads));
  if (opening.gallery != GalleryId{}) HEFT_RETURN_IF_ERROR(ledger_.CheckGallery(opening.gallery));
  HEFT_RETURN_IF_ERROR(CheckState(opening));
  if (!opening.decision && LimitsOf(opening.model, opening.defaults).scores == 0) {
    return absl::ResourceExhaustedError(opening.no_scores);
  }
  HEFT_RETURN_IF_ERROR(EnsureLimits(opening.model, opening.defaults));
  Entry entry = EntryOf(opening, opening.given ? Entry::Act::kGiven : Entry::Act::kOpening);
  if (opening.verification) {
    entry.identities = {TagOf(tag_key_, NameHash(opening.claimed))};
  } else if (opening.decision) {
    for (const std::string& name : opening.few) {
      entry.identities.push_back(TagOf(tag_key_, NameHash(name)));
    }
  }
  HEFT_RETURN_IF_ERROR(ledger_.CheckOpenings(opening.most));
  HEFT_RETURN_IF_ERROR(ledger_.CheckTold(opening.told, opening.most_told));
  entry.told = opening.told;
  HEFT_RETURN_IF_ERROR(ledger_.Check(entry, opening.claimed));
  std::vector<Entry> entries = {std::move(entry)};
  for (size_t i = 1; i < opening.replies.size(); ++i) {
    entries.push_back(PartEntry(opening.replies[i], entries[0].time));
    HEFT_RETURN_IF_ERROR(ledger_.Check(entries.back(), {}));
  }
  return entries;
}

absl::Status QueryJournal::Charge(const Opening& opening) {
  return Update([&]() -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(std::vector<Entry> entries, EntriesOf(opening));
    HEFT_RETURN_IF_ERROR(Adopt(opening.gallery));
    for (Entry& entry : entries) HEFT_RETURN_IF_ERROR(Add(std::move(entry)));
    return absl::OkStatus();
  });
}

absl::Status QueryJournal::CheckCharge(const Opening& opening) {
  return Update([&] { return EntriesOf(opening).status(); });
}

absl::Status QueryJournal::CheckProofs(uint64_t count, uint64_t most) {
  return Update([&] { return ledger_.CheckProofs(count, most); });
}

absl::Status QueryJournal::ChargeProofs(uint64_t count, uint64_t most) {
  if (count == 0) return absl::OkStatus();
  return Update([&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(ledger_.CheckInUse());
    HEFT_RETURN_IF_ERROR(ledger_.CheckProofs(count, most));
    Entry entry;
    entry.act = Entry::Act::kProofs;
    entry.time = Now();
    entry.proofs = count;
    return Add(std::move(entry));
  });
}

absl::StatusOr<std::vector<bool>> QueryJournal::Publish(const Opening& opening,
                                                        std::span<const std::string> ranked) {
  std::vector<bool> may(ranked.size(), true);
  if (opening.verification) return may;
  absl::Status refused;
  HEFT_RETURN_IF_ERROR(Update([&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(EnsureLimits(opening.model, opening.defaults));
    Entry entry = EntryOf(opening, Entry::Act::kPublished);
    HEFT_RETURN_IF_ERROR(ledger_.Check(entry, {}));
    for (size_t i = 0; i < ranked.size(); ++i) {
      const IdentityTag tag = TagOf(tag_key_, NameHash(ranked[i]));
      const size_t charged = entry.identities.size();
      entry.identities.push_back(tag);
      const absl::Status allowed = ledger_.CheckIdentity(entry, tag, {});
      may[i] = allowed.ok();
      if (!may[i]) entry.identities.resize(charged);
      if (i > 0 || may[i]) continue;
      refused = allowed;  // without its best candidate a ranking says something else
      break;
    }
    return Add(std::move(entry));
  }));
  HEFT_RETURN_IF_ERROR(refused);
  return may;
}

absl::Status QueryJournal::PublishDecision(const Opening& opening, const std::string& best,
                                           bool accepted) {
  return Update([&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(EnsureLimits(opening.model, opening.defaults));
    Entry entry = EntryOf(opening, Entry::Act::kPublished);
    entry.claimed = opening.verification || !opening.few.empty();
    entry.identities = {TagOf(tag_key_, NameHash(best))};
    HEFT_RETURN_IF_ERROR(ledger_.Check(entry, {}));
    HEFT_RETURN_IF_ERROR(ledger_.CheckIdentity(entry, entry.identities[0], opening.claimed));
    return accepted ? Add(std::move(entry)) : absl::OkStatus();
  });
}

absl::StatusOr<std::vector<uint64_t>> QueryJournal::ScoresLeft(
    const Opening& opening, std::span<const std::string> identities) {
  std::vector<uint64_t> left;
  HEFT_RETURN_IF_ERROR(Update([&] {
    for (const std::string& identity : identities) {
      const IdentityTag tag = TagOf(tag_key_, NameHash(identity));
      left.push_back(ledger_.ScoresLeft(opening.model, opening.client, tag));
    }
    return absl::OkStatus();
  }));
  return left;
}

absl::StatusOr<std::string> QueryJournal::KeyWarning(const Opening& opening, uint64_t most_proofs) {
  std::string warning;
  HEFT_RETURN_IF_ERROR(Update([&] {
    const auto half = [&](uint64_t done, uint64_t most, uint64_t unit, std::string_view what) {
      if (most == 0 || done <= most / 2) return;
      warning =
          absl::StrCat("this key is used up by half: ", done / unit, " of ", most / unit,
                       std::string(what), ". Renew it in time: heft rekey, and heft-server apply");
    };
    half(ledger_.Openings(), opening.most, 1, " openings that its noise is for");
    half(ledger_.proofs, most_proofs, 1, " proofs of enrolments that its noise is for");
    half(ledger_.told, opening.most_told, kKeyUnits, " bits that openings can tell of it");
    return absl::OkStatus();
  }));
  return warning;
}

absl::Status QueryJournal::SetLimits(const ModelId& model, const BudgetLimits& limits,
                                     uint64_t measured) {
  return Update([&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(ledger_.CheckInUse());
    Entry entry;
    entry.act = Entry::Act::kLimits;
    entry.time = Now();
    entry.model = model;
    entry.limits = limits;
    entry.measured = measured;
    return Add(std::move(entry));
  });
}

absl::Status QueryJournal::CheckState(const Opening& opening) const {
  for (const SignedState& state : opening.states) {
    HEFT_RETURN_IF_ERROR(ledger_.CheckState(state, opening.strict));
  }
  if (!opening.strict || opening.states.size() == opening.replies.size()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the reply does not say which state of a gallery it was made from: of an older server");
}

absl::Status QueryJournal::Adopt(const GalleryId& gallery) {
  if (gallery == GalleryId{} || ledger_.gallery != GalleryId{}) return absl::OkStatus();
  Entry entry;
  entry.act = Entry::Act::kGallery;
  entry.time = Now();
  entry.gallery = gallery;
  return Add(std::move(entry));
}

absl::Status QueryJournal::Sign(const SignedState& state, bool put_back, const GalleryId& whole) {
  return Update([&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(ledger_.CheckInUse());
    const auto it = ledger_.states.find(state.gallery);
    const bool known = it != ledger_.states.end();
    if (!known || !put_back) HEFT_RETURN_IF_ERROR(ledger_.CheckState(state, /*strict=*/false));
    HEFT_RETURN_IF_ERROR(Adopt(whole));
    if (known && it->second.generation == state.generation && it->second.root == state.root) {
      return absl::OkStatus();
    }
    Entry entry;
    entry.act = Entry::Act::kState;
    entry.time = Now();
    entry.signed_state = state;
    return Add(std::move(entry));
  });
}

absl::Status QueryJournal::CheckInUse(std::span<const SignedJournalHead> heads) {
  return Update([&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(ledger_.CheckInUse());
    return CheckHeads(heads);
  });
}

absl::Status QueryJournal::CheckUnopened(std::span<const Digest> replies) {
  return Update([&]() -> absl::Status {
    for (const Digest& reply : replies) {
      HEFT_RETURN_IF_ERROR(ledger_.Check(PartEntry(reply, Now()), {}));
    }
    return absl::OkStatus();
  });
}

absl::Status QueryJournal::RecordOnce(const Digest& what, std::string_view again,
                                      const Digest* file) {
  return Update([&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(ledger_.CheckInUse());
    if (!ledger_.Check(PartEntry(what, Now()), {}).ok()) {
      return absl::FailedPreconditionError(std::string(again));
    }
    HEFT_RETURN_IF_ERROR(Add(PartEntry(what, Now())));
    return file == nullptr ? absl::OkStatus() : Add(PartEntry(*file, Now()));
  });
}

absl::StatusOr<bool> QueryJournal::HasRecorded(const Digest& what) {
  bool recorded = false;
  HEFT_RETURN_IF_ERROR(Update([&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(ledger_.CheckInUse());
    recorded = !ledger_.Check(PartEntry(what, Now()), {}).ok();
    return absl::OkStatus();
  }));
  return recorded;
}

absl::StatusOr<QueryJournal::Status> QueryJournal::Read() {
  Status out;
  HEFT_RETURN_IF_ERROR(Update([&] {
    out = {ledger_, link_.sequence, std::max<uint64_t>(anchor_.restarts, ledger_.restarts.size()),
           Now()};
    return absl::OkStatus();
  }));
  return out;
}

}  // namespace heft
