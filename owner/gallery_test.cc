// SPDX-License-Identifier: Apache-2.0
// Galleries in their store: templates that are added, folded and refused, and who sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/files.h"
#include "ckks/arithmetic.h"
#include "gallery/change.h"
#include "gallery/gallery_impl.h"
#include "gallery/merkle.h"
#include "heft/gallery_admin.h"
#include "owner/testing.h"

namespace heft {
namespace {

using testing::Code;
using ::testing::ElementsAre;
using testing::EnrolDirectly;
using ::testing::HasSubstr;

class GalleryChangeTest : public testing::GalleryTest {
 protected:
  // Fused templates of people, one each.
  std::vector<Enrolment> Templates(const std::vector<uint64_t>& seeds) {
    std::vector<std::string> labels;
    for (const uint64_t seed : seeds) labels.push_back("p" + std::to_string(seed));
    return *server_->FuseAll(Set(seeds, labels), {});
  }
  Gallery::Impl Newest() const { return *server_->OpenGallery(directory_, true); }
  absl::Status Add(std::span<const Enrolment> templates, bool fold = false) {
    HEFT_ASSIGN_OR_RETURN(GalleryChange change, GalleryChange::Begin(Newest(), /*start=*/true));
    HEFT_RETURN_IF_ERROR(change.AddSingles(*instance_, templates));
    HEFT_RETURN_IF_ERROR(change.FoldIfMany(*instance_, server_->keys()));
    if (fold) HEFT_RETURN_IF_ERROR(change.Fold(*instance_, server_->keys()));
    return change.Commit();
  }
  TiledCiphertexts Content(const Gallery::Impl& gallery, size_t block = 0) const {
    const PinnedBlock pinned = *gallery.Block(*instance_, block, server_->keys());
    return {pinned.view.begin(), pinned.view.end()};
  }
};

// An erasing writer has the lock and waits for readers, so a thread that waits for the lock must
// not hold a state.
TEST_F(GalleryChangeTest, WhoVerifiesReadsNothingWhileHeWaits) {
  ASSERT_TRUE(Add(Templates({1}), /*fold=*/true).ok());
  const auto store = *OpenStore(directory_, StoreMode::kWrite);
  auto lock = *store->Lock(absl::Seconds(60));
  std::atomic<bool> read = false;
  std::optional<VerifyResult> found;
  std::thread verifies([&] {
    const auto verified = VerifyGallery(directory_, nullptr, [&](const ProgressEvent&) {
      read = true;
      return true;
    });
    if (verified.ok()) found = *verified;
  });
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while ((!read || store->Statistics()->readers > 0) && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(read);
  EXPECT_EQ(store->Statistics()->readers, 0);
  lock = nullptr;
  verifies.join();
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->recorded.ok()) << found->recorded;
}

TEST_F(GalleryChangeTest, EntriesOfTheJournalCountAsMuchAsCheckpoints) {
  const std::vector<Enrolment> templates = Templates({1, 2, 3});
  ASSERT_TRUE(Add(templates).ok());
  const Gallery::Impl before = Newest();
  EXPECT_EQ(before.pending(), 3u);
  EXPECT_EQ(before.size(), 3u);
  EXPECT_THAT(before.identities(), ElementsAre("p1", "p2", "p3"));
  EXPECT_EQ(Code(before.ReadBlock(*instance_, 0)), absl::StatusCode::kFailedPrecondition);
  {
    GalleryChange change = *GalleryChange::Begin(before, false);
    ASSERT_TRUE(change.Fold(*instance_, server_->keys()).ok());
    ASSERT_TRUE(change.Commit().ok());
  }
  const Gallery::Impl after = Newest();
  EXPECT_EQ(after.pending(), 0u);
  EXPECT_EQ(after.generation(), before.generation() + 1);
  EXPECT_EQ(Content(after), Content(before)) << "what is folded is what was added up, bit for bit";
  EXPECT_EQ(Content(after), *after.ReadBlock(*instance_, 0));
  EXPECT_TRUE(after.CheckIntact(instance_).ok()) << after.CheckIntact(instance_);
  // The holder of the earlier state can still read it.
  EXPECT_EQ(before.Newest()->generation(), after.generation());
  EXPECT_EQ(Content(before), Content(after));
}

TEST_F(GalleryChangeTest, ManyAtOnceAreFolded) {
  std::vector<Enrolment> templates = Templates({1, 2});
  while (templates.size() <= kMaxPending) templates.push_back(templates[0]);
  for (size_t i = 0; i < templates.size(); ++i) templates[i].sample[0] = static_cast<uint8_t>(i);
  ASSERT_TRUE(Add(templates).ok());
  EXPECT_EQ(Newest().pending(), 0u);
  EXPECT_EQ(Newest().size(), kMaxPending + 1);
  EXPECT_TRUE(Newest().CheckIntact(instance_).ok()) << Newest().CheckIntact(instance_);
}

TEST_F(GalleryChangeTest, WithoutCommitNothingHasHappened) {
  ASSERT_TRUE(Add(Templates({1})).ok());
  const std::vector<Enrolment> templates = Templates({2});
  const Digest root = Newest().root();
  std::vector<Enrolment> bad = templates;
  bad[0].identity = "b\nb";
  EXPECT_FALSE(Add(bad).ok());
  bad = templates;
  ASSERT_TRUE(ckks::DropLimbs(*instance_->context, &bad[0].z, bad[0].z, 2).ok());
  EXPECT_FALSE(Add(bad, /*fold=*/true).ok());
  EXPECT_EQ(Newest().root(), root);
  EXPECT_EQ(Newest().size(), 1u);
  ASSERT_TRUE(Add(templates).ok());
  EXPECT_NE(Newest().root(), root);
}

TEST_F(GalleryChangeTest, WhoWritesWaitsForHisTurn) {
  ASSERT_TRUE(Add(Templates({1})).ok());
  const std::vector<Enrolment> templates = Templates({2});
  std::optional<GalleryChange> change = *GalleryChange::Begin(Newest(), false);
  SetWriterWait(0);
  EXPECT_EQ(Code(Add(templates)), absl::StatusCode::kUnavailable);
  SetWriterWait(60);
  std::thread other([&] { EXPECT_TRUE(Add(templates).ok()); });
  ASSERT_TRUE(change->AddSingles(*instance_, Templates({3})).ok());
  ASSERT_TRUE(change->Commit().ok());
  change.reset();
  other.join();
  // Neither has overwritten the other's change.
  EXPECT_THAT(Newest().identities(), ElementsAre("p1", "p3", "p2"));
}

TEST_F(GalleryChangeTest, WhatIsVacatedIsFilledAgain) {
  ASSERT_TRUE(Add(Templates({1, 2, 3}), true).ok());
  {
    GalleryChange change = *GalleryChange::Begin(Newest(), false);
    ASSERT_TRUE(change.Vacate(1, PlaceState::kFree).ok());
    ASSERT_TRUE(change.Vacate(2, PlaceState::kLeaving).ok());
    ASSERT_TRUE(change.Commit().ok());
  }
  EXPECT_THAT(Newest().identities(), ElementsAre("p1", "", ""));
  EXPECT_EQ(Newest().size(), 1u);
  EXPECT_TRUE(Newest().Find("p2")->places.empty());
  EXPECT_FALSE(Newest().FindSample(Templates({2})[0].sample)->has_value());
  EXPECT_TRUE(Newest().CheckIntact(instance_).ok()) << Newest().CheckIntact(instance_);
  ASSERT_TRUE(Add(Templates({4, 5})).ok());
  EXPECT_THAT(Newest().identities(), ElementsAre("p1", "p4", "", "p5"));
  EXPECT_TRUE(Newest().CheckIntact(instance_).ok()) << Newest().CheckIntact(instance_);
}

TEST_F(GalleryChangeTest, SeveralGalleriesInAStore) {
  ASSERT_TRUE(Add(Templates({1})).ok());
  const std::string second = directory_ + ":second";
  GalleryChange change = *GalleryChange::Begin(*server_->OpenGallery(second, true), /*start=*/true);
  ASSERT_TRUE(change.AddSingles(*instance_, Templates({1, 2})).ok());
  ASSERT_TRUE(change.Commit().ok());
  EXPECT_EQ(Newest().size(), 1u);
  const Gallery::Impl other = *Gallery::Impl::Open(second);
  EXPECT_EQ(other.size(), 2u);
  EXPECT_NE(other.id(), Newest().id());
  EXPECT_EQ(Code(Gallery::Impl::Open(directory_ + ":third")), absl::StatusCode::kNotFound);
  EXPECT_EQ(Code(Gallery::Impl::Open(directory_ + ":No Name")), absl::StatusCode::kInvalidArgument);
}

TEST_F(GalleryChangeTest, TheRootIsOfEverything) {
  std::vector<Enrolment> templates = Templates({1, 2});
  ASSERT_TRUE(Add(templates).ok());
  const Digest pending = Newest().root();
  {
    GalleryChange change = *GalleryChange::Begin(Newest(), false);
    ASSERT_TRUE(change.Fold(*instance_, server_->keys()).ok());
    ASSERT_TRUE(change.Commit().ok());
  }
  const Digest folded = Newest().root();
  EXPECT_NE(folded, pending);
  {
    GalleryChange change = *GalleryChange::Begin(Newest(), false);
    (*change.Place(1))->identity = "p3";
    ASSERT_TRUE(change.Commit().ok());
  }
  EXPECT_NE(Newest().root(), folded);
  EXPECT_FALSE(Newest().CheckIntact(instance_).ok()) << "the index of names does not know p3";
}

TEST_F(GalleryChangeTest, EntriesRetireWithTheirFolds) {
  ASSERT_TRUE(Add(Templates({1, 2}), true).ok());
  {
    GalleryChange change = *GalleryChange::Begin(Newest(), false);
    EXPECT_GT(change.head().entry_bytes, 0u);
    change.head().retention.bytes = 0;
    ASSERT_TRUE(change.Commit().ok());
  }
  EXPECT_EQ(Newest().head().entry_bytes, 0u);
  EXPECT_EQ(Newest().head().retired, 2u);
  // Entries that are in no checkpoint stay.
  ASSERT_TRUE(Add(Templates({3})).ok());
  EXPECT_EQ(Newest().pending(), 1u);
  EXPECT_TRUE(Newest().CheckIntact(instance_).ok());
}

// One of two blocks is damaged: it is named, and the other one serves.
TEST_F(GalleryChangeTest, TheRestServes) {
  const uint32_t slots = instance_->params().slots();
  std::vector<uint64_t> seeds;
  std::vector<std::string> labels;
  for (uint64_t i = 0; i < slots; ++i) seeds.push_back(i), labels.push_back("p");
  for (int batch = 0; batch < 3; ++batch) {
    for (size_t i = 0; i < seeds.size(); ++i) {
      seeds[i] += slots;
      labels[i] = "p" + std::to_string(seeds[i]);
    }
    ASSERT_TRUE(
        EnrolDirectly(*server_, directory_, Set(seeds, labels, SampleEncoding::kBulk)).ok());
  }
  ASSERT_EQ(Newest().blocks(), 2u);
  {
    // A residue differs; the block's header does not show it.
    GalleryChange change = *GalleryChange::Begin(Newest(), false);
    const StoreKey key = BlockKey(change.number(), change.head().epoch, 0);
    const auto value = *change.writer().Get(Table::kBlocks, key);
    std::vector<uint8_t> bytes(value->begin(), value->end());
    bytes[5000] ^= 4;
    ASSERT_TRUE(change.writer().Put(Table::kBlocks, key, bytes).ok());
    ASSERT_TRUE(change.writer().Commit().ok());
  }
  const Gallery::Impl gallery = Newest();
  EXPECT_EQ(Code(gallery.ReadBlock(*instance_, 0)), absl::StatusCode::kDataLoss);
  const auto reply = server_->Identify(gallery, Set({seeds[1]}, {"probe"}), {});
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_FALSE(reply->Answers(1));
  EXPECT_TRUE(reply->Answers(2 * slots + 1));
  EXPECT_EQ(reply->AnsweringTemplates(), slots);
  ASSERT_EQ(gallery.Damaged().size(), 1u);
  EXPECT_EQ(gallery.Damaged().begin()->first, 0u);
  const auto finding = gallery.Verify(instance_);
  ASSERT_TRUE(finding.ok()) << finding.status();
  EXPECT_THAT(finding->damaged, ElementsAre(0u));
  // The damage does not spread: nothing may join the block.
  GalleryChange change = *GalleryChange::Begin(gallery, false);
  EXPECT_EQ(Code(change.ReadCheckpoint(*instance_, 0)), absl::StatusCode::kDataLoss);
}

TEST_F(GalleryChangeTest, IdempotencyKeysAreRemembered) {
  ASSERT_TRUE(Add(Templates({1})).ok());
  const std::vector<uint8_t> answer = {1, 2, 3};
  {
    GalleryChange change = *GalleryChange::Begin(Newest(), false);
    ASSERT_TRUE(change.Remember("a key", {7}, answer).ok());
    ASSERT_TRUE(change.Commit().ok());
  }
  const Gallery::Impl gallery = Newest();
  const auto recall = [&](std::string_view key, const Digest& request, uint64_t now) {
    return RecallRequest(gallery.reader(), gallery.number(), key, request, now);
  };
  EXPECT_EQ(**recall("a key", {7}, UnixTime()), answer);
  EXPECT_FALSE(recall("a key", {7}, UnixTime() + 30 * 86400)->has_value());
  EXPECT_FALSE(recall("another", {7}, UnixTime())->has_value());
  EXPECT_EQ(Code(recall("a key", {8}, UnixTime())), absl::StatusCode::kAlreadyExists);
}

}  // namespace
}  // namespace heft
