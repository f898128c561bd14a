// SPDX-License-Identifier: Apache-2.0
// Removal, with the secret key in hand and the store's files under a lens.
#include "gallery/removal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <thread>

#include "base/files.h"
#include "base/inside.h"
#include "fusion/block_internal.h"
#include "fusion/owner/renewal.h"
#include "gallery/change.h"
#include "heft/gallery_admin.h"
#include "owner/testing.h"
#include "store/testing.h"

namespace heft {
namespace {

using testing::Code;
using ::testing::ElementsAre;
using testing::EnrolDirectly;
using ::testing::HasSubstr;

class RemovalTest : public testing::GalleryTest {
 protected:
  RemovalTest() : server_of_(Serve()) {}

  static Server Serve() { return *Server::Create(*model_, *evaluation_); }
  Gallery::Impl Newest() const { return *Gallery::Impl::Open(directory_); }
  TiledCiphertexts Content(size_t block = 0) const {
    const Gallery::Impl gallery = Newest();
    const PinnedBlock pinned = *gallery.Block(*instance_, block, server_->keys());
    return {pinned.view.begin(), pinned.view.end()};
  }
  // The template at a position, as the secret key finds it in a block.
  std::vector<double> Open(const TiledCiphertexts& block, uint64_t position) const {
    const uint32_t slots = instance_->params().slots(), gamma = model_->gamma;
    const auto slot = static_cast<uint32_t>(position % slots);
    const auto lane = static_cast<uint32_t>(position % (2 * slots) / slots);
    std::vector<double> t(gamma);
    for (uint32_t k = 0; k < gamma; ++k) {
      ckks::Ciphertext c;
      c.scale = instance_->plan.matching.block_scale;
      c.parts = internal::LoadTiled(*instance_->context, gamma, k, block);
      const auto values =
          instance_->encoder->Decode(ckks::Decrypt(*instance_->context, c, *secret_));
      const double value = lane == 0 ? values[slot].real() : values[slot].imag();
      t[(slot + k) % gamma] = value * SlotSign(instance_->plan, slot, lane);
    }
    return t;
  }
  static double Length(const std::vector<double>& t) { return std::sqrt(testing::Dot(t, t)); }
  // Counts pieces of 32 bytes of a block's old ciphertexts that are anywhere in the store's file.
  // Only pieces that differ from the block's present ciphertexts count.
  size_t Traces(const TiledCiphertexts& gone, const TiledCiphertexts& now) const {
    const std::vector<uint8_t> file = store_testing::StoreBytes(directory_);
    constexpr size_t kPiece = 8, kStep = 4096 / sizeof(uint32_t);
    size_t traces = 0;
    for (size_t i = 0; i + kPiece <= gone.size(); i += kStep) {
      if (std::equal(gone.begin() + i, gone.begin() + i + kPiece, now.begin() + i)) continue;
      const auto* bytes = reinterpret_cast<const uint8_t*>(gone.data() + i);
      traces += std::search(file.begin(), file.end(), bytes, bytes + kPiece * sizeof(uint32_t)) !=
                file.end();
    }
    return traces;
  }
  bool FileHolds(std::string_view text) const {
    const std::vector<uint8_t> file = store_testing::StoreBytes(directory_);
    return std::search(file.begin(), file.end(), text.begin(), text.end()) != file.end();
  }
  // Nothing can be taken back any more.
  void ForgetEntries() const {
    GalleryChange change = *GalleryChange::Begin(Newest(), false);
    change.head().retention = {0, 0};
    ASSERT_TRUE(change.Commit().ok());
    ASSERT_EQ(Newest().head().entry_bytes, 0u);
  }
  // The key owner's half.
  std::vector<uint8_t> Answer(const std::vector<uint8_t>& request) const {
    return Owner().Renew(request, "request")->signed_renewal;
  }
  SignerKey OwnerKey() const { return Owner().Signer()->public_key(); }

