// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "base/testing.h"
#include "heft/files.h"
#include "service/matcher/config.h"

namespace heft::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kText[] = R"(
[listen]
address = "127.0.0.1:8443"
[tls]
certificate = "matcher.pem"
private_key = "matcher.key"
authorities = "ca.pem"
[audit]
file = "audit.log"
[access]
nonces = "nonces"
[store]
folder = "STORE"
galleries = ["visitors", "staff"]
[keys]
model = "model.heft"
evaluation = "keys/evaluation.keys"
trust = "/etc/trust.heft"
)";

class MatcherConfigTest : public ::testing::Test {
 protected:
  absl::StatusOr<MatcherConfig> Read(const std::string& store, const std::string& more = "") {
    const std::string path = folder_.path() + "/matcher.toml";
    const std::string text =
        absl::StrReplaceAll(kText, {{"STORE\"\n", absl::StrCat(store, "\"\n", more)}});
    HEFT_RETURN_IF_ERROR(WriteFile(path, text));
    return ReadMatcherConfig(path);
  }
  std::string Path(const std::string& name) const {
    return absl::StrCat(folder_.path(), "/", name);
  }

 private:
  const heft::testing::TemporaryFolder folder_;
};

TEST_F(MatcherConfigTest, WhatAFolderNeedsStandsBesideIt) {
  const auto config = Read("store");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->store, Path("store"));  // from the configuration's folder on
  EXPECT_EQ(config->state, Path("store.state"));
  EXPECT_EQ(config->staging, Path("store.staging"));
  EXPECT_EQ(config->cache_bytes, 0u);
  EXPECT_THAT(config->galleries, ElementsAre("visitors", "staff"));
  EXPECT_EQ(config->files.trust, "/etc/trust.heft");
}

TEST_F(MatcherConfigTest, ADatabasesStateHasAPlaceOfItsOwn) {
  const auto config = Read("postgres:prod", "state = \"local\"\ncache_bytes = 1073741824\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->store, "postgres:prod");  // no path: it stays as it is
  EXPECT_EQ(config->state, Path("local"));
  EXPECT_EQ(config->staging, Path("local.staging"));
  EXPECT_EQ(config->cache_bytes, 1073741824u);
}

TEST_F(MatcherConfigTest, ADatabaseWithoutAPlaceForItsStateIsRefused) {
  const auto config = Read("postgres:prod");
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(config.status().message()), HasSubstr("state"));
}

TEST_F(MatcherConfigTest, AnotherStateOfAFolderIsTaken) {
  const auto config = Read("store", "state = \"/srv/state\"\nstaging = \"/srv/staging\"\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->state, "/srv/state");
  EXPECT_EQ(config->staging, "/srv/staging");
}

TEST_F(MatcherConfigTest, WhatIsWrongIsNamed) {
  for (const auto& [more, named] : {
           std::pair{"cache_bytes = -1\n", "cache_bytes"},
           {"cache_bytes = 1125899906842625\n", "cache_bytes"},  // 2^50 + 1
           {"cache_bytes = \"much\"\n", "cache_bytes"},
           {"state = 3\n", "state"},
           {"cache = 5\n", "cache"},
           {"signing_key = \"server.key\"\n", "signing_key"},
       }) {
    const auto config = Read("store", more);
    EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument) << more;
    EXPECT_THAT(std::string(config.status().message()), HasSubstr(named));
    EXPECT_THAT(std::string(config.status().message()), HasSubstr("matcher.toml"));
  }
}

}  // namespace
}  // namespace heft::service
