// SPDX-License-Identifier: Apache-2.0
// Journals that are deleted, put back, copied, cut or changed.
#include "owner/journal_file.h"

#include <filesystem>

#include "owner/testing.h"

namespace heft {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::kModel;

class JournalFileTest : public testing::JournalTest {};

TEST_F(JournalFileTest, ACheckpointKeepsTheSumsAndTheFileSmall) {
  entries_per_file_ = 8;
  const Opening first = Of("ann");
  ASSERT_TRUE(Open()->Charge(first).ok());
  uint64_t largest = 0;
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(Open()->Charge(Of("p" + std::to_string(i % 4))).ok()) << i;
    largest = std::max<uint64_t>(largest, fs::file_size(path_));
  }
  EXPECT_LT(largest, 7000u);
  EXPECT_GE(Open()->Read()->sequence, 42u);
  const absl::Status again = Open()->Charge(first);
  EXPECT_THAT(std::string(again.message()), HasSubstr("opened before"));
  EXPECT_EQ(Granted(*Open(), "p1"), 0);
  EXPECT_EQ(Granted(*Open(), "ann"), 9);
}

TEST_F(JournalFileTest, ACheckpointIsNoWayBack) {
  entries_per_file_ = 8;
  const std::string fresh = Slurp();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Open()->Charge(Of("p" + std::to_string(i % 4))).ok());
  Spill(fresh);
  ExpectRefused(*Open(), "an older journal was put back");
}

TEST_F(JournalFileTest, NoJournalNoAnswer) {
  const auto journal = Open();
  ASSERT_TRUE(journal->Charge(Of("ann")).ok());
  fs::remove(path_);
  ExpectRefused(*journal, "the key's journal is not there");
  ExpectRefused(*Open(), "the key's journal is not there");
  EXPECT_FALSE(FileExists(path_)) << "nothing begins one by itself";
  EXPECT_EQ(Open()->Start("again").code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(JournalFileTest, AnOlderJournalIsRefused) {
  ASSERT_TRUE(Open()->Charge(Of("ann")).ok());
  const std::string old = Slurp();
  ASSERT_TRUE(Open()->Charge(Of("ann")).ok());
  const std::string latest = Slurp();
  const auto open = Open();
  ASSERT_TRUE(open->Read().ok());
  Spill(old);
  ExpectRefused(*Open(), "an older journal was put back");
  ExpectRefused(*open, "an older journal was put back");
  Spill(latest);
  EXPECT_TRUE(Open()->Charge(Of("ann")).ok()) << "the latest one serves again";
}

// A copy can go on where the key was, but not both: the one that is behind is refused.
TEST_F(JournalFileTest, ACopyOfTheKeyIsNoSecondBudget) {
  ASSERT_TRUE(Open()->Charge(Of("ann")).ok());
  const std::string folder = temporary_ / "elsewhere";
  fs::create_directory(folder);
  const std::string copy = folder + "/key.journal";
  ExpectRefused(*Open(copy), "the key's journal is not there");
  fs::copy(path_, copy);
  ASSERT_TRUE(Open(copy)->Charge(Of("ann")).ok());
  ExpectRefused(*Open(), "an older journal was put back");
  EXPECT_EQ(Granted(*Open(copy), "ann"), 8) << "of the ten";
  // Grown on its own, without the anchor's knowledge: it is not the key's own either.
  State("another");
  fs::copy(temporary_ / "state", temporary_ / "another", fs::copy_options::recursive);
  State("state");
  ASSERT_TRUE(Open(copy)->Charge(Of("bob")).ok());
  fs::copy_file(copy, folder + "/fork.journal");
  State("another");
  ASSERT_TRUE(Open(folder + "/fork.journal")->Charge(Of("bob")).ok()) << "ahead is fine";
  ASSERT_TRUE(Open(folder + "/fork.journal")->Charge(Of("eve")).ok());
  State("state");
  ASSERT_TRUE(Open(copy)->Charge(Of("cyd")).ok());
  ASSERT_TRUE(Open(copy)->Charge(Of("dan")).ok());
  ExpectRefused(*Open(folder + "/fork.journal"), "a copy of the key");
}

TEST_F(JournalFileTest, WithoutItsAnchorItIsACopyFromElsewhere) {
  const std::string fresh = Slurp();
  State("elsewhere");
  ExpectRefused(*Open(), "copied from elsewhere");
  State("state");
  ASSERT_TRUE(Open()->Charge(Of("ann")).ok());
  State("elsewhere");
  ExpectRefused(*Open(), "copied from elsewhere");
  Spill(fresh);  // not even one under which nothing was opened
  ExpectRefused(*Open(), "copied from elsewhere");
}

TEST_F(JournalFileTest, EveryChangedByteIsNoticed) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Open()->Charge(Of("ann")).ok());
  const std::string whole = Slurp();
  for (size_t i = 0; i < whole.size(); i += 11) {
    std::string damaged = whole;
    damaged[i] ^= 0x20;
    Spill(damaged);
    EXPECT_FALSE(Open()->Charge(Of("ann")).ok()) << i;
    EXPECT_EQ(Slurp(), damaged) << "left as it was";
    Spill(whole.substr(0, i));
    EXPECT_FALSE(Open()->Charge(Of("ann")).ok()) << "cut at " << i;
  }
  Spill(whole.substr(0, whole.size() - 1));
  ExpectRefused(*Open(), "damaged behind entry");
  Spill(whole);
  EXPECT_TRUE(Open()->Charge(Of("ann")).ok());
}

