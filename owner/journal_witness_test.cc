// SPDX-License-Identifier: Apache-2.0
// Journals that are behind what a server has seen of them.
#include <filesystem>

#include "base/signed_file.h"
#include "owner/testing.h"

namespace heft {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class JournalWitnessTest : public testing::JournalTest {
 protected:
  std::unique_ptr<QueryJournal> Signing() const {
    auto journal = Open();
    journal->SignHeads([this](const JournalHead& head) { return SignHead(owner_, head); });
    return journal;
  }
  // The journal's head now, as a server keeps it.
  SignedJournalHead Seen() const {
    const JournalHead head = **Open()->Head();
    return {head, *SignHead(owner_, head)};
  }
  static Opening Shown(const std::string& claimed, const SignedJournalHead& head) {
    Opening opening = Of(claimed);
    opening.heads = {head};
    return opening;
  }
  // The key's folder and the state folder, as they are or as they were.
  void Save() const {
    for (const char* name : {"saved-key", "saved-state"}) fs::remove_all(temporary_ / name);
    fs::create_directory(temporary_ / "saved-key");
    for (const auto& file : fs::directory_iterator(temporary_.path())) {
      if (file.is_regular_file()) fs::copy(file.path(), temporary_ / "saved-key");
    }
    fs::copy(temporary_ / "state", temporary_ / "saved-state");
  }
  void PutBack() const {
    std::vector<fs::path> now;
    for (const auto& file : fs::directory_iterator(temporary_.path())) {
      if (file.is_regular_file()) now.push_back(file.path());
    }
    for (const fs::path& file : now) fs::remove(file);
    fs::copy(temporary_ / "saved-key", temporary_.path());
    fs::remove_all(temporary_ / "state");
    fs::copy(temporary_ / "saved-state", temporary_ / "state");
  }
  static std::string Refusal(QueryJournal& journal, const Opening& opening) {
    const absl::Status status = journal.Charge(opening);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    return std::string(status.message());
  }

  const SigningKey owner_ = *SigningKey::Generate();
};

TEST_F(JournalWitnessTest, AJournalBehindWhatAServerHasSeenOpensNothing) {
  ASSERT_TRUE(Open()->Charge(Of("ann")).ok());
  Save();
  ASSERT_TRUE(Open()->Charge(Of("ann")).ok());
  const SignedJournalHead seen = Seen();
  EXPECT_TRUE(Open()->Charge(Shown("ann", seen)).ok()) << "the journal itself is good";
  PutBack();
  const std::string before = Slurp();
  const std::string why = Refusal(*Open(), Shown("ann", seen));
  EXPECT_THAT(why, HasSubstr("put back to an older state"));
  EXPECT_THAT(why, HasSubstr("the server has seen its entry " + std::to_string(seen.head.sequence) +
                             " of 1970-01-12T"));
  EXPECT_THAT(why, HasSubstr("heft budget --restart REASON"));
  EXPECT_EQ(Slurp(), before) << "nothing is charged";
  // From then on replies that show no head are refused too.
  EXPECT_THAT(Refusal(*Open(), Of("bob")), HasSubstr("put back to an older state"));
  EXPECT_EQ(Open()->CheckInUse().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Open()->Read().ok()) << "the counts can be read";
}

TEST_F(JournalWitnessTest, TheNewestJournalPutBackServesAgain) {
  Save();
  const std::string old = Slurp(), old_anchor = *ReadTextFile(AnchorFile());
  ASSERT_TRUE(Open()->Charge(Of("ann")).ok());
  const SignedJournalHead seen = Seen();
  const std::string newest = Slurp(), newest_anchor = *ReadTextFile(AnchorFile());
  PutBack();
  Refusal(*Open(), Shown("ann", seen));
  Spill(newest);
  ASSERT_TRUE(WriteFileAtomic(AnchorFile(), newest_anchor, 0600).ok());
  EXPECT_TRUE(Open()->Charge(Of("ann")).ok());
  EXPECT_TRUE(Open()->Charge(Shown("ann", seen)).ok());
}

TEST_F(JournalWitnessTest, AForkIsNoticedBeyondItsLength) {
  Save();
  ASSERT_TRUE(Open()->Charge(Of("ann")).ok());
  const SignedJournalHead seen = Seen();
  PutBack();
  // Another opening in its place, and more of them: the same number, another entry.
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Open()->Charge(Of("ann")).ok());
  EXPECT_GT(Seen().head.sequence, seen.head.sequence);
  EXPECT_THAT(Refusal(*Open(), Shown("ann", seen)),
              HasSubstr("this journal has another entry " + std::to_string(seen.head.sequence)));
}