  Server server_of_;
};

TEST_F(RemovalTest, WhileTheJournalHasItATemplateIsTakenBackBitForBit) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1, 2}, {"ann", "bob"})).ok());
  const TiledCiphertexts without = Content();
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({3}, {"a-rare-name"})).ok());
  const TiledCiphertexts with = Content();
  EXPECT_NEAR(Length(Open(with, 2)), 1, 0.2);
  EXPECT_TRUE(FileHolds("a-rare-name"));
  EXPECT_GT(Traces(with, without), 100u);

  const auto removed = Remove(server_of_, directory_, {"a-rare-name"});
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(removed->removed, 1u);
  EXPECT_EQ(removed->erased, 1u);
  EXPECT_TRUE(removed->overwritten.ok()) << removed->overwritten;
  EXPECT_EQ(Content(), without) << "as if she had never been enrolled";
  EXPECT_EQ(Traces(with, without), 0u);
  EXPECT_FALSE(FileHolds("a-rare-name"));
  EXPECT_THAT(Newest().identities(), ElementsAre("ann", "bob", ""));
  EXPECT_TRUE(Newest().CheckIntact(instance_).ok()) << Newest().CheckIntact(instance_);

  ASSERT_EQ(removed->receipts.size(), 1u);
  const auto receipt = ReadReceipt(removed->receipts[0], "receipt");
  ASSERT_TRUE(receipt.ok()) << receipt.status();
  EXPECT_EQ(receipt->gallery_id, Newest().id());
  EXPECT_EQ(receipt->generation, removed->generation);
  EXPECT_EQ(receipt->persons, removed->persons);
  EXPECT_EQ(*Receipts(directory_), removed->receipts);
}

// Of several who came together, in one call of AddToBlock.
TEST_F(RemovalTest, OneOfManyWhoCameTogether) {
  const std::vector<std::string> names = {"ann", "bob", "cat", "dan"};
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1, 2, 3, 4}, names)).ok());
  ASSERT_TRUE(Remove(server_of_, directory_, {"bob"}).ok());
  ASSERT_TRUE(Remove(server_of_, directory_, {"dan"}).ok());
  const TiledCiphertexts block = Content();
  for (const uint64_t gone : {1, 3}) EXPECT_LT(Length(Open(block, gone)), 1e-2) << gone;
  for (const uint64_t left : {0, 2}) {
    const auto expected = testing::FusePlain(*model_, {Vector(0, left + 1), Vector(1, left + 1)});
    const auto found = Open(block, left);
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 2e-2) << left;
  }
  // All gone: the block is as new.
  ASSERT_TRUE(Remove(server_of_, directory_, {"ann", "cat"}).ok());
  EXPECT_EQ(Newest().infos()[0].checkpoint, Digest{});
  EXPECT_EQ(Newest().infos()[0].error.added, 0);
  EXPECT_EQ(Newest().size(), 0u);
  EXPECT_EQ(Newest().head().entry_bytes / 1000, 0u);
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({5}, {"eve"})).ok());
  EXPECT_THAT(Newest().identities(), ElementsAre("eve", "", "", ""));
}

TEST_F(RemovalTest, TheKeyOwnerRenewsTheBlockOfWhoLeaves) {
  const std::vector<std::string> names = {"ann", "bob", "a-rare-name"};
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1, 2, 3}, names)).ok());
  ForgetEntries();
  const TiledCiphertexts before = Content();
  const auto removed = Remove(server_of_, directory_, {"a-rare-name"});
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(removed->leaving, 1u);
  EXPECT_TRUE(removed->receipts.empty()) << "her ciphertext is still there";
  EXPECT_FALSE(FileHolds("a-rare-name")) << "what else there was of her is not";
  EXPECT_EQ(Content(), before);
  // From now on she answers no probe.
  const auto reply = server_->Identify(Newest(), Set({3}, {"probe"}), {});
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_TRUE(reply->restriction);
  EXPECT_FALSE(reply->Answers(2));

  const auto request = AskRenewal(server_of_, directory_);
  ASSERT_TRUE(request.ok()) << request.status();
  const std::vector<uint8_t> answer = Answer(*request);
  const auto renewed = Renew(server_of_, directory_, answer, "answer", OwnerKey());
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  EXPECT_EQ(renewed->blocks, 1u);
  EXPECT_EQ(renewed->erased, 1u);
  EXPECT_EQ(renewed->leaving, 0u);
  EXPECT_TRUE(renewed->overwritten.ok()) << renewed->overwritten;
  EXPECT_EQ(renewed->receipts.size(), 1u);
}

