// SPDX-License-Identifier: Apache-2.0
// Galleries with a damaged block: the rest serves, grows and forgets. A block is made again if the
// journal has all its entries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/inside.h"
#include "gallery/change.h"
#include "heft/gallery_admin.h"
#include "owner/testing.h"

namespace heft {
namespace {

using testing::Code;
using ::testing::ElementsAre;
using testing::EnrolDirectly;
using ::testing::IsEmpty;

class DamagedBlocksTest : public testing::GalleryTest {
 protected:
  DamagedBlocksTest() : server_of_(*Server::Create(*model_, *evaluation_)) {}

  Gallery::Impl Newest() const { return *Gallery::Impl::Open(directory_); }
  GalleryChange Change() const { return *GalleryChange::Begin(Newest(), /*start=*/false); }
  // People of these names; not folded unless they are many.
  absl::Status Add(const std::vector<std::string>& names) {
    std::vector<uint64_t> seeds;
    for (size_t i = 0; i < names.size(); ++i) seeds.push_back(++seed_);
    HEFT_ASSIGN_OR_RETURN(const std::vector<Enrolment> templates,
                          server_->FuseAll(Set(seeds, names), {}));
    HEFT_ASSIGN_OR_RETURN(
        GalleryChange change,
        GalleryChange::Begin(*server_->OpenGallery(directory_, true), /*start=*/true));
    HEFT_RETURN_IF_ERROR(change.AddSingles(*instance_, templates));
    HEFT_RETURN_IF_ERROR(change.FoldIfMany(*instance_, server_->keys()));
    return change.Commit();
  }
  absl::Status Fold() const {
    GalleryChange change = Change();
    HEFT_RETURN_IF_ERROR(change.Fold(*instance_, server_->keys()));
    return change.Commit();
  }
  // Nothing that is folded so far can be taken back any more.
  void ForgetEntries() const {
    GalleryChange change = Change();
    for (const Retention& retention : {Retention{0, 0}, Retention{}}) {
      change.head().retention = retention;
      ASSERT_TRUE(change.Commit().ok());
    }
  }
  void Flip(Table table, const StoreKey& key, size_t at) const {
    GalleryChange change = Change();
    const auto value = *change.writer().Get(table, key);
    ASSERT_TRUE(value);
    std::vector<uint8_t> bytes(value->begin(), value->end());
    bytes[at] ^= 4;
    ASSERT_TRUE(change.writer().Put(table, key, bytes).ok());
    ASSERT_TRUE(change.writer().Commit().ok());
  }
  void Damage(size_t block) const {
    const Gallery::Impl gallery = Newest();
    Flip(Table::kBlocks, BlockKey(gallery.number(), gallery.head().epoch, block), 5000);
    ASSERT_EQ(Code(Newest().Block(*instance_, block, server_->keys())),
              absl::StatusCode::kDataLoss);
  }
  TiledCiphertexts Content(size_t block) const {
    const Gallery::Impl gallery = Newest();
    const PinnedBlock pinned = *gallery.Block(*instance_, block, server_->keys());
    return {pinned.view.begin(), pinned.view.end()};
  }
  static std::vector<std::string> Names(const std::string& prefix, size_t count) {
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) names.push_back(prefix + std::to_string(i));
    return names;
  }
  // ann and bob in a checkpoint that is damaged, cat in the journal alone.
  void MakeDamaged() {
    ASSERT_TRUE(Add({"ann", "bob"}).ok());
    ASSERT_TRUE(Fold().ok());
    ForgetEntries();
    ASSERT_TRUE(Add({"cat"}).ok());
    Damage(0);
  }

  Server server_of_;
  uint64_t seed_ = 0;
};

TEST_F(DamagedBlocksTest, OthersComeAndGo) {
  MakeDamaged();
  // More than a journal holds of those who are in no checkpoint.
  ASSERT_TRUE(Add(Names("p", kMaxPending + 4)).ok());
  const uint64_t per_block = Newest().head().block_places;
  EXPECT_EQ(Newest().Find("p0")->places, std::vector<uint64_t>{per_block});
  EXPECT_EQ(Newest().pending(), 1u) << "what is in the damaged block stays as it is";
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(Add({"q" + std::to_string(i)}).ok()) << i;
    ASSERT_LE(Newest().pending(), kMaxPending + 1);
  }
  const auto removed = Remove(server_of_, directory_, {"p1", "p2", "q3"});
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(removed->erased, 3u);
  EXPECT_TRUE(EnrolDirectly(*server_, directory_, Set({99}, {"z"}, SampleEncoding::kBulk)).ok());

