// SPDX-License-Identifier: Apache-2.0
// One damaged record stops nothing else: it is named, left out, and has a way out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "gallery/change.h"
#include "heft/audit.h"
#include "heft/desk.h"
#include "heft/gallery_admin.h"
#include "matcher/folder_key.h"
#include "matcher/server_impl.h"
#include "owner/roles_testing.h"
#include "store/testing.h"

namespace heft {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using StatusCode = absl::StatusCode;

class DamagedRecordsTest : public testing::RolesTest {
 protected:
  void Enrol(const std::string& name, uint64_t person) const {
    const auto done = testing::EnrolNow(*server_, *owner_, folder_, Files(person, name));
    ASSERT_TRUE(done.ok()) << name << ": " << done.status();
  }
  absl::Status Bring(const std::string& name, uint64_t person) const {
    return server_->Enrol(folder_, Files(person, name)).status();
  }
  Gallery::Impl Newest() const { return *Gallery::Impl::Open(folder_); }
  // Changes a record behind the gallery's back: one bit of its value, or of its key.
  void Flip(Table table, const StoreKey& key, bool in_key = false) const {
    const auto store = *OpenStore(folder_, StoreMode::kWrite);
    const auto lock = *store->Lock(absl::Seconds(1));
    const auto writer = *store->Write(*lock);
    const auto value = *writer->Get(table, key);
    ASSERT_TRUE(value);
    std::vector<uint8_t> bytes(value->begin(), value->end());
    StoreKey at = key;
    (in_key ? at.back() : bytes[bytes.size() / 2]) ^= 4;
    ASSERT_TRUE(writer->Delete(table, key).ok());
    ASSERT_TRUE(writer->Put(table, at, bytes).ok());
    ASSERT_TRUE(writer->Commit().ok());
  }
  void Drop(Table table, const StoreKey& key) const {
    const auto store = *OpenStore(folder_, StoreMode::kWrite);
    const auto lock = *store->Lock(absl::Seconds(1));
    const auto writer = *store->Write(*lock);
    ASSERT_TRUE(writer->Get(table, key)->has_value());
    ASSERT_TRUE(writer->Delete(table, key).ok());
    ASSERT_TRUE(writer->Commit().ok());
  }
  StoreKey NameOf(const std::string& identity) const {
    return NameKey(Newest().number(), Newest().id(), identity);
  }
  static StoreKey CopyOf(StoreKey key) {
    key.insert(key.begin(), 0xFF);
    return key;
  }
  std::vector<std::string> Complaints() const { return VerifyGallery(folder_)->complaints; }
  uint64_t EntryOf(const std::string& name) const {
    return Newest().At(Newest().Find(name)->places.at(0))->entry;
  }
  bool Finds(uint64_t person, const std::string& name) const {
    const auto reply =
        server_->Identify(*Gallery::Open(folder_), Files(person, "", SampleUse::kIdentification));
    EXPECT_TRUE(reply.ok()) << reply.status();
    const auto decision = roles_.NewOwner().Decide(*reply, "reply", 0.9);
    return decision.ok() && decision->identity == name;
  }
  // Whether the text occurs in a file of the store.
  bool IsInFiles(const std::string& text) const {
    for (const auto& file : fs::recursive_directory_iterator(folder_)) {
      if (!file.is_regular_file()) continue;
      const auto bytes = *ReadFile(file.path().string());
      if (std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).find(text) !=
          std::string_view::npos) {
        return true;
      }
    }
    return false;
  }
};

