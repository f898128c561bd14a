// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "service/decider/config.h"

namespace heft::service {
namespace {

using ::testing::HasSubstr;

constexpr char kCommon[] = R"(
[listen]
address = "127.0.0.1:8444"
[tls]
certificate = "decider.pem"
private_key = "decider.key"
authorities = "ca.pem"
[audit]
file = "audit.log"
[access]
nonces = "nonces"
)";
constexpr char kOwn[] = R"(
[key]
model = "model.heft"
secret_key = "keys/secret.key"
trust = "/etc/trust.heft"
passphrase = "fd:3"
[decisions]
key = "pkcs11:token=heft;object=decisions"
life = 60
[state]
folder = "state"
[[gallery]]
id = "000102030405060708090a0b0c0d0e0f"
name = "visitors"
fpir = 0.01
fmr = 0.001
[[gallery]]
id = "100102030405060708090a0b0c0d0e0f"
name = "staff"
fmr = 0.0001
admission = "manual"
new_identities_only = true
)";

absl::StatusOr<DeciderConfig> Read(const std::string& text) {
  auto config = Config::Parse(text, "/etc/heft/decider.toml");
  if (!config.ok()) return config.status();
  return ReadDeciderConfig(*config);
}

TEST(DeciderConfigTest, IsRead) {
  const auto config = Read(absl::StrCat(kCommon, kOwn));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->key.model, "/etc/heft/model.heft") << "beside the file";
  EXPECT_EQ(config->key.trust, "/etc/trust.heft");
  EXPECT_EQ(config->key.passphrase, PassphraseFrom::kDescriptor);
  EXPECT_EQ(config->key.descriptor, 3);
  EXPECT_TRUE(config->key.lock_memory);
  EXPECT_EQ(config->decision_key, "pkcs11:token=heft;object=decisions");
  EXPECT_EQ(config->life.count(), 60);
  EXPECT_TRUE(config->likelihood);
  ASSERT_EQ(config->galleries.size(), 2u);
  const GalleryRule& visitors = config->galleries.begin()->second;
  EXPECT_EQ(visitors.name, "visitors");
  EXPECT_EQ(visitors.fpir, 0.01);
  EXPECT_TRUE(visitors.automatic);
  const GalleryRule& staff = config->galleries.rbegin()->second;
  EXPECT_FALSE(staff.fpir);
  EXPECT_FALSE(staff.automatic);
  EXPECT_TRUE(staff.new_identities_only);
  EXPECT_TRUE(config->sharded.empty());
}

TEST(DeciderConfigTest, FellowsAreRead) {
  const std::string fellow =
      "[[fellow]]\nowner = 2\nname = \"owner-2\"\nurl = \"https://two.example:8444\"\n";
  const auto config = Read(absl::StrCat(kCommon, kOwn, fellow,
                                        "[[fellow]]\nowner = 3\nname = \"owner-3\"\n"
                                        "url = \"https://three.example:8444\"\n"
                                        "authorities = \"three.pem\"\nwait_milliseconds = 500\n"));
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_EQ(config->fellows.size(), 2u);
  EXPECT_EQ(config->fellows[0].owner, 2u);
  EXPECT_EQ(config->fellows[0].tls.authorities, "/etc/heft/ca.pem");
  EXPECT_EQ(config->fellows[0].wait, std::chrono::milliseconds(2000));
  EXPECT_EQ(config->fellows[1].tls.authorities, "/etc/heft/three.pem");
  EXPECT_EQ(config->fellows[1].wait, std::chrono::milliseconds(500));
  const auto why = [&](const std::string& more) {
    return std::string(Read(absl::StrCat(kCommon, kOwn, fellow, more)).status().message());
  };
  EXPECT_THAT(why(fellow), HasSubstr("is that of another [[fellow]]"));
  EXPECT_THAT(why("[[fellow]]\nname = \"x\"\nurl = \"https://x.example:1\"\n"),
              HasSubstr("is needed"));
  EXPECT_THAT(why("[[fellow]]\nowner = 6\nname = \"x\"\nurl = \"https://x.example:1\"\n"),
              HasSubstr("owner"));
}

TEST(DeciderConfigTest, AGalleryInBucketsHasAListInsteadOfAnId) {
  const std::string buckets = "[[gallery]]\nname = \"people\"\nshards = \"people.shards\"\n";
  const auto config = Read(absl::StrCat(kCommon, kOwn, buckets, "fpir = 0.01\n"));
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_EQ(config->sharded.size(), 1u);
  EXPECT_EQ(config->sharded[0].shard_list, "/etc/heft/people.shards");
  EXPECT_EQ(config->sharded[0].name, "people");
  EXPECT_EQ(config->sharded[0].fpir, 0.01);
  EXPECT_EQ(config->RuledGalleries(), 3u);
  const std::string id = "id = \"200102030405060708090a0b0c0d0e0f\"\n";
  EXPECT_THAT(Read(absl::StrCat(kCommon, kOwn, buckets, id)).status().message(),
              HasSubstr("the ids are in the shard list"));
}

// All errors are reported at once.
TEST(DeciderConfigTest, WhatIsWrongIsSaid) {
  const std::pair<const char*, const char*> changes[] = {
      {"passphrase = \"fd:3\"", "passphrase = \"fd:2\""},
      {"passphrase = \"fd:3\"", "passphrase = \"sealed\""},
      {"passphrase = \"fd:3\"", "passphrase = \"none\"\nsigned_gallery = true"},
      {"passphrase = \"fd:3\"", "passphrase = \"env:SECRET\""},
      {"fpir = 0.01", "fpir = 1.5"},
      {"fpir = 0.01", "fpri = 0.01"},
      {"admission = \"manual\"", "admission = \"maybe\""},
      {"id = \"100102030405060708090a0b0c0d0e0f\"", "id = \"000102030405060708090a0b0c0d0e0f\""},
      {"id = \"100102030405060708090a0b0c0d0e0f\"", "id = \"visitors\""},
      {"secret_key = \"keys/secret.key\"", ""},
      {"folder = \"state\"", ""},
      {"life = 60", "life = \"a minute\""}};
  for (const auto& [good, wrong] : changes) {
    std::string text = absl::StrCat(kCommon, kOwn);
    text.replace(text.find(good), std::string(good).size(), wrong);
    const auto config = Read(text);
    EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_THAT(config.status().message(), HasSubstr("/etc/heft/decider.toml:")) << wrong;
  }
}

}  // namespace
}  // namespace heft::service
