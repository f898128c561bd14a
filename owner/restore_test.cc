// SPDX-License-Identifier: Apache-2.0
// Restore: the receipts of erased people, also from a damaged store, and other processes that use
// the gallery meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "base/files.h"
#include "gallery/change.h"
#include "gallery/remembered.h"
#include "gallery/request_log.h"
#include "heft/desk.h"
#include "heft/gallery_admin.h"
#include "owner/testing.h"

namespace heft {
namespace {

using testing::Code;
using ::testing::ElementsAre;
using testing::EnrolDirectly;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

class RestoreTest : public testing::GalleryTest {
 protected:
  RestoreTest() : server_of_(*Server::Create(*model_, *evaluation_)) {}

  Gallery::Impl Newest() const { return *Gallery::Impl::Open(directory_); }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const std::string& name : Newest().identities()) {
      if (!name.empty()) names.push_back(name);
    }
    return names;
  }
  // A snapshot with ann and bob; then ann is erased. Her receipt.
  std::vector<uint8_t> EraseAnn() {
    EXPECT_TRUE(EnrolDirectly(*server_, directory_, Set({1, 2}, {"ann", "bob"})).ok());
    EXPECT_TRUE(GallerySigner(directory_).ok());  // so that the snapshot has its public half
    EXPECT_TRUE(Snapshot(directory_, snapshot_).ok());
    auto removed = Remove(server_of_, directory_, {"ann"});
    EXPECT_TRUE(removed.ok() && removed->receipts.size() == 1) << removed.status();
    return removed->receipts[0];
  }
  RestoreOptions Older() const { return {.accept_older = true, .server = &server_of_}; }
  // A value of the gallery's loses its first byte.
  void Spoil(Table table, const StoreKey& key) const {
    GalleryChange change = *GalleryChange::Begin(Newest(), /*start=*/false);
    const auto value = *change.writer().Get(table, key);
    ASSERT_TRUE(value);
    const std::vector<uint8_t> bytes(value->begin() + 1, value->end());
    ASSERT_TRUE(change.writer().Put(table, key, bytes).ok());
    ASSERT_TRUE(change.writer().Commit().ok());
  }
  void SpoilReceipt() const {
    const Gallery::Impl gallery = Newest();
    Spoil(Table::kReceipts, NumberKey(gallery.number(), gallery.generation()));
  }

  Server server_of_;
  const std::string snapshot_ = temporary_ / "snapshot";
};

// The gallery's blocks cannot be listed, but its receipts can still be read.
TEST_F(RestoreTest, ReceiptsOfADamagedGallery) {
  EraseAnn();
  Spoil(Table::kBlockInfo, InfoKey(Newest().number(), 0));
  ASSERT_EQ(Code(Gallery::Impl::Open(directory_)), absl::StatusCode::kDataLoss);
  const auto restored = Restore(snapshot_, directory_, Older());
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->erased, 1u);
  EXPECT_THAT(Names(), ElementsAre("bob"));
  EXPECT_TRUE(Newest().CheckIntact(instance_).ok());
}

// Of two galleries in a folder one is damaged: what the other has erased stays erased.
TEST_F(RestoreTest, GalleriesAreLookedAtOneByOne) {
  const std::string other = directory_ + ":other";
  ASSERT_TRUE(EnrolDirectly(*server_, other, Set({3, 4}, {"cat", "dan"})).ok());
  EraseAnn();
  Spoil(Table::kHead, HeadKey(Gallery::Impl::Open(other)->number()));
  ASSERT_FALSE(Gallery::Impl::Open(other).ok());
  RestoreOptions options = Older();
  EXPECT_EQ(Code(Restore(snapshot_, directory_, options)), absl::StatusCode::kFailedPrecondition)
      << "nobody knows whom that one had erased";
  options.without_receipts = true;
  const auto restored = Restore(snapshot_, directory_, options);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->erased, 1u);
  EXPECT_THAT(Names(), ElementsAre("bob"));
  EXPECT_EQ(Gallery::Impl::Open(other)->size(), 2u);
}

TEST_F(RestoreTest, ReceiptsThatCannotBeReadAreMissed) {
  const std::vector<uint8_t> receipt = EraseAnn();
  SpoilReceipt();
  RestoreOptions options = Older();
  const auto refused = Restore(snapshot_, directory_, options);
  EXPECT_EQ(Code(refused), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("--receipts none"));
  EXPECT_THAT(Names(), ElementsAre("bob"));
  options.receipts = {receipt};
  ASSERT_TRUE(Restore(snapshot_, directory_, options).ok());
  EXPECT_THAT(Names(), ElementsAre("bob"));
}