TEST_P(DamagedRecordsTest, AFoldedEntryStopsNoRemovalOfOthers) {
  for (const auto& [name, person] : {std::pair("ann", 1), {"bob", 2}, {"cat", 3}}) {
    Enrol(name, person);
  }
  const uint64_t before = Newest().generation();
  Enrol("dan", 4);
  ASSERT_TRUE(server_->Fold(folder_).ok());
  const uint64_t entry = EntryOf("ann");
  Flip(Table::kJournal, NumberKey(Newest().number(), entry));
  EXPECT_THAT(Complaints(), ElementsAre(HasSubstr(absl::StrCat("entry ", entry))));
  EXPECT_TRUE(Finds(1, "ann")) << "her template is in the block";

  const auto bob = Remove(*server_, folder_, {"bob"});
  ASSERT_TRUE(bob.ok()) << bob.status();
  EXPECT_EQ(bob->removed, 1u);
  EXPECT_EQ(bob->leaving, 1u) << "it cannot be taken back without ann's";
  const auto back = RollBack(*server_, folder_, before);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->removed, 1u);
  const auto ann = Remove(*server_, folder_, {"ann"});
  ASSERT_TRUE(ann.ok()) << ann.status();
  // Ann's entry is gone now, but her template is in the block: nothing is taken back around it.
  EXPECT_TRUE(Finds(3, "cat"));
  EXPECT_TRUE(Newest().CheckIntact().ok()) << Newest().CheckIntact();
  const auto cat = Remove(*server_, folder_, {"cat"});
  ASSERT_TRUE(cat.ok()) << cat.status();
  EXPECT_EQ(cat->erased, 1u) << "the block is empty";
  ASSERT_THAT(cat->receipts, SizeIs(1));
  EXPECT_THAT(ReadReceipt(cat->receipts[0], "receipt")->persons, SizeIs(4));
}

TEST_P(DamagedRecordsTest, ADamagedFoldStopsNothing) {
  for (const auto& [name, person] : {std::pair("ann", 1), {"bob", 2}}) Enrol(name, person);
  ASSERT_TRUE(server_->Fold(folder_).ok());
  Flip(Table::kFolds, NumberKey(Newest().number(), Newest().head().folded));
  EXPECT_THAT(Complaints(), ElementsAre(HasSubstr("fold up to entry")));
  const auto removed = Remove(*server_, folder_, {"ann"});
  ASSERT_TRUE(removed.ok()) << removed.status();
  Enrol("cat", 3);
  ASSERT_TRUE(CompactGallery(*server_, folder_).ok());
  EXPECT_THAT(Complaints(), IsEmpty());
}

TEST_P(DamagedRecordsTest, AnEntryInNoBlockIsLeftOut) {
  for (const auto& [name, person] : {std::pair("ann", 1), {"bob", 2}}) Enrol(name, person);
  Flip(Table::kJournal, NumberKey(Newest().number(), EntryOf("ann")));
  EXPECT_THAT(Complaints(), Contains(HasSubstr("the template of \"ann\"")));
  EXPECT_TRUE(Finds(2, "bob"));
  EXPECT_FALSE(Finds(1, "ann"));
  const Gallery held = Gallery::Open(folder_)->Unread();
  const auto listed = [&] { return DamagedRecords(*held.Newest()); };
  ASSERT_TRUE(server_->Identify(*held.Newest(), Files(2, "", SampleUse::kIdentification)).ok());
  EXPECT_THAT(listed(), ElementsAre(HasSubstr("of the journal")));
  ASSERT_TRUE(server_->Fold(folder_).ok());
  Enrol("cat", 3);
  EXPECT_TRUE(Finds(3, "cat"));
  EXPECT_TRUE(Finds(2, "bob"));
  EXPECT_EQ(Remove(*server_, folder_, {"bob"})->erased, 1u) << "ann's never joined the block";
  ASSERT_TRUE(CompactGallery(*server_, folder_).ok());
  EXPECT_THAT(Complaints(), ElementsAre(HasSubstr("the template of \"ann\"")));
  EXPECT_THAT(listed(), ElementsAre(HasSubstr("of the journal")));
  EXPECT_EQ(Remove(*server_, folder_, {"ann"})->removed, 1u);
  EXPECT_THAT(listed(), IsEmpty());
  EXPECT_THAT(Complaints(), IsEmpty());
}

