// SPDX-License-Identifier: Apache-2.0
// QueryJournal: what the key owner has opened, in a journal beside the secret key that only its
// holder can write (owner/journal_file.h), and what may still be opened
// (owner/query_ledger.h). Nothing is granted that is not on disk: no journal, an older one,
// another key's or a copy's, and every opening is refused. Servers keep the journal's newest head,
// so an older one is noticed even if all of the key owner's own files were put back.
#ifndef HEFT_OWNER_QUERY_JOURNAL_H_
#define HEFT_OWNER_QUERY_JOURNAL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/files.h"
#include "base/secure.h"
#include "base/status.h"
#include "gallery/journal_head.h"
#include "owner/journal_anchor.h"
#include "owner/journal_file.h"
#include "owner/journal_keys.h"
#include "owner/query_ledger.h"

namespace heft {

// It lies beside the secret key, under its name with this at the end.
inline constexpr char kJournalSuffix[] = ".journal";
inline constexpr mode_t kJournalMode = 0600;
// The signed head lies beside it under this name, for servers.
inline constexpr char kHeadFileName[] = "journal.head";

// Opening: of one reply, or of all that answer one search, as it is charged.
struct Opening {
  ModelId model{};
  ClientId client{};  // zeros: the client is unknown
  bool verification = false;
  std::string claimed;              // of a verification, known to the gallery or not
  std::vector<std::string> few;     // of a search: who are as good as claimed, all different
  bool decision = false;            // yes or no is published, and no score
  bool given = false;               // of a shared key: this owner's part, which others combine
  uint64_t most = 0;                // openings under this key, this one among them; 0: any number
  uint64_t told = 0;                // of the key, in units of 1/kKeyUnits bit
  uint64_t most_told = 0;           // of the key, by all openings; 0: any number
  uint32_t slots = 1;               // that are published at most; a decision: of so many bits
  std::vector<Hash> replies;        // of all bytes of each: one at least, all different
  BudgetLimits defaults;            // where the model has none yet; its scores as measured
  std::string no_scores;            // the refusal where the model's limit of scores is 0
  std::vector<SignedState> states;  // that they were made from, as those say that do
  bool strict = false;              // takes none but states that were signed
  GalleryId gallery{};              // that must be the key's own, and is if it has none; zeros: any
  std::vector<SignedJournalHead> heads;  // of this journal, that the servers have seen
};

// JournalOptions: for tests.
struct JournalOptions {
  std::function<uint64_t()> clock;      // Unix seconds; the system's
  uint64_t entries_per_file = 1 << 15;  // then a checkpoint begins a new file, some 7 MB later
};

class QueryJournal {
 public:
  // InMemory: forgotten with the object: for keys that are, and tests. `limits`: of every model.
  static absl::StatusOr<std::unique_ptr<QueryJournal>> InMemory(
      const std::optional<BudgetLimits>& limits = {}, JournalOptions options = {});
  // OnDisk: in the file `path`. Reads nothing yet.
  static std::unique_ptr<QueryJournal> OnDisk(std::string path, JournalKeys keys,
                                              JournalOptions options = {});

  // Start begins the journal of a new key. kAlreadyExists where it has one, here or elsewhere.
  absl::Status Start(const std::string& how);
  // Restart begins anew, by hand: for a journal that is lost, damaged or was moved. What can still
  // be read of it stays counted, and the file is kept under another name. kFailedPrecondition for a
  // revoked key.
  absl::Status Restart(const std::string& reason);

  // Charge counts an opening before it is decrypted: what the client is told at most and, of who is
  // claimed, a score, or a rejection of this client; of a decision's part, a claim. Errors as
  // QueryLedger::Check, and kDataLoss or kFailedPrecondition for a journal that is not the key's
  // latest, kUnavailable if it cannot be written. Safe from several threads and processes.
  absl::Status Charge(const Opening& opening);
  // CheckCharge: whether Charge would take it. Counts nothing.
  absl::Status CheckCharge(const Opening& opening);
  // ChargeProofs counts proofs of norms before they are opened: kResourceExhausted beyond `most`
  // under this key; 0: any number.
  absl::Status ChargeProofs(uint64_t count, uint64_t most);
  // CheckProofs: whether ChargeProofs would take them. Counts nothing.
  absl::Status CheckProofs(uint64_t count, uint64_t most);
  // Publish counts the scores that an identification publishes, before the answer is out: `ranked`,
  // the best first. Returns which of them may be; kResourceExhausted if the best may not.
  absl::StatusOr<std::vector<bool>> Publish(const Opening& opening,
                                            std::span<const std::string> ranked);
  // PublishDecision counts a decision before the answer is out. If `accepted`, the best candidate
  // is charged and, if it was claimed, the client gets back the rejection that Charge took, and one
  // more. kResourceExhausted where `best` may not be accepted again: also of a rejection, so that
  // the error does not tell which it is.
  absl::Status PublishDecision(const Opening& opening, const std::string& best, bool accepted);

  // ScoresLeft: that each of the identities may still give to the client of the opening.
  absl::StatusOr<std::vector<uint64_t>> ScoresLeft(const Opening& opening,
                                                   std::span<const std::string> identities);

  // KeyWarning: where half of what may be opened under the key has been; otherwise empty.
  absl::StatusOr<std::string> KeyWarning(const Opening& opening, uint64_t most_proofs);

