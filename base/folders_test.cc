// SPDX-License-Identifier: Apache-2.0
// Which entries are flushed to disk when folders are created.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/testing.h"

// Replaces the C library's fsync in this program: records the flushed paths, and refuses one path.
static std::vector<std::string>* g_flushed = nullptr;
static std::string* g_refused = nullptr;
extern "C" int fsync(int fd) {
  if (g_flushed != nullptr) {
    const std::string path =
        std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)).string();
    g_flushed->push_back(path);
    if (g_refused != nullptr && *g_refused == path) {
      errno = EIO;
      return -1;
    }
  }
  return static_cast<int>(syscall(SYS_fsync, fd));
}

namespace heft {
namespace {

class FoldersTest : public ::testing::Test {
 protected:
  void SetUp() override { g_flushed = &flushed_; }
  void TearDown() override {
    g_flushed = nullptr;
    g_refused = nullptr;
  }
  const testing::TemporaryFolder folder_;
  const std::string root_ = std::filesystem::canonical(folder_.path()).string();
  std::vector<std::string> flushed_;
};

TEST_F(FoldersTest, EachNewFoldersEntryIsFlushed) {
  ASSERT_TRUE(MakeDirectories(root_ + "/a/b/c").ok());
  EXPECT_THAT(flushed_, ::testing::ElementsAre(root_, root_ + "/a", root_ + "/a/b"));
  flushed_.clear();
  ASSERT_TRUE(MakeDirectories(root_ + "/a/b/d/").ok());
  EXPECT_THAT(flushed_, ::testing::ElementsAre(root_ + "/a/b"));
  flushed_.clear();
  ASSERT_TRUE(MakeDirectories(root_ + "/a/b").ok());
  EXPECT_THAT(flushed_, ::testing::IsEmpty()) << "nothing is new";
}

TEST_F(FoldersTest, WhatTheDiskDoesNotConfirmIsNotLeft) {
  std::string refused = root_ + "/a";
  g_refused = &refused;
  EXPECT_EQ(MakeDirectories(root_ + "/a/b/c").code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(std::filesystem::exists(root_ + "/a"));
}

TEST_F(FoldersTest, AFolderThatMayNotBeReadTakesNewOnes) {
  ASSERT_TRUE(MakeDirectories(root_ + "/closed").ok());
  ASSERT_EQ(chmod((root_ + "/closed").c_str(), 0300), 0);
  EXPECT_TRUE(MakeDirectories(root_ + "/closed/new").ok());
  ASSERT_EQ(chmod((root_ + "/closed").c_str(), 0700), 0);
  EXPECT_TRUE(std::filesystem::is_directory(root_ + "/closed/new"));
}

}  // namespace
}  // namespace heft