TEST_F(RemovalTest, AfterARenewalNothingIsLeft) {
  const std::vector<std::string> names = {"ann", "bob", "cat"};
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1, 2, 3}, names)).ok());
  ForgetEntries();
  const TiledCiphertexts before = Content();
  ASSERT_TRUE(Remove(server_of_, directory_, {"cat"}).ok());
  const auto request = AskRenewal(server_of_, directory_);
  ASSERT_TRUE(request.ok()) << request.status();
  // No person joins the block meanwhile.
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({4}, {"dan"})).ok());
  EXPECT_EQ(Newest().blocks(), 2u);
  const std::vector<uint8_t> answer = Answer(*request);
  const auto renewed = Renew(server_of_, directory_, answer, "answer", OwnerKey());
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  ASSERT_TRUE(renewed->overwritten.ok()) << renewed->overwritten;
  const TiledCiphertexts after = Content();
  EXPECT_LT(Length(Open(after, 2)), 1e-2);
  EXPECT_EQ(Traces(before, after), 0u);
  for (const uint64_t left : {0, 1}) {
    const auto expected = Open(before, left), found = Open(after, left);
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-3) << left;
  }
  EXPECT_EQ(renewed->receipts.size(), 1u);
  EXPECT_TRUE(Newest().CheckIntact(instance_).ok()) << Newest().CheckIntact(instance_);
  // An answer is good once.
  EXPECT_EQ(Code(Renew(server_of_, directory_, answer, "answer", OwnerKey())),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Code(AskRenewal(server_of_, directory_)), absl::StatusCode::kNotFound);
  // The place is filled again.
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({5}, {"eve"})).ok());
  EXPECT_EQ(Newest().Find("eve")->places, std::vector<uint64_t>{2});
}

// A reader of an older generation holds its pages: no erasure is claimed before it has gone.
TEST_F(RemovalTest, AReaderDelaysTheReceipt) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1, 2}, {"ann", "bob"})).ok());
  auto reader = std::make_unique<Gallery::Impl>(Newest());
  SetWriterWait(0);
  const auto removed = Remove(server_of_, directory_, {"bob"});
  SetWriterWait(60);
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(removed->overwritten.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(removed->receipts.empty());
  reader.reset();
  const auto receipts = EraseRemains(directory_);
  ASSERT_TRUE(receipts.ok()) << receipts.status();
  EXPECT_EQ(receipts->size(), 1u);
}

TEST_F(RemovalTest, SparseBlocksBecomeOne) {
  const uint32_t slots = instance_->params().slots();
  std::vector<uint64_t> seeds;
  std::vector<std::string> labels;
  for (uint64_t i = 0; i < slots; ++i) {
    seeds.push_back(i);
    labels.push_back("p" + std::to_string(i));
  }
  for (int batch = 0; batch < 4; ++batch) {
    for (std::string& label : labels) label += "+";
    for (uint64_t& seed : seeds) seed += slots;
    ASSERT_TRUE(
        EnrolDirectly(*server_, directory_, Set(seeds, labels, SampleEncoding::kBulk)).ok());
  }
  ASSERT_EQ(Newest().blocks(), 2u);
  // Few are left, in both blocks.
  const std::vector<std::string> names = Newest().identities();
  std::vector<std::string> removed, left;
  for (size_t i = 0; i < names.size(); ++i) (i % 1000 == 7 ? left : removed).push_back(names[i]);
  ASSERT_TRUE(Remove(server_of_, directory_, removed).ok());
  std::map<std::string, std::vector<double>> templates;
  for (const std::string& name : left) {
    const uint64_t at = Newest().Find(name)->places[0];
    templates[name] = Open(Content(at / (2 * slots)), at);
  }
  RenewalOptions options;
  options.compact = true;
  const auto request = AskRenewal(server_of_, directory_, options);
  ASSERT_TRUE(request.ok()) << request.status();
  const auto renewed = Renew(server_of_, directory_, Answer(*request), "answer", OwnerKey());
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  EXPECT_EQ(renewed->blocks, 1u);
  EXPECT_EQ(renewed->freed, 1u);
  EXPECT_EQ(renewed->erased, removed.size());
  EXPECT_EQ(Newest().infos()[1].checkpoint, Digest{});
  EXPECT_TRUE(Newest().CheckIntact(instance_).ok()) << Newest().CheckIntact(instance_);
  const TiledCiphertexts block = Content();
  for (size_t i = 0; i < left.size(); ++i) {
    ASSERT_EQ(Newest().Find(left[i])->places, std::vector<uint64_t>{i});
    const auto found = Open(block, i);
    for (size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], templates[left[i]][k], 1e-3);
  }
}