TEST_P(DamagedRecordsTest, ADamagedPendingEnrolmentIsNamedAndRejected) {
  Enrol("ann", 1);
  for (const auto& [name, person] : {std::pair("bob", 2), {"cat", 3}}) {
    ASSERT_TRUE(Bring(name, person).ok());
  }
  const auto waiting = *PendingEnrolments(folder_);
  const auto bob = *std::ranges::find_if(
      waiting, [](const PendingEnrolment& e) { return e.identities[0] == "bob"; });
  // Before the request, and between it and its answer.
  const auto early = *server_->Pending(*Gallery::Open(folder_));
  Flip(Table::kPendingFile, DigestKey(Newest().number(), bob.entry));
  EXPECT_THAT(Complaints(), ElementsAre(HasSubstr(HexString(bob.entry))));
  const Gallery held = Gallery::Open(folder_)->Unread();
  {  // a reader delays the overwriting below
    const Gallery gallery = *held.Newest();
    const auto request = server_->Pending(gallery);
    ASSERT_TRUE(request.ok()) << request.status();
    EXPECT_THAT(DamagedRecords(gallery), ElementsAre(HasSubstr(HexString(bob.entry))));
    const auto inquiry = *owner_->ReadInquiry(*request, "pending");
    EXPECT_EQ(inquiry.more, 0u);
    ASSERT_THAT(inquiry.enrolments, SizeIs(1));
    EXPECT_EQ(inquiry.enrolments[0].people[0].identity, "cat");
  }
  const auto answer = *owner_->Approve(early, "pending");
  const auto approved = server_->Activate(folder_, answer.signed_admission, "admission",
                                          owner_->Signer()->public_key());
  ASSERT_TRUE(approved.ok()) << approved.status();
  EXPECT_EQ(approved->activated, 1u);
  EXPECT_THAT(approved->damaged, ElementsAre(bob.entry));
  EXPECT_EQ(approved->pending, 1u);

  EXPECT_EQ(RejectPending(*server_, folder_, std::vector<Digest>{{9}}).status().code(),
            StatusCode::kNotFound);
  const auto rejected = RejectPending(*server_, folder_, std::vector<Digest>{bob.entry});
  ASSERT_TRUE(rejected.ok()) << rejected.status();
  EXPECT_EQ(rejected->rejected, 1u);
  EXPECT_THAT(Complaints(), IsEmpty());
  EXPECT_THAT(DamagedRecords(*held.Newest()), IsEmpty()) << "not for those who have met it either";
  Enrol("bob", 2);
  EXPECT_TRUE(Finds(2, "bob"));
}

// A rival that is damaged delays no enrolment.
TEST_P(DamagedRecordsTest, ADamagedPendingEnrolmentContestsNoName) {
  ASSERT_TRUE(Bring("bob", 2).ok());
  const Digest entry = (*PendingEnrolments(folder_))[0].entry;
  Flip(Table::kPendingFile, DigestKey(Newest().number(), entry));
  ASSERT_TRUE(Bring("bob", 3).ok());
  const auto approved = Approve(folder_);
  ASSERT_TRUE(approved.ok()) << approved.status();
  EXPECT_EQ(approved->activated, 1u);
}

TEST_P(DamagedRecordsTest, NothingOfARejectedEnrolmentStays) {
  Enrol("ann", 1);
  const std::string name = "somebody with a name that occurs nowhere else";
  ASSERT_TRUE(Bring(name, 2).ok());
  ASSERT_TRUE(IsInFiles(name));
  const auto request = *server_->Pending(*Gallery::Open(folder_));
  const auto answer = *owner_->Approve(request, "pending", {.reject = {name}});
  const auto done = server_->Activate(folder_, answer.signed_admission, "admission",
                                      owner_->Signer()->public_key());
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->rejected, 1u);
  EXPECT_TRUE(done->overwritten.ok()) << done->overwritten;
  EXPECT_FALSE(IsInFiles(name));
}

