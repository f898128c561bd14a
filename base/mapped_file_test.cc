// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/testing.h"

namespace heft {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

class MappedFileTest : public ::testing::Test {
 protected:
  std::string Write(std::string_view text, mode_t mode = 0644) const {
    EXPECT_TRUE(WriteFileAtomic(path_, text, mode).ok());
    return path_;
  }
  std::string Text(const MappedFile& file) const {
    return {file.bytes().begin(), file.bytes().end()};
  }

  testing::TemporaryFolder folder_;
  const std::string path_ = folder_ / "file";
};

TEST_F(MappedFileTest, HasTheBytesAndKeepsThem) {
  const auto file = MappedFile::Open(Write("first"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(Text(*file), "first");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file->bytes().data()) % 4096, 0u);
  Write("second");  // another file of that name
  EXPECT_EQ(Text(*file), "first");
  EXPECT_EQ(Text(*MappedFile::Open(path_)), "second");
  const MappedFile copy = *file;
  EXPECT_EQ(copy.bytes().data(), file->bytes().data());
  EXPECT_TRUE(MappedFile::Open(Write(""))->bytes().empty());
}

TEST_F(MappedFileTest, MissingIsNotFound) {
  EXPECT_EQ(MappedFile::Open(path_).status().code(), StatusCode::kNotFound);
  Write("a file, no folder");
  EXPECT_EQ(MappedFile::Open(path_ + "/file").status().code(), StatusCode::kNotFound);
}

TEST_F(MappedFileTest, WhatOthersMayWriteIsNotBelieved) {
  for (const mode_t mode : {0664, 0646, 0666, 0620}) {
    const auto file = MappedFile::Open(Write("bytes", mode));
    EXPECT_EQ(file.status().code(), StatusCode::kFailedPrecondition) << std::oct << mode;
    EXPECT_THAT(file.status().message(), HasSubstr("chmod go-w"));
  }
  for (const mode_t mode : {0600, 0644, 0444}) {
    EXPECT_TRUE(MappedFile::Open(Write("bytes", mode)).ok()) << std::oct << mode;
  }
}

TEST_F(MappedFileTest, AnotherUsersIsNotBelieved) {
  Write("bytes");
  if (chown(path_.c_str(), 12345, static_cast<gid_t>(-1)) != 0) GTEST_SKIP() << "only for root";
  const auto file = MappedFile::Open(path_);
  EXPECT_EQ(file.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(file.status().message(), HasSubstr("another user (12345)"));
}

TEST_F(MappedFileTest, LinksPipesAndFoldersAreNotBelieved) {
  Write("bytes");
  std::filesystem::create_symlink(path_, folder_ / "link");
  EXPECT_EQ(MappedFile::Open(folder_ / "link").status().code(), StatusCode::kFailedPrecondition);
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::Open(folder_ / "pipe").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(MappedFile::Open(folder_.path()).status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(MappedFileTest, AStampChangesWithTheFile) {
  const auto before = SettledFileStamp(Write("bytes"));
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(*FileStampOf(path_), *before);
  EXPECT_EQ(before->size, 5u);
  // Overwritten, with the same size and time.
  std::filesystem::file_time_type time = std::filesystem::last_write_time(path_);
  {
    std::FILE* file = std::fopen(path_.c_str(), "r+");
    std::fputs("Bytes", file);
    std::fclose(file);
  }
  std::filesystem::last_write_time(path_, time);
  const auto written = FileStampOf(path_);
  EXPECT_EQ(written->modified, before->modified);
  EXPECT_EQ(written->size, before->size);
  EXPECT_NE(*written, *before);
  // Replaced.
  const auto settled = SettledFileStamp(path_);
  Write("bytes");
  EXPECT_NE(*FileStampOf(path_), *settled);
  EXPECT_EQ(FileStampOf(folder_ / "none").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace heft