TEST_F(RemovalTest, RollbackTakesBackWhatCameLastAndNobodyWhoLeft) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1, 2}, {"ann", "bob"})).ok());
  const TiledCiphertexts before = Content();
  const uint64_t generation = Newest().generation();
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({3, 4}, {"cat", "dan"})).ok());
  ASSERT_TRUE(Remove(server_of_, directory_, {"cat"}).ok());
  const auto rolled = RollBack(server_of_, directory_, generation);
  ASSERT_TRUE(rolled.ok()) << rolled.status();
  EXPECT_EQ(rolled->removed, 1u);
  EXPECT_EQ(Content(), before);
  ASSERT_TRUE(Remove(server_of_, directory_, {"bob"}).ok());
  EXPECT_EQ(RollBack(server_of_, directory_, generation)->removed, 0u);
  EXPECT_THAT(Newest().identities(), ElementsAre("ann", "", "", ""));
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({5}, {"eve"}, SampleEncoding::kBulk)).ok());
  const auto refused = RollBack(server_of_, directory_, generation);
  EXPECT_EQ(Code(refused), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("came in bulk"));
}

// One call added several people, and some of them are removed at once: the block is then the same
// as with the others alone.
TEST_F(RemovalTest, SeveralAtOnce) {
  const std::vector<std::string> names = {"ann", "bob", "cat", "dan"};
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1, 2, 3, 4}, names)).ok());
  ASSERT_TRUE(Remove(server_of_, directory_, {"cat"}).ok());
  ASSERT_TRUE(Remove(server_of_, directory_, {"ann"}).ok());
  const TiledCiphertexts one_by_one = Content();
  const double added = Newest().infos()[0].error.added;
  ASSERT_TRUE(Remove(server_of_, directory_, {"bob", "dan"}).ok());
  EXPECT_EQ(Newest().infos()[0].error.added, 0);
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1, 2, 3, 4}, names)).ok());
  ASSERT_EQ(Remove(server_of_, directory_, {"ann", "cat"})->erased, 2u);
  EXPECT_DOUBLE_EQ(Newest().infos()[0].error.added, added);
  const TiledCiphertexts together = Content();
  for (const uint64_t gone : {0, 2}) EXPECT_LT(Length(Open(together, gone)), 1e-2) << gone;
  for (const uint64_t left : {1, 3}) {
    const auto expected = Open(one_by_one, left), found = Open(together, left);
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-2) << left;
  }
}

// A person with several templates is erased with the last of them.
TEST_F(RemovalTest, NoReceiptForWhoStillStands) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1, 2}, {"ann", "ann"})).ok());
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({3}, {"bob"})).ok());
  ForgetEntries();
  {
    GalleryChange change = *GalleryChange::Begin(Newest(), false);
    (*change.Place(0))->expires = 1;
    ASSERT_TRUE(change.Commit().ok());
  }
  const auto expired = RemoveExpired(server_of_, directory_);
  ASSERT_TRUE(expired.ok()) << expired.status();
  ASSERT_EQ(expired->leaving, 1u);
  const auto first = Renew(server_of_, directory_, Answer(*AskRenewal(server_of_, directory_)),
                           "answer", OwnerKey());
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->erased, 1u);
  EXPECT_TRUE(first->receipts.empty()) << "another template of hers answers";
  const auto removed = Remove(server_of_, directory_, {"ann"});
  ASSERT_EQ(removed->leaving, 1u);
  const auto last = Renew(server_of_, directory_, Answer(*AskRenewal(server_of_, directory_)),
                          "answer", OwnerKey());
  ASSERT_TRUE(last.ok()) << last.status();
  ASSERT_EQ(last->receipts.size(), 1u);
  EXPECT_EQ(ReadReceipt(last->receipts[0], "receipt")->persons, removed->persons);
}