TEST_P(DamagedRecordsTest, AReaderDelaysTheOverwritingAndTheAnswerSaysSo) {
  Enrol("ann", 1);
  ASSERT_TRUE(Bring("bob", 2).ok());
  const Gallery reader = *Gallery::Open(folder_);
  const auto request = *server_->Pending(reader);
  const auto answer = *owner_->Approve(request, "pending", {.reject = {"bob"}});
  const auto done = server_->Activate(folder_, answer.signed_admission, "admission",
                                      owner_->Signer()->public_key());
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->rejected, 1u);
  EXPECT_EQ(done->overwritten.code(), StatusCode::kUnavailable) << done->overwritten;
}

TEST_P(DamagedRecordsTest, ADamagedCatalogueBeginsNoGallery) {
  Enrol("ann", 1);
  const StoreKey name = {'m', 'a', 'i', 'n'};
  const GalleryId id = Newest().id();
  Flip(Table::kCatalog, name, /*in_key=*/true);
  EXPECT_THAT(Complaints(), Contains(HasSubstr("the catalogue's entry")));
  ASSERT_TRUE(Bring("bob", 2).ok());
  EXPECT_EQ(Newest().id(), id) << "its copy is used";
  ASSERT_TRUE(CompactGallery(*server_, folder_).ok());
  EXPECT_THAT(Complaints(), IsEmpty());
  EXPECT_EQ(*GalleryNames(folder_), std::vector<std::string>{"main"});

  Flip(Table::kCatalog, name, /*in_key=*/true);
  Flip(Table::kCatalog, CopyOf(name));
  for (const std::string& where : {folder_, folder_ + ":other"}) {
    const auto begun = server_->Enrol(where, Files(3, "cat"));
    EXPECT_EQ(begun.status().code(), StatusCode::kDataLoss) << begun.status();
    EXPECT_THAT(std::string(begun.status().message()), HasSubstr("catalogue's entry"));
    EXPECT_THAT(std::string(begun.status().message()), HasSubstr("restore"));
  }
  EXPECT_EQ(GalleryNames(folder_)->size(), 0u);
}

// A compaction that was stopped may have left indices that lack people.
TEST_P(DamagedRecordsTest, SomebodyWhomTheIndexLacksIsRemovedAndMended) {
  for (const auto& [name, person] : {std::pair("ann", 1), {"bob", 2}}) Enrol(name, person);
  for (const char* name : {"ann", "bob"}) Drop(Table::kNames, NameOf(name));
  ASSERT_TRUE(Newest().Find("ann")->places.empty());
  const auto ann = Remove(*server_, folder_, {"ann"});
  ASSERT_TRUE(ann.ok()) << ann.status();
  EXPECT_EQ(ann->removed, 1u);
  EXPECT_THAT(ann->receipts, SizeIs(1));
  ASSERT_TRUE(CompactGallery(*server_, folder_).ok());
  EXPECT_THAT(Newest().Find("bob")->places, SizeIs(1));
  EXPECT_THAT(Complaints(), IsEmpty());
  EXPECT_EQ(Remove(*server_, folder_, {"ann"}).status().code(), StatusCode::kNotFound);
}

TEST_P(DamagedRecordsTest, ATemplateThatTheIndexLacksLeavesWithItsName) {
  Enrol("ann", 1);
  Drop(Table::kNames, NameOf("ann"));
  Enrol("ann", 2);
  ASSERT_THAT(Newest().Find("ann")->places, SizeIs(1));
  const auto removed = Remove(*server_, folder_, {"ann"});
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(removed->removed, 2u);
}

