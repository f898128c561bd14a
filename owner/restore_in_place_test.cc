// SPDX-License-Identifier: Apache-2.0
// A database that goes back to an earlier state without being asked, played by a store in a folder.
// No request is answered from it until a restore accepts that state. The restore first erases again
// the people that were erased since.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "base/files.h"
#include "gallery/change.h"
#include "gallery/kept_receipts.h"
#include "heft/gallery_admin.h"
#include "owner/testing.h"
#include "store/folder.h"
#include "store/scheme.h"

namespace heft {
namespace {

using testing::Code;
using ::testing::ElementsAre;
using testing::EnrolDirectly;
using ::testing::HasSubstr;
using ::testing::SizeIs;
namespace fs = std::filesystem;

class RestoreInPlaceTest : public testing::GalleryTest {
 protected:
  RestoreInPlaceTest() : server_of_(*Server::Create(*model_, *evaluation_)) {
    RegisterScheme(kPostgresScheme,
                   [this](const std::string& name, const std::string& local,
                          StoreMode mode) -> absl::StatusOr<std::shared_ptr<Store>> {
                     HEFT_RETURN_IF_ERROR(MakeDirectories(local));
                     return OpenFolderStore(temporary_ / name, mode);
                   });
  }
  ~RestoreInPlaceTest() override { RegisterScheme(kPostgresScheme, nullptr); }

  Gallery::Impl Newest() const { return *Gallery::Impl::Open(gallery_); }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const std::string& name : Newest().identities()) {
      if (!name.empty()) names.push_back(name);
    }
    return names;
  }
  absl::Status Enrol(uint64_t seed, const std::string& name) const {
    return EnrolDirectly(*server_, gallery_, Set({seed}, {name})).status();
  }
  absl::Status Change() const {
    auto change = GalleryChange::Begin(Newest(), /*start=*/false);
    HEFT_RETURN_IF_ERROR(change.status());
    change->Touch();
    return change->Commit();
  }
  absl::Status Sign() const {
    const auto gallery = Gallery::Open(gallery_);
    HEFT_RETURN_IF_ERROR(gallery.status());
    const auto key = GallerySigner(gallery_);
    HEFT_RETURN_IF_ERROR(key.status());
    const auto pending = server_of_.Pending(*gallery);
    HEFT_RETURN_IF_ERROR(pending.status());
    return SignReply(*key, *gallery, {}, 0, {}, *pending, /*life=*/60).status();
  }
  // Ann, bob; the database of then; cat comes, and ann is erased.
  void GoOn() const {
    for (const absl::Status& status : {Enrol(1, "ann"), Enrol(2, "bob"), Sign()}) {
      ASSERT_TRUE(status.ok()) << status;
    }
    ASSERT_TRUE((*OpenStore(gallery_, StoreMode::kRead))->Copy(temporary_ / "then", {}).ok());
    ASSERT_EQ(Enrol(3, "cat"), absl::OkStatus());
    const auto removed = Remove(server_of_, gallery_, {"ann"});
    ASSERT_TRUE(removed.ok()) << removed.status();
    ASSERT_THAT(removed->receipts, SizeIs(1));
  }
  void GoBack() const {
    fs::remove_all(temporary_ / name_);
    fs::copy(temporary_ / "then", temporary_ / name_);
  }
  RestoreOptions Older() const { return {.accept_older = true, .server = &server_of_}; }

  Server server_of_;
  // The server's folder for it is new to each test, too.
  const std::string name_ = fs::path(temporary_.path()).filename();
  const std::string gallery_ = "postgres:" + name_;
};

TEST_F(RestoreInPlaceTest, NobodyIsAnsweredFromAnEarlierState) {
  GoOn();
  const uint64_t newest = Newest().generation();
  GoBack();
  EXPECT_THAT(Names(), ElementsAre("ann", "bob")) << "it can be read";
  for (const absl::Status& refused :
       {Sign(), Change(), Enrol(4, "dan"), Remove(server_of_, gallery_, {"bob"}).status()}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("--accept-older"));
  }
  EXPECT_EQ(Code(Restore("", gallery_)), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Names(), ElementsAre("ann", "bob"));

  const auto taken = Restore("", gallery_, Older());
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_TRUE(taken->older);
  EXPECT_EQ(taken->erased, 1u);
  EXPECT_THAT(Names(), ElementsAre("bob")) << "erasure goes before restore";
  EXPECT_GT(Newest().generation(), newest);
  EXPECT_EQ(Sign(), absl::OkStatus());
  EXPECT_EQ(Enrol(4, "dan"), absl::OkStatus());
  EXPECT_TRUE(Newest().CheckIntact(instance_).ok());
  EXPECT_THAT(*Receipts(gallery_), SizeIs(2)) << "the first one, and of the second time";
  EXPECT_FALSE(Restore("", gallery_)->older);
}

// If the receipts of erased people are missing, the caller must give them or say that it goes on
// without them.
TEST_F(RestoreInPlaceTest, WhoWasErasedHasToBeKnown) {
  GoOn();
  const auto receipts = *Receipts(gallery_);
  GoBack();
  fs::remove_all(FolderOf(gallery_) + "/receipts");
  const auto refused = Restore("", gallery_, Older());
  EXPECT_EQ(Code(refused), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("--receipts none"));
  RestoreOptions options = Older();
  options.receipts = receipts;
  ASSERT_TRUE(Restore("", gallery_, options).ok());
  EXPECT_THAT(Names(), ElementsAre("bob"));
  GoBack();
  options = Older();
  options.without_receipts = true;
  fs::remove_all(FolderOf(gallery_) + "/receipts");
  ASSERT_TRUE(Restore("", gallery_, options).ok());
  EXPECT_THAT(Names(), ElementsAre("ann", "bob")) << "nobody knew better";
}

// If a person must be erased, a restore without model and keys changes nothing.
TEST_F(RestoreInPlaceTest, AllOrNothing) {
  GoOn();
  GoBack();
  const uint64_t then = Newest().generation();
  EXPECT_EQ(Code(Restore("", gallery_, {.accept_older = true})),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Newest().generation(), then);
  EXPECT_EQ(Code(Sign()), absl::StatusCode::kFailedPrecondition);
}

// A receipt that another server gave is not taken for the folder's.
TEST_F(RestoreInPlaceTest, ForeignReceiptsAreRefused) {
  GoOn();
  GoBack();
  const std::string folder = FolderOf(gallery_);
  const auto kept = KeptReceipts(folder);
  ASSERT_TRUE(kept.ok()) << kept.status();
  ASSERT_THAT(*kept, SizeIs(1));
  std::vector<uint8_t> forged = (*kept)[0];
  forged[forged.size() / 2] ^= 1;
  RestoreOptions options = Older();
  options.receipts = {forged};
  EXPECT_FALSE(Restore("", gallery_, options).ok());
  EXPECT_EQ(Code(Sign()), absl::StatusCode::kFailedPrecondition);
}

// A reader beside a writer is not told that the database went back.
TEST_F(RestoreInPlaceTest, ReadersBesideWritersAreNotRefused) {
  ASSERT_EQ(Enrol(1, "ann"), absl::OkStatus());
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(Change().ok());
      EXPECT_TRUE(RememberGeneration(gallery_).ok());
    }
    stop = true;
  });
  const Gallery::Impl gallery = Newest().Unread();
  while (!stop) {
    const auto newest = gallery.Newest();
    ASSERT_TRUE(newest.ok()) << newest.status();
    EXPECT_TRUE(newest->CheckNotSetBack().ok()) << newest->CheckNotSetBack();
  }
  writer.join();
}

}  // namespace
}  // namespace heft