TEST_F(JournalFileTest, ADamagedAnchorIsRefused) {
  ASSERT_TRUE(Open()->Charge(Of("ann")).ok());
  std::string bytes = *ReadTextFile(AnchorFile());
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] ^= 1;
    ASSERT_TRUE(WriteFileAtomic(AnchorFile(), damaged, 0600).ok());
    EXPECT_FALSE(Open()->Charge(Of("ann")).ok()) << i;
  }
  // Forged with the right checksum, but without the key.
  const Anchor forged = {Link{1, {}}, 0, {}};
  ASSERT_TRUE(
      WriteFileAtomic(AnchorFile(), forged.Serialize(*JournalKeys::Random({2})), 0600).ok());
  ExpectRefused(*Open(), "changed by somebody who has not the key");
}

// The power goes while an entry is written: it was never answered, and the next takes its place.
TEST_F(JournalFileTest, ATornEntryIsCutOff) {
  ASSERT_TRUE(Open()->Charge(Of("ann")).ok());
  const std::string anchor = *ReadTextFile(AnchorFile()), before = Slurp();
  ASSERT_TRUE(Open()->Charge(Of("ann")).ok());
  const std::string after = Slurp();
  for (size_t size = before.size() + 1; size < after.size(); size += 7) {
    ASSERT_TRUE(WriteFileAtomic(AnchorFile(), anchor, 0600).ok());
    Spill(after.substr(0, size));
    const auto read = Open()->Read();
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->ledger.models.at(kModel).verifications, 1u) << size;
    ASSERT_TRUE(Open()->Charge(Of("bob")).ok()) << size;
    EXPECT_EQ(Slurp().size(), after.size()) << "in its place";
    EXPECT_EQ(Open()->Read()->ledger.models.at(kModel).verifications, 2u) << size;
  }
  // Between journal and anchor: the entry counts, though it was never answered.
  Spill(before);
  ASSERT_TRUE(WriteFileAtomic(AnchorFile(), anchor, 0600).ok());
  ASSERT_TRUE(Open()->Charge(Of("ann")).ok());
  ASSERT_TRUE(WriteFileAtomic(AnchorFile(), anchor, 0600).ok());
  EXPECT_EQ(Granted(*Open(), "ann"), 8);
}

TEST_F(JournalFileTest, NothingIsGrantedThatCannotBeRecorded) {
  const auto journal = Open();
  ASSERT_TRUE(journal->Charge(Of("ann")).ok());
  // The anchor's place is taken by a folder.
  const std::string anchor = *ReadTextFile(AnchorFile());
  fs::remove(AnchorFile());
  fs::create_directory(AnchorFile());
  EXPECT_FALSE(journal->Charge(Of("ann")).ok());
  fs::remove(AnchorFile());
  ASSERT_TRUE(WriteFileAtomic(AnchorFile(), anchor, 0600).ok());
  EXPECT_TRUE(journal->Charge(Of("ann")).ok());
  // A journal that is a link leads to a place that another user may have chosen.
  fs::rename(path_, path_ + ".real");
  fs::create_symlink(path_ + ".real", path_);
  EXPECT_FALSE(Open()->Charge(Of("ann")).ok());
}

TEST_F(JournalFileTest, AnotherKeysJournalIsRefused) {
  const auto foreign = *NewTagKey();
  const auto other = QueryJournal::OnDisk(path_, *JournalKeys::FromMaster({2}, foreign));
  // Its own, elsewhere.
  const std::string own = temporary_ / "own.journal";
  ASSERT_TRUE(QueryJournal::OnDisk(own, *JournalKeys::FromMaster({2}, foreign))->Start("").ok());
  ExpectRefused(*other, "the journal of another key");
}

}  // namespace
}  // namespace heft