// Ann is removed, whatever a damaged row of table template says of her; its run has a copy.
TEST_P(DamagedRecordsTest, ARowThatIsDamagedOrLostHidesNoTemplate) {
  const char* const damages[] = {"UPDATE template SET identity = 'anm' WHERE identity = 'ann'",
                                 "UPDATE template SET person = zeroblob(16) WHERE identity = 'ann'",
                                 "UPDATE template SET state = 2 WHERE identity = 'ann'",
                                 "DELETE FROM template WHERE identity = 'ann'"};
  for (const auto& [name, person] : {std::pair("ann", 1), {"bob", 2}}) Enrol(name, person);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(EraseRemains(folder_).ok());
  const std::string intact = temporary_ / "intact";
  fs::copy(folder_, intact);
  for (const std::string damage : damages) {
    for (const bool listed : {true, false}) {
      // Without the index, a row's state or its loss still shows in the sum of all states.
      if (!listed && damage.starts_with("UPDATE template SET identity")) continue;
      fs::remove_all(folder_);
      fs::copy(intact, folder_);
      if (!listed) Drop(Table::kNames, NameOf("ann"));
      ASSERT_EQ(store_testing::RunSql(folder_, damage), 1);
      const auto removed = Remove(*server_, folder_, {"ann"});
      ASSERT_TRUE(removed.ok()) << damage << ": " << removed.status();
      EXPECT_EQ(removed->removed, 1u) << damage;
      EXPECT_THAT(removed->receipts, SizeIs(1)) << damage << removed->overwritten;
      EXPECT_FALSE(IsInFiles("ann")) << damage;
    }
  }
}

TEST_P(DamagedRecordsTest, ALostRunOfTheRosterIsNamedAndItsPeopleAreNotCalledAbsent) {
  Enrol("ann", 1);
  const StoreKey run = RunKey(Newest().number(), 0);
  for (const StoreKey& key : {run, CopyOf(run)}) Drop(Table::kRoster, key);
  const auto compacted = CompactGallery(*server_, folder_);
  EXPECT_EQ(compacted.status().code(), StatusCode::kDataLoss) << compacted.status();
  EXPECT_THAT(std::string(compacted.status().message()), HasSubstr("run 0 of the roster"));
  EXPECT_THAT(std::string(compacted.status().message()), HasSubstr("snapshot"));
  const auto removed = Remove(*server_, folder_, {"ann"});
  EXPECT_EQ(removed.status().code(), StatusCode::kDataLoss) << removed.status();
  EXPECT_THAT(std::string(removed.status().message()), HasSubstr("snapshot"));
}

// The number of entries in a page of a table is one too small, so its last entry is hidden.
TEST_P(DamagedRecordsTest, NothingIsSignedWhileATableHidesEntries) {
  constexpr size_t kPage = 4096;
  for (const auto& [name, person] : {std::pair("ann", 1), {"bob", 2}, {"cat", 3}}) {
    Enrol(name, person);
  }
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(EraseRemains(folder_).ok());
  const std::vector<uint8_t> good = *ReadFile(folder_ + "/store.sqlite");
  size_t unsigned_ones = 0, signed_later = 0;
  for (size_t page = kPage; page < good.size(); page += kPage) {
    std::vector<uint8_t> bad = good;
    if ((bad[page] != 10 && bad[page] != 13) || bad[page + 4] == 0) continue;
    --bad[page + 4];
    const std::string folder = temporary_ / absl::StrCat("page-", page / kPage);
    fs::copy(folder_, folder);
    ASSERT_TRUE(WriteFileAtomic(folder + "/store.sqlite", bad, 0600).ok());
    const auto removed = Remove(*server_, folder, {"bob"});
    if (!removed.ok()) continue;
    if (!removed->receipts.empty()) {
      const absl::Status whole = (*OpenStore(folder, StoreMode::kRead))->Check();
      EXPECT_TRUE(whole.ok()) << "page " << page / kPage + 1 << ": " << whole;
      continue;
    }
    ++unsigned_ones;
    EXPECT_EQ(removed->overwritten.code(), StatusCode::kDataLoss) << removed->overwritten;
    EXPECT_THAT(std::string(removed->overwritten.message()), HasSubstr("compact"));
    const auto compacted = CompactGallery(*server_, folder);
    signed_later += compacted.ok() && !compacted->receipts.empty() ? 1 : 0;
  }
  EXPECT_GT(unsigned_ones, 3u);
  EXPECT_GT(signed_later, 3u);
}