// No receipt may say that a person is gone who stays: a damaged row hides no template.
TEST_F(RemovalTest, APersonIsFoundByTheIndexOrByARow) {
  std::vector<uint64_t> people;
  std::vector<std::string> names = {"ann"};
  for (uint64_t i = 1; i <= kRunPlaces; ++i) people.push_back(i);
  for (const uint64_t i : std::span(people).subspan(1)) names.push_back(absl::StrCat("other-", i));
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set(people, names)).ok());
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({99}, {"ann"})).ok());
  ASSERT_EQ(store_testing::RunSql(directory_,
                                  "UPDATE template SET person = zeroblob(16) WHERE position = 0"),
            1);
  GalleryChange change = *GalleryChange::Begin(Newest(), false);
  const PersonId person = (*change.PeekRun(1))[0].person;
  EXPECT_THAT(*change.RunsOf({{}, {person}, {}}), ElementsAre(1));
  EXPECT_THAT(*change.RunsOf({{"ann"}, {}, {}}), ElementsAre(0, 1));
  EXPECT_THAT(*change.RunsOf({{}, {person}, {HashName(change.head().id, "ann")}}),
              ElementsAre(0, 1));
}

// The time from which a person no longer answered is not the time at which the block was renewed.
TEST_F(RemovalTest, AReceiptSaysWhenHeWasRemoved) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1, 2}, {"ann", "bob"})).ok());
  ForgetEntries();
  const uint64_t from = UnixTime();
  ASSERT_EQ(Remove(server_of_, directory_, {"ann"})->leaving, 1u);
  {
    GalleryChange change = *GalleryChange::Begin(Newest(), false);
    Resident* ann = *change.Place(0);
    ASSERT_GE(ann->left, from);
    ann->left = 1'000'000;
    ASSERT_TRUE(change.Commit().ok());
  }
  const auto renewed = Renew(server_of_, directory_, Answer(*AskRenewal(server_of_, directory_)),
                             "answer", OwnerKey());
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  ASSERT_EQ(renewed->receipts.size(), 1u);
  const auto receipt = ReadReceipt(renewed->receipts[0], "receipt");
  ASSERT_TRUE(receipt.ok()) << receipt.status();
  EXPECT_THAT(receipt->removed, ElementsAre(1'000'000));
  EXPECT_GE(receipt->erased, from);
}

TEST_F(RemovalTest, WhoIsNotThereCannotBeRemoved) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1}, {"ann"})).ok());
  const Digest root = Newest().root();
  EXPECT_EQ(Code(Remove(server_of_, directory_, {"ann", "bob"})), absl::StatusCode::kNotFound);
  EXPECT_EQ(Newest().root(), root);
}

TEST_F(RemovalTest, AnAnswerIsOfItsBlocks) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1, 2, 3}, {"ann", "bob", "cat"})).ok());
  ForgetEntries();
  ASSERT_TRUE(Remove(server_of_, directory_, {"bob"}).ok());
  const auto first = AskRenewal(server_of_, directory_);
  ASSERT_TRUE(first.ok()) << first.status();
  const std::vector<uint8_t> answer = Answer(*first);
  // Another person leaves meanwhile: the answer would bring her back.
  ASSERT_TRUE(Remove(server_of_, directory_, {"cat"}).ok());
  EXPECT_EQ(Code(Renew(server_of_, directory_, answer, "answer", OwnerKey())),
            absl::StatusCode::kFailedPrecondition);
  // Another key owner's word is none.
  SignerKey other = OwnerKey();
  other[0] ^= 1;
  const std::vector<uint8_t> second = Answer(*AskRenewal(server_of_, directory_));
  EXPECT_FALSE(Renew(server_of_, directory_, second, "answer", other).ok());
  EXPECT_TRUE(Renew(server_of_, directory_, second, "answer", OwnerKey()).ok());
  EXPECT_EQ(Newest().head().leaving, 0u);
}

}  // namespace
}  // namespace heft
