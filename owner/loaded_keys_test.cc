// SPDX-License-Identifier: Apache-2.0
// Where expanded keys are looked for, and what becomes of those that are of no use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <utility>

#include "base/files.h"
#include "heft/server.h"
#include "owner/roles_testing.h"

namespace heft {
namespace {

using ::testing::HasSubstr;
using StatusCode = absl::StatusCode;

class LoadedKeysTest : public ::testing::Test {
 protected:
  LoadedKeysTest() { Write(path_, *roles_.owner.EvaluationKeys()); }
  static void Write(const std::string& path, ByteSpan bytes) {
    ASSERT_TRUE(WriteFileAtomic(path, bytes).ok());
  }
  LoadedKeys Read(const std::string& cache = "") const {
    auto keys = LoadedKeys::Read(path_, cache);
    EXPECT_TRUE(keys.ok()) << keys.status();
    return *std::move(keys);
  }
  bool Serves(const LoadedKeys& keys) const {
    return Server::CreateFrom(roles_.model, keys.view()).ok();
  }

  const testing::PublicRoles& roles_ = testing::PublicRoles::Of("standard");
  const testing::TemporaryFolder folder_;
  const std::string path_ = folder_ / "evaluation.keys";
  const std::string beside_ = path_ + ".expanded";
};

TEST_F(LoadedKeysTest, TheFileItselfWhereNobodyExpandedIt) {
  LoadedKeys keys = Read();
  EXPECT_TRUE(keys.found());
  EXPECT_FALSE(keys.expanded);
  EXPECT_TRUE(keys.why.ok()) << keys.why;
  EXPECT_TRUE(Serves(keys));
  std::string notice = "what was there";
  EXPECT_FALSE(keys.Mend(roles_.model, &notice)) << "nobody asked for it";
  EXPECT_EQ(notice, "");
  EXPECT_FALSE(FileExists(beside_));
  EXPECT_FALSE(LoadedKeys().found());
}

TEST_F(LoadedKeysTest, WhatIsExpandedBesideItOrInAFolder) {
  ASSERT_TRUE(Read().Expand(roles_.model).ok());
  EXPECT_TRUE(FileExists(beside_));
  const LoadedKeys beside = Read();
  EXPECT_TRUE(beside.expanded && beside.bytes.empty() && Serves(beside));
  const std::string cache = folder_ / "cache";
  LoadedKeys elsewhere = Read(cache);
  EXPECT_FALSE(elsewhere.expanded) << "not there yet";
  ASSERT_TRUE(std::filesystem::create_directory(cache));
  ASSERT_TRUE(elsewhere.Expand(roles_.model).ok());
  EXPECT_TRUE(elsewhere.expanded) << "taken at once";
  EXPECT_TRUE(FileExists(cache + "/evaluation.keys.expanded"));
  EXPECT_TRUE(Read(cache).expanded);
}

TEST_F(LoadedKeysTest, DamageIsMended) {
  ASSERT_TRUE(Read().Expand(roles_.model).ok());
  std::filesystem::resize_file(beside_, std::filesystem::file_size(beside_) / 2);
  LoadedKeys keys = Read();
  EXPECT_FALSE(keys.expanded);
  EXPECT_EQ(keys.why.code(), StatusCode::kDataLoss);
  EXPECT_TRUE(Serves(keys));
  std::string notice;
  EXPECT_TRUE(keys.Mend(roles_.model, &notice));
  EXPECT_THAT(notice, HasSubstr("; made anew"));
  EXPECT_TRUE(keys.expanded && Serves(keys));
  EXPECT_TRUE(Read().expanded);
}

TEST_F(LoadedKeysTest, WhatOthersCouldHaveWrittenIsLeftAlone) {
  ASSERT_TRUE(Read().Expand(roles_.model).ok());
  ASSERT_EQ(chmod(beside_.c_str(), 0666), 0);
  LoadedKeys keys = Read();
  EXPECT_EQ(keys.why.code(), StatusCode::kFailedPrecondition);
  std::string notice;
  EXPECT_FALSE(keys.Mend(roles_.model, &notice));
  EXPECT_THAT(notice, HasSubstr("; the keys themselves are read"));
  EXPECT_FALSE(Read().expanded);
  EXPECT_TRUE(Serves(keys));
}

TEST_F(LoadedKeysTest, WhatIsNoKeyFile) {
  EXPECT_EQ(LoadedKeys::Read(folder_ / "none").status().code(), StatusCode::kNotFound);
  Write(path_, {});
  const absl::Status refused = LoadedKeys::Read(path_).status();
  EXPECT_EQ(refused.code(), StatusCode::kDataLoss);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the file is empty"));
}

}  // namespace
}  // namespace heft
