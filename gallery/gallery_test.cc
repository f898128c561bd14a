// SPDX-License-Identifier: Apache-2.0
// Galleries on disk: what a failed write or a damaged file leaves.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "ckks/arithmetic.h"
#include "gallery/gallery_impl.h"
#include "gallery/owner/testing.h"
#include "gallery/testing.h"

namespace heft {
namespace {

using testing::Code;
using testing::EnrolDirectly;

class GalleryFilesTest : public testing::GalleryTest {};

TEST_F(GalleryFilesTest, OneBlockHoldsBothLanes) {
  const uint32_t per_block = 2 * instance_->params().slots();
  auto templates = server_->FuseAll(Set({1, 2}, {"ann", "bob"}), {});
  std::vector<Enrolment> many(2, (*templates)[0]);
  many[1] = (*templates)[1];
  Gallery::Impl gallery = Gallery::Impl::New(directory_, server_->binding());
  ASSERT_TRUE(gallery.Enrol(*instance_, many, server_->keys()).ok());
  EXPECT_EQ(gallery.blocks(), 1u);
  EXPECT_EQ(PositionOf(per_block - 1, instance_->params().slots()).lane, 1u);
}

TEST_F(GalleryFilesTest, FailedEnrolmentLeavesTheGalleryAsItWas) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1}, {"ann"})).ok());
  const std::vector<std::string> before = Files();
  const std::vector<uint8_t> manifest = *ReadFile(directory_ + "/manifest.heft");
  auto templates = *server_->FuseAll(Set({2}, {"bob"}), {});
  // A template of another level, and an identity with a control character.
  Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  std::vector<Enrolment> bad = templates;
  ASSERT_TRUE(ckks::DropLimbs(*instance_->context, &bad[0].z, bad[0].z, 2).ok());
  EXPECT_FALSE(gallery.Enrol(*instance_, bad, server_->keys()).ok());
  bad = templates;
  bad[0].identity = "b\nb";
  EXPECT_FALSE(gallery.Enrol(*instance_, bad, server_->keys()).ok());
  EXPECT_EQ(Files(), before);
  EXPECT_EQ(*ReadFile(directory_ + "/manifest.heft"), manifest);
  EXPECT_TRUE(gallery.Enrol(*instance_, templates, server_->keys()).ok());
  // A stale view of the gallery must not overwrite what another writer added.
  Gallery::Impl stale = *server_->OpenGallery(directory_, false);
  ASSERT_TRUE(gallery.Enrol(*instance_, templates, server_->keys()).ok());
  EXPECT_EQ(Code(stale.Enrol(*instance_, templates, server_->keys())),
            absl::StatusCode::kUnavailable);
}

TEST_F(GalleryFilesTest, FailedFirstEnrolmentLeavesNoFolder) {
  Gallery::Impl gallery = Gallery::Impl::New(directory_, server_->binding());
  auto templates = *server_->FuseAll(Set({2}, {"bob"}), {});
  ASSERT_TRUE(ckks::DropLimbs(*instance_->context, &templates[0].z, templates[0].z, 2).ok());
  EXPECT_FALSE(gallery.Enrol(*instance_, templates, server_->keys()).ok());
  EXPECT_FALSE(FileExists(directory_));
}

TEST_F(GalleryFilesTest, AFailedFlushLeavesTheOldGalleryOrTheNewOne) {
  auto templates = *server_->FuseAll(Set({2}, {"bob"}), {});
  // A block and the manifest are two flushes each: of the file, and of the folder after the rename.
  for (int failing = 1; failing <= 4; ++failing) {
    std::filesystem::remove_all(directory_);
    g_failing_flush = 0;
    ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1}, {"ann"})).ok());
    Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
    g_flushes = 0;
    g_failing_flush = failing;
    EXPECT_EQ(Code(gallery.Enrol(*instance_, templates, server_->keys())),
              absl::StatusCode::kUnavailable);
    g_failing_flush = 0;
    // Only the last flush comes after the manifest's rename.
    auto reopened = server_->OpenGallery(directory_, false);
    ASSERT_TRUE(reopened.ok()) << reopened.status();
    EXPECT_EQ(reopened->size(), failing == 4 ? 2u : 1u) << failing;
    EXPECT_EQ(gallery.size(), reopened->size());
    EXPECT_TRUE(reopened->ReadBlock(*instance_, 0).ok()) << failing;
    EXPECT_TRUE(gallery.Enrol(*instance_, templates, server_->keys()).ok()) << failing;
  }
}

TEST_F(GalleryFilesTest, DamagedBlocksAreNoticed) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1}, {"ann"})).ok());
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  const std::string path = directory_ + "/block-0-1.heft";
  std::vector<uint8_t> bytes = *ReadFile(path);
  bytes[5000] ^= 4;
  ASSERT_TRUE(WriteFileAtomic(path, bytes).ok());
  EXPECT_EQ(Code(gallery.ReadBlock(*instance_, 0)), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Code(server_->Identify(gallery, Set({1}, {"x"}), {})), absl::StatusCode::kDataLoss);
  std::filesystem::resize_file(path, 1000);
  EXPECT_EQ(Code(gallery.ReadBlock(*instance_, 0)), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace heft