  const Gallery::Impl gallery = Newest();
  const auto reply = server_->Identify(gallery, Set({4}, {"probe"}), {});
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_FALSE(reply->Answers(0));
  EXPECT_TRUE(reply->Answers(per_block));
  EXPECT_THAT(gallery.Verify(instance_)->damaged, ElementsAre(0u));
  EXPECT_EQ(gallery.Verify(instance_)->complaints.size(), 1u) << "nothing else is wrong";
}

TEST_F(DamagedBlocksTest, WhoStandsInOneIsErased) {
  MakeDamaged();
  ASSERT_TRUE(Add(Names("p", kMaxPending + 4)).ok());
  // She is in no checkpoint, damaged or not.
  const auto cat = Remove(server_of_, directory_, {"cat"});
  ASSERT_TRUE(cat.ok()) << cat.status();
  EXPECT_EQ(cat->erased, 1u);
  EXPECT_EQ(cat->receipts.size(), 1u);
  EXPECT_EQ(Newest().pending(), 0u);
  // Ann is in the damaged one, and so is another person.
  const auto ann = Remove(server_of_, directory_, {"ann"});
  ASSERT_TRUE(ann.ok()) << ann.status();
  EXPECT_EQ(ann->leaving, 1u);
  EXPECT_TRUE(ann->receipts.empty());
  EXPECT_EQ(Code(AskRenewal(server_of_, directory_)), absl::StatusCode::kNotFound);
  // With the last one the block goes, and with it who had left.
  const auto bob = Remove(server_of_, directory_, {"bob"});
  ASSERT_TRUE(bob.ok()) << bob.status();
  EXPECT_EQ(bob->erased, 1u);
  EXPECT_EQ(bob->leaving, 0u);
  ASSERT_EQ(bob->receipts.size(), 1u);
  EXPECT_THAT(ReadReceipt(bob->receipts[0], "receipt")->persons,
              ::testing::UnorderedElementsAre(ann->persons[0], bob->persons[0]));
  EXPECT_EQ(Newest().infos()[0].checkpoint, Digest{});
  EXPECT_EQ(Newest().head().leaving, 0u);
  EXPECT_TRUE(Newest().CheckIntact(instance_).ok()) << Newest().CheckIntact(instance_);
  ASSERT_TRUE(Add({"eve"}).ok());
  EXPECT_EQ(Newest().Find("eve")->places, std::vector<uint64_t>{0});
}

TEST_F(DamagedBlocksTest, WhatTheJournalHasIsMadeAgain) {
  ASSERT_TRUE(Add({"ann", "bob", "cat"}).ok());
  ASSERT_TRUE(Fold().ok());
  ASSERT_TRUE(Add({"dan"}).ok());
  ASSERT_TRUE(Remove(server_of_, directory_, {"bob"}).ok());
  const TiledCiphertexts before = Content(0);
  const Digest root = Newest().root();
  Damage(0);
  const auto compacted = CompactGallery(server_of_, directory_);
  ASSERT_TRUE(compacted.ok()) << compacted.status();
  EXPECT_EQ(compacted->mended, 1u);
  EXPECT_TRUE(compacted->damaged.empty());
  EXPECT_EQ(Content(0), before);
  EXPECT_EQ(Newest().root(), root);
  EXPECT_TRUE(Newest().CheckIntact(instance_).ok()) << Newest().CheckIntact(instance_);
  // Also on the way of a removal, and of a fold.
  Damage(0);
  ASSERT_TRUE(Add({"eve"}).ok());
  const auto removed = Remove(server_of_, directory_, {"cat"});
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(removed->erased, 1u);
  EXPECT_TRUE(Newest().CheckIntact(instance_).ok()) << Newest().CheckIntact(instance_);
}

