// SPDX-License-Identifier: Apache-2.0
// Imports that are interrupted, and imports that are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/progress.h"
#include "base/testing.h"
#include "gallery/change.h"
#include "gallery/import.h"
#include "gallery/unlisted.h"

namespace heft {
namespace {

namespace fs = std::filesystem;

class GoldenImportTest : public ::testing::Test {
 protected:
  GoldenImportTest()
      : model_(*Model::Parse(*ReadFile(testing::SourcePath("tests/golden/model.heft")), "model")) {}

  // The number of entries in a store, without names of galleries.
  static size_t Rows(const std::string& folder) {
    const auto store = *OpenStore(folder, StoreMode::kRead);
    const auto reader = *ReadChecked(*store);
    size_t rows = 0;
    for (size_t i = 1; i < kTables; ++i) {
      EXPECT_TRUE(reader
                      ->Scan(static_cast<Table>(i), {},
                             [&](ByteSpan, ByteSpan) {
                               ++rows;
                               return true;
                             })
                      .ok());
    }
    return rows;
  }
  absl::Status Import(const std::string& to,
                      const std::function<bool(size_t, size_t)>& progress = {},
                      uint64_t step = 1) const {
    return ImportLegacyGallery(old_, to, model_, progress, step);
  }
  // A store after a crash in the middle of an import.
  std::string Crashed() const {
    std::string crashed = folder_ / "crashed";
    const absl::Status status = Import(folder_ / "crashing", [&](size_t done, size_t all) {
      if (done == all) fs::copy(folder_ / "crashing", crashed);
      return true;
    });
    EXPECT_TRUE(status.ok()) << status;
    return crashed;
  }

  const testing::TemporaryFolder folder_;
  const std::string old_ = testing::SourcePath("tests/golden/gallery");
  const Model model_;
};

TEST_F(GoldenImportTest, WhatIsStoppedLeavesNothing) {
  const std::string to = folder_ / "to";
  const absl::Status stopped = Import(to, [](size_t done, size_t all) { return done < all; });
  EXPECT_EQ(stopped.code(), absl::StatusCode::kCancelled) << stopped;
  EXPECT_EQ(Rows(to), 0u);
  EXPECT_EQ(Gallery::Impl::Open(to).status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(Import(to).ok());
  const Gallery::Impl gallery = *Gallery::Impl::Open(to);
  EXPECT_EQ(gallery.size(), 3u);
  EXPECT_TRUE(gallery.CheckIntact().ok()) << gallery.CheckIntact();
  // An import in one transaction gives the same result.
  const std::string at_once = folder_ / "at-once";
  ASSERT_TRUE(Import(at_once, {}, kStepBytes).ok());
  EXPECT_EQ(Gallery::Impl::Open(at_once)->identities(), gallery.identities());
  EXPECT_EQ(Rows(at_once), Rows(to));
}

// The rest of a crashed import is invisible, and the next new gallery removes it.
TEST_F(GoldenImportTest, WhatIsCutOffIsTakenAway) {
  const std::string to = Crashed();
  EXPECT_GT(Rows(to), 0u) << "transactions came before";
  EXPECT_EQ(Gallery::Impl::Open(to).status().code(), absl::StatusCode::kNotFound);
  GalleryBinding binding;
  binding.gamma = 16;
  GalleryChange change = *GalleryChange::Begin(Gallery::Impl::New(to, binding), /*start=*/true);
  EXPECT_TRUE(change.Find("ann")->places.empty());
  ASSERT_TRUE(change.Commit().ok());
  EXPECT_EQ(Rows(to), 1u) << "its head";
}

TEST_F(GoldenImportTest, WhatIsCutOffIsErased) {
  const std::string to = Crashed();
  {
    const auto store = *OpenStore(to, StoreMode::kWrite);
    const auto lock = *store->Lock(absl::Seconds(1));
    const auto writer = *WriteChecked(store.get(), *lock);
    ASSERT_TRUE(*DropUnlisted(*writer));
    ASSERT_TRUE(writer->Commit().ok());
  }
  EXPECT_EQ(Rows(to), 0u);
}

TEST_F(GoldenImportTest, NoGalleryIsInAStoreTwice) {
  const std::string to = folder_ / "to";
  ASSERT_TRUE(Import(to + ":one").ok());
  EXPECT_EQ(Import(to + ":two").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Import(to + ":one").code(), absl::StatusCode::kAlreadyExists);
  const Gallery::Impl gallery = *Gallery::Impl::Open(to + ":one");
  const Monitor anything, nothing = [](const ProgressEvent&) { return false; };
  const Progress progress(anything, "importing blocks"), stopped(nothing, "importing blocks");
  const auto again = ImportFromStore(gallery, to + ":two", progress);
  EXPECT_EQ(again.status().code(), absl::StatusCode::kAlreadyExists);
  // Another store accepts the gallery, also after an import that was stopped.
  const std::string other = folder_ / "other";
  EXPECT_FALSE(ImportFromStore(gallery, other, stopped, 1).ok());
  EXPECT_EQ(Rows(other), 0u);
  ASSERT_TRUE(ImportFromStore(gallery, other, progress, 1).ok());
  const Gallery::Impl copy = *Gallery::Impl::Open(other);
  EXPECT_EQ(copy.root(), gallery.root());
  EXPECT_TRUE(copy.CheckIntact().ok()) << copy.CheckIntact();
}

}  // namespace
}  // namespace heft
