// SPDX-License-Identifier: Apache-2.0
// Imports of galleries into other stores: those that are interrupted, and those that are refused.
#include "gallery/import.h"

#include <filesystem>

#include "base/progress.h"
#include "gallery/change.h"
#include "gallery/checked_store.h"
#include "gallery/unlisted.h"
#include "owner/testing.h"

namespace heft {
namespace {

class ImportTest : public testing::GalleryTest {
 protected:
  ImportTest() {
    const auto enrolled =
        testing::EnrolDirectly(*server_, directory_, Set({0, 1, 2}, {"ann", "bob", "ann"}));
    EXPECT_TRUE(enrolled.ok()) << enrolled.status();
  }

  // The number of entries in a store, without names of galleries.
  static size_t Rows(const std::string& folder) {
    const auto store = *OpenStore(folder, StoreMode::kRead);
    const auto reader = *store->Read();
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
  // In transactions of one entry each.
  absl::Status Import(const std::string& to, const Monitor& monitor = {}) const {
    const Progress progress(monitor, "importing blocks");
    return ImportFromStore(*Gallery::Impl::Open(directory_), to, progress, /*step=*/1).status();
  }
  // A store after a crash in the middle of an import.
  std::string Crashed() const {
    std::string crashed = temporary_ / "crashed";
    const absl::Status status = Import(temporary_ / "crashing", [&](const ProgressEvent& event) {
      if (event.done == event.total && !std::filesystem::exists(crashed)) {
        std::filesystem::copy(temporary_ / "crashing", crashed);
      }
      return true;
    });
    EXPECT_TRUE(status.ok()) << status;
    return crashed;
  }
};

TEST_F(ImportTest, WhatIsStoppedLeavesNothing) {
  const std::string to = temporary_ / "to";
  const absl::Status stopped =
      Import(to, [](const ProgressEvent& event) { return event.done < event.total; });
  EXPECT_EQ(stopped.code(), absl::StatusCode::kCancelled) << stopped;
  EXPECT_EQ(Rows(to), 0u);
  EXPECT_EQ(Gallery::Impl::Open(to).status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(Import(to).ok());
  const Gallery::Impl gallery = *Gallery::Impl::Open(to), source = *Gallery::Impl::Open(directory_);
  EXPECT_EQ(gallery.id(), source.id());
  EXPECT_EQ(gallery.root(), source.root());
  EXPECT_EQ(gallery.identities(), source.identities());
  EXPECT_TRUE(gallery.CheckIntact(instance_).ok()) << gallery.CheckIntact(instance_);
  // An import in one transaction gives the same result.
  const std::string at_once = temporary_ / "at-once";
  ASSERT_TRUE(ImportGallery(directory_, at_once).ok());
  EXPECT_EQ(Gallery::Impl::Open(at_once)->root(), source.root());
  EXPECT_EQ(Rows(at_once), Rows(to));
}

// The rest of a crashed import is invisible, and the next new gallery removes it.
TEST_F(ImportTest, WhatIsCutOffIsTakenAway) {
  const std::string to = Crashed();
  EXPECT_GT(Rows(to), 0u) << "transactions came before";
  EXPECT_EQ(Gallery::Impl::Open(to).status().code(), absl::StatusCode::kNotFound);
  GalleryBinding binding;
  binding.gamma = 16;
  GalleryChange change = *GalleryChange::Begin(Gallery::Impl::New(to, binding), /*start=*/true);
  EXPECT_TRUE(change.Find("ann")->places.empty());
  ASSERT_TRUE(change.Commit().ok());
  EXPECT_EQ(Rows(to), 2u) << "its head, which is stored twice";
}

TEST_F(ImportTest, WhatIsCutOffIsErased) {
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

TEST_F(ImportTest, NoGalleryIsInAStoreTwice) {
  const std::string to = temporary_ / "to";
  ASSERT_TRUE(Import(to + ":one").ok());
  EXPECT_EQ(Import(to + ":two").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Import(to + ":one").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Import(temporary_ / "to:main").code(), absl::StatusCode::kAlreadyExists);
}

}  // namespace
}  // namespace heft
