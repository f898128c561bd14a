// SPDX-License-Identifier: Apache-2.0
#include "base/regular_file.h"

#include <sys/stat.h>

#include <filesystem>

#include "base/files.h"
#include "base/testing.h"
#include "gtest/gtest.h"

namespace heft {
namespace {

TEST(RegularFileTest, LinksAndPipesAreNoFiles) {
  const testing::TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return folder.path() + "/" + name; };
  ASSERT_TRUE(WriteFileAtomic(path("file"), std::string("abc")).ok());
  const auto read = ReadRegularFile(path("file"), 3);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(std::string(read->begin(), read->end()), "abc");
  const auto code = [&](const std::string& name, uint64_t most) {
    return ReadRegularFile(path(name), most).status().code();
  };
  EXPECT_EQ(code("file", 2), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("nothing", 9), absl::StatusCode::kNotFound);
  EXPECT_EQ(code("file/below", 9), absl::StatusCode::kNotFound);
  std::filesystem::create_symlink("file", path("link"));
  EXPECT_EQ(code("link", 9), absl::StatusCode::kFailedPrecondition);
  std::filesystem::create_directory(path("folder"));
  EXPECT_EQ(code("folder", 9), absl::StatusCode::kFailedPrecondition);
  // A pipe without a writer: reading it would wait for ever.
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(code("pipe", 9), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace heft