// The commit has succeeded, so a later failure is no error of it.
TEST_P(DamagedRecordsTest, AnAdmissionThatIsCommittedSaysSo) {
  ASSERT_TRUE(Bring("ann", 1).ok());
  const auto request = *server_->Pending(*Gallery::Open(folder_));
  const auto answer = *owner_->Approve(request, "pending");
  // In the way of the signed state.
  ASSERT_TRUE(fs::create_directories(folder_ + "/state.heft/x"));
  const auto approve = [&] {
    return server_->Activate(folder_, answer.signed_admission, "admission",
                             owner_->Signer()->public_key());
  };
  const auto done = approve();
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->activated, 1u);
  EXPECT_FALSE(done->kept.ok());
  fs::remove_all(folder_ + "/state.heft");
  const auto again = approve();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->activated, 0u);
  EXPECT_TRUE(again->kept.ok()) << again->kept;
  EXPECT_TRUE(FileExists(folder_ + "/state.heft"));
}

TEST_P(DamagedRecordsTest, LostKeysAreNotReplaced) {
  Enrol("ann", 1);
  ASSERT_TRUE(EquipGallery(folder_).ok());
  const SignerKey known = GallerySigner(folder_)->public_key();
  const auto keys = {std::string("server.key"), std::string("audit.key")};
  for (const std::string& name : keys) {
    const std::string path = folder_ + "/" + name;
    const auto bytes = *ReadFile(path);
    std::vector<uint8_t> garbled = bytes;
    garbled[garbled.size() / 2] ^= 1;
    const std::optional<std::vector<uint8_t>> damages[] = {std::vector<uint8_t>(), garbled, {}};
    for (const auto& damage : damages) {
      fs::remove(path);
      if (damage) {
        ASSERT_TRUE(WriteFileAtomic(path, *damage, 0600).ok());
      }
      const absl::Status lost = EquipGallery(folder_).status();
      EXPECT_EQ(lost.code(), StatusCode::kDataLoss) << lost;
      EXPECT_THAT(std::string(lost.message()), HasSubstr(name));
      EXPECT_THAT(std::string(lost.message()), HasSubstr("keys.made"));
      EXPECT_THAT(std::string(lost.message()), HasSubstr("restore"));
    }
    ASSERT_TRUE(WriteFileAtomic(path, bytes, 0600).ok());
    ASSERT_TRUE(EquipGallery(folder_).ok()) << EquipGallery(folder_).status();
  }
  // A process that is killed while it makes the key may leave no public half.
  fs::remove(folder_ + "/server.pub");
  EXPECT_EQ(GallerySigner(folder_)->public_key(), known);
  EXPECT_TRUE(FileExists(folder_ + "/server.pub"));
  // Its public half alone shows that it was made.
  for (const char* name : {"server.key", "keys.made"}) fs::remove(folder_ + "/" + name);
  const absl::Status lost = EquipGallery(folder_).status();
  EXPECT_EQ(lost.code(), StatusCode::kDataLoss) << lost;
  EXPECT_THAT(std::string(lost.message()), HasSubstr("restore"));
  EXPECT_THAT(std::string(lost.message()), HasSubstr("server.pub"));
  // Another one, deliberately.
  fs::remove(folder_ + "/server.pub");
  const auto made = EquipGallery(folder_);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_NE(made->public_key(), known);
}

INSTANTIATE_TEST_SUITE_P(Profiles, DamagedRecordsTest, ::testing::Values("standard"));

}  // namespace
}  // namespace heft