// A process that has met the damage sees the repair, before it matches again.
TEST_F(DamagedBlocksTest, WhatIsMadeAgainIsNoLongerListed) {
  ASSERT_TRUE(Add({"ann", "bob"}).ok());
  ASSERT_TRUE(Fold().ok());
  Damage(0);
  ASSERT_TRUE(Add(Names("p", kMaxPending + 4)).ok());
  ASSERT_EQ(Newest().blocks(), 2u);
  const Gallery held = Gallery::Open(directory_)->Unread();
  const auto listed = [&] {
    std::vector<size_t> blocks;
    for (const DamagedBlock& block : DamagedBlocks(*held.Newest())) blocks.push_back(block.block);
    return blocks;
  };
  const auto match = [&] {
    const auto reply = server_->Identify(Inside::Of(*held.Newest()), Set({4}, {"probe"}), {});
    EXPECT_TRUE(reply.ok()) << reply.status();
  };
  match();
  EXPECT_THAT(listed(), ElementsAre(0u));
  ASSERT_TRUE(Add({"cat"}).ok());
  EXPECT_THAT(listed(), ElementsAre(0u)) << "another change repairs nothing";
  EXPECT_EQ(CompactGallery(server_of_, directory_)->mended, 1u);
  EXPECT_THAT(listed(), IsEmpty());
  // Nor is a block that everybody has left.
  Damage(0);
  match();
  EXPECT_THAT(listed(), ElementsAre(0u));
  ASSERT_TRUE(Remove(server_of_, directory_, {"ann", "bob"}).ok());
  EXPECT_THAT(listed(), IsEmpty());
}

TEST_F(DamagedBlocksTest, WhatTheJournalHasNotIsNamed) {
  MakeDamaged();
  const auto compacted = CompactGallery(server_of_, directory_);
  ASSERT_TRUE(compacted.ok()) << compacted.status();
  EXPECT_EQ(compacted->mended, 0u);
  ASSERT_EQ(compacted->damaged.size(), 1u);
  EXPECT_EQ(compacted->damaged[0].block, 0u);
}

// Entries that are damaged themselves, or are for another place than they were: theirs is the only
// template that is left out.
TEST_F(DamagedBlocksTest, DamagedEntries) {
  for (const size_t at : {0, 1, 200}) {  // version, position, ciphertext
    ASSERT_TRUE(Add({"ann", "bob"}).ok());
    const uint64_t last = Newest().head().next_entry - 1;
    const uint64_t bob = Newest().Find("bob")->places[0];
    Flip(Table::kJournal, NumberKey(Newest().number(), last), at);
    EXPECT_THAT(Newest().Block(*instance_, 0, server_->keys())->lost, ElementsAre(bob));
    EXPECT_THAT(Newest().Verify(instance_)->complaints,
                ElementsAre(::testing::HasSubstr("the template of \"bob\"")));
    ASSERT_TRUE(Add(Names("p", kMaxPending + 4)).ok());
    ASSERT_TRUE(Add(Names("q", kMaxPending + 4)).ok());
    EXPECT_EQ(Newest().blocks(), 1u);
    EXPECT_THAT(Newest().Block(*instance_, 0, server_->keys())->lost, ElementsAre(bob));
    const auto reply = server_->Identify(Newest(), Set({4}, {"probe"}), {});
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_FALSE(reply->Answers(bob));
    EXPECT_TRUE(reply->Answers(Newest().Find("p0")->places[0]));
    const auto removed = Remove(server_of_, directory_, {"bob", "ann", "p1"});
    ASSERT_TRUE(removed.ok()) << removed.status();
    EXPECT_EQ(removed->erased, 3u);
    EXPECT_TRUE(removed->overwritten.ok()) << removed->overwritten;
    EXPECT_TRUE(Newest().CheckIntact(instance_).ok()) << Newest().CheckIntact(instance_);
    std::filesystem::remove_all(directory_);
  }
}

// A block that holds no person any more is dropped without the key owner.
TEST_F(DamagedBlocksTest, AnEmptyBlockIsDropped) {
  ASSERT_TRUE(Add({"ann", "bob"}).ok());
  ASSERT_TRUE(Fold().ok());
  ForgetEntries();
  ASSERT_EQ(Remove(server_of_, directory_, {"ann"})->leaving, 1u);
  const auto removed = Remove(server_of_, directory_, {"bob"});
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(removed->erased, 1u);
  ASSERT_EQ(removed->receipts.size(), 1u);
  EXPECT_EQ(ReadReceipt(removed->receipts[0], "receipt")->persons.size(), 2u);
  EXPECT_EQ(Newest().infos()[0].checkpoint, Digest{});
  EXPECT_TRUE(Newest().CheckIntact(instance_).ok()) << Newest().CheckIntact(instance_);
}

}  // namespace
}  // namespace heft