TEST_F(RestoreTest, OverAStoreThatDoesNotOpen) {
  const std::vector<uint8_t> receipt = EraseAnn();
  const std::string store = directory_ + "/store.sqlite";
  const auto spoil = [&] {
    std::filesystem::remove(store + "-wal");
    ASSERT_TRUE(WriteFileAtomic(store, std::string(1 << 16, 'x'), 0600).ok());
  };
  spoil();
  RestoreOptions options = Older();
  EXPECT_EQ(Code(Restore(snapshot_, directory_, options)), absl::StatusCode::kFailedPrecondition);
  options.without_receipts = true;
  const auto without = Restore(snapshot_, directory_, options);
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_THAT(Names(), ElementsAre("ann", "bob")) << "nobody knew better";
  spoil();
  options.without_receipts = false;
  options.receipts = {receipt};
  const auto with = Restore(snapshot_, directory_, options);
  ASSERT_TRUE(with.ok()) << with.status();
  EXPECT_THAT(Names(), ElementsAre("bob"));
}

TEST_F(RestoreTest, ReceiptsAreTheServers) {
  const std::vector<uint8_t> receipt = EraseAnn();
  const SigningKey other = *SigningKey::Generate();
  const SignedFile file = *ReadSigned(receipt, "receipt");
  Statement statement = file.statement;
  const std::vector<uint8_t> forged = *other.Sign(statement, file.file);
  std::vector<uint8_t> flipped = receipt;
  flipped[flipped.size() / 2] ^= 1;
  RestoreOptions options = Older();
  for (const auto& bad : {forged, flipped}) {
    options.receipts = {bad};
    EXPECT_FALSE(Restore(snapshot_, directory_, options).ok());
    EXPECT_THAT(Names(), ElementsAre("bob"));
  }
  // In another folder: only the snapshot or a trust file tells whose receipts count.
  const std::string elsewhere = temporary_ / "elsewhere";
  std::filesystem::remove(snapshot_ + "/keys.made");  // that one gets new keys
  options.receipts = {receipt};
  const auto with_key = Restore(snapshot_, elsewhere, options);
  ASSERT_TRUE(with_key.ok()) << with_key.status();
  EXPECT_EQ(with_key->erased, 1u);
  std::filesystem::remove_all(elsewhere);
  ASSERT_TRUE(std::filesystem::remove(snapshot_ + "/server.pub"));
  EXPECT_EQ(Code(Restore(snapshot_, elsewhere, options)), absl::StatusCode::kFailedPrecondition);
  Trust trust;
  ASSERT_TRUE(trust.Add(Role::kServer, "the server", file.signer).ok());
  options.trust = &trust;
  const auto trusted = Restore(snapshot_, elsewhere, options);
  ASSERT_TRUE(trusted.ok()) << trusted.status();
  EXPECT_EQ(trusted->erased, 1u);
}

// Cat was enrolled after the snapshot, and removed. A reader was open meanwhile, so she has no
// receipt yet.
TEST_F(RestoreTest, ReceiptsThatAreDueAreGiven) {
  EraseAnn();
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({3}, {"cat"})).ok());
  std::optional<Gallery::Impl> reader = Newest();
  SetWriterWait(0);
  const auto removed = Remove(server_of_, directory_, {"cat"});
  SetWriterWait(60);
  ASSERT_TRUE(removed.ok()) << removed.status();
  ASSERT_TRUE(removed->receipts.empty());
  reader.reset();
  ASSERT_TRUE(Restore(snapshot_, directory_, Older()).ok());
  std::vector<std::string> persons;
  const auto receipts = Receipts(directory_);
  ASSERT_TRUE(receipts.ok()) << receipts.status();
  for (const std::vector<uint8_t>& receipt : *receipts) {
    const auto read = ReadReceipt(receipt, "receipt");
    ASSERT_TRUE(read.ok()) << read.status();
    persons.insert(persons.end(), read->persons.begin(), read->persons.end());
  }
  EXPECT_THAT(persons, IsSupersetOf(removed->persons));
}

