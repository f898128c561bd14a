// SPDX-License-Identifier: Apache-2.0
#include "heft/trust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/testing.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

TEST(TrustTest, ReadsWhatItWrites) {
  Trust trust;
  ASSERT_TRUE(trust.Add(Role::kKeyOwner, "owner", {1}).ok());
  ASSERT_TRUE(trust.Add(Role::kServer, "matcher", {2}).ok());
  ASSERT_TRUE(trust.Add(Role::kClient, "both", {3}).ok());
  ASSERT_TRUE(trust.Add(Role::kRegistrar, "both", {3}).ok());
  ASSERT_TRUE(trust.Add(Role::kTrainer, "gone", {4}).ok());
  ASSERT_TRUE(trust.Revoke({4}).ok());
  trust.Pin({5}, 6);
  trust.Pin({7});
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(trust.Save(folder / "trust.heft").ok());
  const auto read = Trust::Load(folder / "trust.heft");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->Serialize(), trust.Serialize());
  for (uint8_t role = 1; role <= 5; ++role) {
    EXPECT_EQ(read->keys(static_cast<Role>(role)), trust.keys(static_cast<Role>(role)));
  }
  EXPECT_TRUE(read->IsRevoked({4}));
  EXPECT_FALSE(read->Lists(Role::kTrainer));
  EXPECT_EQ(read->galleries(), trust.galleries());
}

TEST(TrustTest, AGuardedFileIsNobodyElsesToWrite) {
  Trust trust;
  ASSERT_TRUE(trust.Add(Role::kServer, "matcher", {2}).ok());
  const testing::TemporaryFolder folder;
  const std::string path = folder / "trust.heft";
  ASSERT_TRUE(trust.Save(path).ok());
  for (const mode_t mode : {0600, 0644, 0664}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_EQ(Trust::LoadGuarded(path)->Serialize(), trust.Serialize()) << mode;
  }
  for (const mode_t mode : {0602, 0666}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    const absl::Status refused = Trust::LoadGuarded(path).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("chmod o-w"));
  }
  EXPECT_EQ(Trust::LoadGuarded(folder / "none").status().code(), absl::StatusCode::kNotFound);
}

TEST(TrustTest, RefusesWhatWouldBeAmbiguous) {
  Trust trust;
  ASSERT_TRUE(trust.Add(Role::kServer, "matcher", {2}).ok());
  EXPECT_EQ(trust.Add(Role::kServer, "matcher", {3}).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(trust.Add(Role::kServer, "other", {2}).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(trust.Add(Role::kServer, "", {3}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(trust.Add(Role::kServer, "nobody", {}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(trust.Revoke({9}).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(trust.Revoke({2}).ok());
  EXPECT_FALSE(trust.Lists(Role::kServer));
  EXPECT_EQ(trust.Add(Role::kClient, "again", {2}).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(TrustTest, RefusesOtherText) {
  const std::string key(64, 'a');
  const std::string sound =
      R"({"heft_trust": 1, "server": [{"name": "a", "key": ")" + key + R"("}]})";
  ASSERT_TRUE(Trust::Parse(sound, "t").ok());
  for (const std::string& text : std::vector<std::string>{
           "", "[]", "{}", R"({"heft_trust": 2})", R"({"heft_trust": 1, "gods": []})",
           R"({"heft_trust": 1, "server": {}})", R"({"heft_trust": 1, "server": [{"name": "a"}]})",
           R"({"heft_trust": 1, "server": [{"key": ")" + key + R"("}]})",
           R"({"heft_trust": 1, "server": [{"name": "a", "key": "xy"}]})",
           R"({"heft_trust": 1, "galleries": [{"id": "00"}]})",
           R"({"heft_trust": 1, "galleries": 3})", R"({"heft_trust": 1, "revoked": [3]})"}) {
    const auto read = Trust::Parse(text, "t");
    EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss) << text;
    EXPECT_THAT(read.status().message(), HasSubstr("t: no trust file: "));
  }
}

TEST(TrustTest, KeysAsText) {
  const std::string digits = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  EXPECT_EQ((*ParseSignerKey(digits + " server\n"))[1], 0x23);
  EXPECT_FALSE(ParseSignerKey(digits.substr(1)).ok());
  EXPECT_FALSE(ParseSignerKey("g" + digits.substr(1)).ok());
  EXPECT_FALSE(ParseSignerKey("").ok());
  EXPECT_EQ((*ParseGalleryId(digits.substr(32)))[15], 0xef);
  EXPECT_FALSE(ParseGalleryId(digits).ok());
  for (uint8_t role = 1; role <= 5; ++role) {
    EXPECT_EQ(*ParseRole(RoleName(static_cast<Role>(role))), static_cast<Role>(role));
  }
  EXPECT_FALSE(ParseRole("god").ok());
}

}  // namespace
}  // namespace heft