// The same opening at the same second makes another entry, so a fork shows even then.
TEST_F(JournalWitnessTest, EntriesAreNeverAlike) {
  Save();
  const Opening opening = Of("ann");
  ASSERT_TRUE(Open()->Charge(opening).ok());
  const JournalHead one = Seen().head;
  PutBack();
  ASSERT_TRUE(Open()->Charge(opening).ok());
  const JournalHead other = Seen().head;
  EXPECT_EQ(one.sequence, other.sequence);
  EXPECT_EQ(one.time, other.time);
  EXPECT_NE(one.digest, other.digest);
}

TEST_F(JournalWitnessTest, ARestartGoesOnBehindWhatWasSeen) {
  Save();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Open()->Charge(Of("ann")).ok());
  const SignedJournalHead seen = Seen();
  PutBack();
  Refusal(*Open(), Shown("ann", seen));
  ASSERT_TRUE(Open()->Restart("restored from the backup").ok());
  EXPECT_EQ(Open()->Read()->sequence, seen.head.sequence + 1);
  EXPECT_EQ(Open()->Read()->restarts, 1u);
  EXPECT_TRUE(Open()->Charge(Shown("ann", seen)).ok());
  EXPECT_TRUE(Open()->Charge(Of("ann")).ok());
}

TEST_F(JournalWitnessTest, HeadsOfEarlierFilesAreNotCompared) {
  entries_per_file_ = 4;
  ASSERT_TRUE(Open()->Charge(Of("ann")).ok());
  SignedJournalHead seen = Seen();
  seen.head.digest[0] ^= 1;
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(Open()->Charge(Of("p" + std::to_string(i))).ok());
  EXPECT_TRUE(Open()->Charge(Shown("ann", seen)).ok());
  seen = Seen();
  EXPECT_TRUE(Open()->Charge(Shown("bob", seen)).ok());
  ASSERT_TRUE(Open()->Charge(Of("ann")).ok());
  seen.head.sequence += 1000;
  EXPECT_THAT(Refusal(*Open(), Shown("cyd", seen)), HasSubstr("put back"));
}

TEST_F(JournalWitnessTest, TheHeadLiesBesideTheJournalAfterEachChange) {
  const auto journal = Signing();
  const std::string path = temporary_ / "journal.head";
  EXPECT_EQ(journal->HeadFile(), path);
  EXPECT_FALSE(FileExists(path));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(journal->Charge(Of("ann")).ok());
    const auto file = OpenHead(*ReadFile(path), owner_.public_key(), Keys().key_id(), "head");
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->head, **journal->Head());
    EXPECT_EQ(file->head.sequence, journal->Read()->sequence);
    EXPECT_EQ(file->head.time, now_);
  }
  ASSERT_TRUE(journal->Restart("for a test").ok());
  const auto file = OpenHead(*ReadFile(path), owner_.public_key(), Keys().key_id(), "head");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->head, **journal->Head());
  // A journal that is lost goes on behind it, so what servers hold stays true.
  fs::remove(path_);
  fs::remove(AnchorFile());
  ASSERT_TRUE(Signing()->Restart("the disk died").ok());
  EXPECT_EQ(Open()->Read()->sequence, file->head.sequence + 1);
}

TEST_F(JournalWitnessTest, HeadsAreTheKeyOwnersOwn) {
  const SignedJournalHead head = Seen();
  const SigningKey stranger = *SigningKey::Generate();
  const KeyId key = Keys().key_id();
  EXPECT_TRUE(OpenHead(head.file, owner_.public_key(), key, "head").ok());
  EXPECT_EQ(OpenHead(head.file, stranger.public_key(), key, "head").status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(OpenHead(head.file, owner_.public_key(), {9}, "head").status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(OpenHead(head.head.Serialize(), owner_.public_key(), key, "head").ok());
  const auto as_client = *owner_.Sign({.role = Role::kClient}, head.head.Serialize());
  EXPECT_FALSE(OpenHead(as_client, owner_.public_key(), key, "head").ok());
  for (size_t i = 0; i < head.file.size(); i += 7) {
    std::vector<uint8_t> damaged = head.file;
    damaged[i] ^= 1;
    EXPECT_FALSE(OpenHead(damaged, owner_.public_key(), key, "head").ok()) << i;
  }
  for (const uint64_t sequence : {uint64_t{0}, kMaxEntries + 1}) {
    JournalHead wrong = head.head;
    wrong.sequence = sequence;
    EXPECT_FALSE(JournalHead::Parse(wrong.Serialize(), "head").ok()) << sequence;
  }
}

// A server signs its heads with no key of a journal: one in memory has none.
TEST_F(JournalWitnessTest, InMemoryThereIsNoHead) {
  const auto journal = *QueryJournal::InMemory();
  EXPECT_EQ(*journal->Head(), std::nullopt);
  EXPECT_TRUE(journal->Charge(Shown("ann", Seen())).ok());
}

}  // namespace
}  // namespace heft