// A snapshot without keys comes to another machine: the keys are brought, or made anew on purpose.
TEST_F(RestoreTest, WithoutItsServersKeys) {
  EraseAnn();
  ASSERT_TRUE(EquipGallery(directory_).ok());
  const SignerKey known = GallerySigner(directory_)->public_key();
  const std::string copy = temporary_ / "copy", fresh = temporary_ / "fresh";
  ASSERT_TRUE(Snapshot(directory_, copy).ok());
  EXPECT_FALSE(FileExists(copy + "/server.key"));
  const auto refused = Restore(copy, fresh);
  EXPECT_EQ(Code(refused), absl::StatusCode::kFailedPrecondition);
  for (const char* what : {"server.key", "audit.key", "--with-keys", "keys.made"}) {
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr(what));
  }
  EXPECT_FALSE(FileExists(fresh));
  // The copy itself gets no other keys, either.
  EXPECT_EQ(Code(GallerySigner(copy)), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Code(EquipGallery(copy)), absl::StatusCode::kDataLoss);
  std::filesystem::create_directory(fresh);
  for (const char* key : {"/server.key", "/audit.key"}) {
    EXPECT_EQ(Code(Restore(copy, fresh)), absl::StatusCode::kFailedPrecondition);
    std::filesystem::copy_file(directory_ + key, fresh + key);
  }
  ASSERT_TRUE(Restore(copy, fresh).ok()) << Restore(copy, fresh).status();
  EXPECT_EQ(GallerySigner(fresh)->public_key(), known);
  const std::string anew = temporary_ / "anew";
  std::filesystem::remove(copy + "/keys.made");
  ASSERT_TRUE(Restore(copy, anew).ok());
  EXPECT_NE(EquipGallery(anew)->public_key(), known);
  // A snapshot with keys needs nothing else.
  const std::string whole = temporary_ / "whole", there = temporary_ / "there";
  ASSERT_TRUE(Snapshot(directory_, whole, /*with_keys=*/true).ok());
  ASSERT_TRUE(Restore(whole, there).ok());
  EXPECT_EQ(GallerySigner(there)->public_key(), known);
  // One with a key that cannot be used is refused.
  const std::vector<uint8_t> key = *ReadFile(directory_ + "/server.key");
  const std::vector<uint8_t> half(key.begin(), key.begin() + static_cast<int>(key.size() / 2));
  ASSERT_TRUE(WriteFileAtomic(directory_ + "/server.key", half, 0600).ok());
  const absl::Status unusable = Snapshot(directory_, temporary_ / "half", true).status();
  EXPECT_EQ(unusable.code(), absl::StatusCode::kFailedPrecondition) << unusable;
  EXPECT_FALSE(FileExists(temporary_ / "half"));
}

TEST_F(RestoreTest, TwoAtOnceIntoANewFolder) {
  EraseAnn();
  std::filesystem::remove(snapshot_ + "/keys.made");  // new keys
  const std::string fresh = temporary_ / "fresh";
  std::vector<absl::Status> done(2);
  std::vector<std::thread> threads;
  for (absl::Status& status : done) {
    threads.emplace_back([&] { status = Restore(snapshot_, fresh, Older()).status(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : done) EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(Gallery::Impl::Open(fresh)->CheckIntact(instance_).ok());
  EXPECT_FALSE(FileExists(fresh + ".restoring"));
}

// A server goes on answering while its store is copied: a request that it took meanwhile must not
// be taken again.
TEST_F(RestoreTest, RequestsOfMeanwhileAreRemembered) {
  EraseAnn();
  const TakenRow row = {{7}, 0, UnixTime() + 1000};
  bool taken = false;
  Monitor monitor;
  monitor = [&](const ProgressEvent&) {
    if (!taken) {
      EXPECT_FALSE(RequestLog(directory_).Take({{row}}, UnixTime())->has_value());
    }
    taken = true;
    return true;
  };
  ASSERT_TRUE(Restore(snapshot_, directory_, Older(), monitor).ok());
  ASSERT_TRUE(taken);
  EXPECT_TRUE(RequestLog(directory_).Take({{row}}, UnixTime())->has_value());
}

// Each process that changes a gallery remembers its generation, not only the tools.
TEST_F(RestoreTest, HowFarAGalleryHasComeIsRemembered) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1, 2}, {"ann", "bob"})).ok());
  const GalleryId id = Newest().id();
  const auto first = *RememberedGeneration(id);
  ASSERT_TRUE(first);
  EXPECT_EQ(*first, Newest().generation());
  while (Newest().generation() < *first + kRememberedEvery) {
    GalleryChange change = *GalleryChange::Begin(Newest(), false);
    change.Touch();
    ASSERT_TRUE(change.Commit().ok());
  }
  EXPECT_GT(**RememberedGeneration(id), *first);
  EXPECT_GT(**RememberedGeneration(id) + kRememberedEvery, Newest().generation());
  ASSERT_TRUE(Remove(server_of_, directory_, {"ann"}).ok());
  EXPECT_GE(**RememberedGeneration(id), Newest().generation() - 1) << "an erasure, at once";
  // Nor does it go back.
  const uint64_t newest = **RememberedGeneration(id);
  ASSERT_TRUE(RememberGeneration(id, 1).ok());
  EXPECT_EQ(**RememberedGeneration(id), newest);
}

}  // namespace
}  // namespace heft