  // SetLimits: by hand. `measured`: the scores that the model's training allows. They hold until
  // training of the model in use allows fewer; then the smaller number of scores does.
  absl::Status SetLimits(const ModelId& model, const BudgetLimits& limits, uint64_t measured);
  // CheckInUse: kFailedPrecondition for a revoked key, and if this journal is behind one of `heads`
  // or has another entry in its place.
  absl::Status CheckInUse(std::span<const SignedJournalHead> heads = {});
  // CheckUnopened: kFailedPrecondition where one of these replies was opened before; and
  // CheckInUse's. Charge checks it again.
  absl::Status CheckUnopened(std::span<const Digest> replies);

  // RecordOnce: that this owner of a shared key gives its part of `what`, a renewal or a re-keying;
  // once. kFailedPrecondition with the text `again` if it has. `file`: the part, unless null.
  // HasRecorded: whether a part or its subject is recorded.
  absl::Status RecordOnce(const Digest& what, std::string_view again, const Digest* file = nullptr);
  absl::StatusOr<bool> HasRecorded(const Digest& what);

  // SignHeads: from here on the journal's head is written to HeadFile, signed by `sign`, after each
  // change. Head: the newest; nothing in memory. HeadFile: journal.head beside the journal.
  using HeadSigner = std::function<absl::StatusOr<std::vector<uint8_t>>(const JournalHead& head)>;
  void SignHeads(HeadSigner sign) { sign_ = std::move(sign); }
  absl::StatusOr<std::optional<JournalHead>> Head();
  std::string HeadFile() const;
  // Sign records the state of a gallery that is about to be signed: kFailedPrecondition for an
  // older one than before, unless `put_back`, and for another of the same generation. The state is
  // of the gallery `whole`, which becomes the key's own where it has none.
  absl::Status Sign(const SignedState& state, bool put_back, const GalleryId& whole);
  // PassOn hands everything counted to the journal of another key, `path`, and revokes this one:
  // the templates stay the same when a gallery is re-keyed. kAlreadyExists if `path` is there.
  absl::Status PassOn(const std::string& path, JournalKeys next);
  // PassOnTo: the same to the journal of another share, which its ceremony has begun. CheckUnused:
  // kFailedPrecondition if that has counted anything, which would be lost.
  absl::Status PassOnTo(QueryJournal& heir);
  absl::Status CheckUnused();
  // Discard removes journal and anchor of a key that is gone.
  void Discard();

  struct Status {
    QueryLedger ledger;
    uint64_t sequence = 0, restarts = 0, now = 0;
  };
  absl::StatusOr<Status> Read();
  // Empty: in memory.
  const std::string& path() const { return path_; }

 private:
  // Locks: of the journal, for those who share the folder, and of the anchor, for copies elsewhere.
  struct Locks {
    FileLock journal, anchor;
  };
  QueryJournal() = default;
  uint64_t Now() const;
  absl::StatusOr<Locks> Lock() const;
  // Runs `change`, which adds entries, and writes them; a failed change leaves all as it was.
  absl::Status Update(const std::function<absl::Status()>& change);
  absl::Status Add(Entry entry);
  absl::Status Commit();
  absl::Status Refresh();
  absl::Status Load(const Anchor& anchor, bool whole, bool* anchored);
  absl::Status Take(const Entry& entry, const Link& link, const Anchor& anchor, bool* anchored);
  // Replaces the file by one that begins with `first`, behind `before`.
  absl::Status Replace(Entry first, const Link& before);
  absl::Status TakeOver(QueryLedger ledger, const SecureVector<uint8_t>& tag_key);
  absl::Status Unused() const;
  absl::Status StartWith(const std::string& how, QueryLedger ledger,
                         const SecureVector<uint8_t>& tag_key);
  // What can be read of a journal that may be damaged.
  absl::StatusOr<Link> Salvage();
  void Compact();
  absl::Status Lost(std::string_view why) const;
  absl::Status CheckState(const Opening& opening) const;
  // journal_witness.cc: whether the journal has all that servers have seen of it.
  JournalHead NewestHead() const;
  absl::Status WriteHead() const;
  std::string SeenFile() const;
  bool Agrees(const JournalHead& head) const;
  absl::Status CheckHeads(std::span<const SignedJournalHead> heads) const;
  // The number of the newest entry that is known of from outside the journal; 0: none.
  uint64_t SeenFromOutside() const;
  // Makes a gallery the key's own where it has none.
  absl::Status Adopt(const GalleryId& gallery);
  // LimitsOf: those in force, which EnsureLimits writes down where the journal has others.
  BudgetLimits LimitsOf(const ModelId& model, const BudgetLimits& defaults) const;
  absl::Status EnsureLimits(const ModelId& model, const BudgetLimits& defaults);
  Entry EntryOf(const Opening& opening, Entry::Act act) const;
  // EntriesOf: those of an opening that may be charged. All are checked before the first is added.
  absl::StatusOr<std::vector<Entry>> EntriesOf(const Opening& opening);

  std::mutex mutex_;
  std::string path_, anchor_path_;
  std::optional<JournalKeys> keys_;  // on disk
  std::optional<BudgetLimits> limits_;
  JournalOptions options_;

  bool loaded_ = false;  // what follows is what the file says
  Stamp stamp_;          // `size`: of the entries that were read
  Link link_;
  Anchor anchor_;
  std::vector<Hash> ends_;  // the chain behind each entry of this file
  HeadSigner sign_;
  SecureVector<uint8_t> tag_key_;
  QueryLedger ledger_;
  std::vector<uint8_t> pending_;
};

}  // namespace heft

#endif  // HEFT_OWNER_QUERY_JOURNAL_H_
