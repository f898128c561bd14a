// SPDX-License-Identifier: Apache-2.0
#include "service/run/config_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "service/run/daemon.h"
#include "service/text.h"

namespace heft::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ConfigTest, ReadsWhatIsThere) {
  auto config = Config::Parse(
      "name = 'x'\n[listen]\naddress = \"[::]:1\"\nworkers = 7\nfast = true\nshare = 0.5\n"
      "whole = 2\nhosts = ['a', 'b']\nfile = 'f'\nabsolute = '/f'\nkey = 'pkcs11:object=x'\n"
      "[[rule]]\nn = 1\n[[rule]]\nn = 2\n[gallery.people]\nsize = 3\n",
      "/etc/heft/m.toml");
  ASSERT_TRUE(config.ok()) << config.status();
  const ConfigTable root = config->root(), listen = root.Table("listen");
  EXPECT_EQ(root.Text("name", ""), "x");
  EXPECT_EQ(root.Choice("name", "y", {"x", "y"}), "x");
  EXPECT_EQ(listen.RequiredText("address"), "[::]:1");
  EXPECT_EQ(listen.Number("workers", 1, 1, 10), 7u);
  EXPECT_EQ(listen.Number("absent", 5, 1, 10), 5u);
  EXPECT_TRUE(listen.Flag("fast", false));
  EXPECT_EQ(listen.Real("share", 0, 0, 1), 0.5);
  EXPECT_EQ(listen.Real("whole", 0, 0, 5), 2);
  EXPECT_THAT(listen.Texts("hosts"), ElementsAre("a", "b"));
  EXPECT_EQ(listen.Path("file"), "/etc/heft/f");
  EXPECT_EQ(listen.RequiredPath("absolute"), "/f");
  EXPECT_EQ(listen.Path("key"), "pkcs11:object=x");
  EXPECT_EQ(listen.Path("no_path"), "");
  const auto rules = root.Tables("rule");
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].Number("n", 0, 0, 9), 1u);
  EXPECT_EQ(rules[1].Number("n", 0, 0, 9), 2u);
  EXPECT_THAT(root.Table("gallery").Names(), ElementsAre("people"));
  EXPECT_EQ(root.Table("gallery").Table("people").Number("size", 0, 0, 9), 3u);
  EXPECT_FALSE(root.Table("absent").present());
  EXPECT_EQ(root.Table("absent").Seconds("x", 9, 1, 10).count(), 9);
  EXPECT_TRUE(config->Check().ok()) << config->Check();
}

TEST(ConfigTest, SaysAllThatIsWrongWithItsLine) {
  auto config = Config::Parse(
      "[listen]\nworker = 7\nidle = -1\nshare = 'x'\nname = 3\nhosts = ['a', 1]\nlevel = 'loud'\n"
      "zzzzzz = 1\n[lisen]\n[[rule]]\nn = 99\n",
      "c.toml");
  ASSERT_TRUE(config.ok());
  const ConfigTable root = config->root(), listen = root.Table("listen");
  EXPECT_EQ(listen.Number("workers", 4, 1, 10), 4u);
  listen.Number("idle", 1, 1, 10);
  listen.Real("share", 0, 0, 1);
  EXPECT_EQ(listen.Text("name", "f"), "f");
  listen.Texts("hosts");
  listen.Choice("level", "info", {"info", "error"});
  listen.RequiredText("address");
  for (const ConfigTable& rule : root.Tables("rule")) rule.Number("n", 1, 1, 10);
  const std::string why = Message(config->Check());
  EXPECT_THAT(why, HasSubstr("c.toml:2: no such key: listen.worker; is it listen.workers?"));
  EXPECT_THAT(why, HasSubstr("c.toml:3: listen.idle is -1, but must be between 1 and 10"));
  EXPECT_THAT(why, HasSubstr("c.toml:4: listen.share is text, but must be a number"));
  EXPECT_THAT(why, HasSubstr("c.toml:5: listen.name is a whole number, but must be text"));
  EXPECT_THAT(why, HasSubstr("c.toml:6: listen.hosts holds a whole number"));
  EXPECT_THAT(why, HasSubstr("c.toml:7: listen.level is \"loud\", but must be one of info, error"));
  EXPECT_THAT(why, HasSubstr("c.toml:8: no such key: listen.zzzzzz"));
  EXPECT_THAT(why, Not(HasSubstr("zzzzzz;")));
  EXPECT_THAT(why, HasSubstr("c.toml:9: no such key: lisen; is it listen?"));
  EXPECT_THAT(why, HasSubstr("c.toml:11: rule.n is 99"));
  EXPECT_THAT(why, HasSubstr("c.toml:1: listen.address is missing"));
}

TEST(ConfigTest, WhatIsNoToml) {
  EXPECT_THAT(Message(Config::Parse("a = 1\nb = \n", "c.toml").status()), HasSubstr("c.toml:2:"));
  EXPECT_FALSE(Config::Parse("a = 1\na = 2\n", "c.toml").ok());
  EXPECT_FALSE(Config::Parse(std::string(2 << 20, '#'), "c.toml").ok());
  EXPECT_FALSE(Config::Parse("a = " + std::string(100000, '['), "c.toml").ok());
  EXPECT_EQ(Config::Read("/nowhere/c.toml").status().code(), absl::StatusCode::kNotFound);
}

TEST(ConfigTest, CredentialsOfSystemd) {
  unsetenv("CREDENTIALS_DIRECTORY");
  auto without = *Config::Parse("key = 'credential:secret'", "c.toml");
  EXPECT_EQ(without.root().Path("key"), "");
  EXPECT_THAT(Message(without.Check()), HasSubstr("LoadCredential"));
  setenv("CREDENTIALS_DIRECTORY", "/run/credentials/x", 1);
  auto with = *Config::Parse("key = 'credential:secret'", "c.toml");
  EXPECT_EQ(with.root().Path("key"), "/run/credentials/x/secret");
  unsetenv("CREDENTIALS_DIRECTORY");
}

const char kGood[] = R"(
[listen]
address = "127.0.0.1:0"
drain = 5
[tls]
certificate = "server.pem"
private_key = "server.key"
authorities = "ca.pem"
[limits]
workers = 8
[[certificate]]
subject = "gate-1"
roles = ["client"]
[[certificate]]
fingerprint = "ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef0123456789"
carries_tokens = true
[[api_key]]
name = "notebook"
sha256 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789ABCDEF"
roles = ["client", "registrar"]
[tokens]
issuer = "https://id.test"
audience = "heft"
keys = "jwks.json"
roles = ["operator", "auditor"]
[access]
nonces = "nonces"
verifications_a_minute = 6
[audit]
file = "audit.log"
[metrics]
address = "127.0.0.1:9100"
[log]
level = "warning"
)";

TEST(CommonConfigTest, AllOfIt) {
  const Config config = *Config::Parse(kGood, "/etc/heft/m.toml");
  const CommonConfig common = ReadCommonConfig(config);
  ASSERT_TRUE(config.Check().ok()) << config.Check();
  EXPECT_EQ(common.address, "127.0.0.1:0");
  EXPECT_EQ(common.drain.count(), 5);
  EXPECT_EQ(common.tls.private_key, "/etc/heft/server.key");
  EXPECT_EQ(common.limits.workers, 8u);
  ASSERT_EQ(common.authority.rules.certificates.size(), 2u);
  EXPECT_EQ(common.authority.rules.certificates[0].roles,
            std::set<ServiceRole>{ServiceRole::kClient});
  EXPECT_EQ(common.authority.rules.certificates[1].fingerprint.substr(0, 6), "abcdef");
  EXPECT_TRUE(common.authority.rules.certificates[1].carries_tokens);
  EXPECT_EQ(common.authority.rules.tokens->roles, (std::set<std::string>{"auditor", "operator"}));
  ASSERT_EQ(common.authority.rules.api_keys.size(), 1u);
  EXPECT_EQ(common.authority.rules.api_keys[0].sha256.substr(58), "abcdef");
  EXPECT_FALSE(common.tls.require_peer);
  EXPECT_NEAR(common.authority.identity.a_second, 0.1, 1e-12);
  EXPECT_EQ(common.log_level, LogLevel::kWarning);
}

TEST(CommonConfigTest, EachMistakeIsFound) {
  const auto why = [](const std::string& from, const std::string& to) {
    std::string text = kGood;
    const size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    text.replace(at, from.size(), to);
    const auto config = Config::Parse(text, "m.toml");
    if (!config.ok()) return Message(config.status());
    ReadCommonConfig(*config);
    return Message(config->Check());
  };
  EXPECT_THAT(why("certificate = \"server.pem\"", ""), HasSubstr("tls.certificate is missing"));
  EXPECT_THAT(why("[\"client\"]", "[\"clients\"]"), HasSubstr("unknown role \"clients\""));
  EXPECT_THAT(why("[\"client\"]", "[]"), HasSubstr("certificate.roles is empty"));
  EXPECT_THAT(why("subject = \"gate-1\"", ""), HasSubstr("fingerprint is needed"));
  EXPECT_THAT(why("\"ABCDEF", "\"XBCDEF"), HasSubstr("64 hexadecimal"));
  EXPECT_THAT(why("\"auditor\"", "\"machine\""), HasSubstr("machines have certificates"));
  EXPECT_THAT(why("\"operator\", \"auditor\"", ""), HasSubstr("tokens.roles is empty"));
  EXPECT_THAT(why("\"client\", \"registrar\"", "\"machine\""), HasSubstr("not API keys"));
  EXPECT_THAT(why("ABCDEF\"\nroles", "XBCDEF\"\nroles"), HasSubstr("SHA-256 of the key"));
  EXPECT_THAT(why("127.0.0.1:0", "0.0.0.0:8443"), HasSubstr("with [[api_key]]"));
  EXPECT_THAT(why("127.0.0.1:9100", "0.0.0.0:9100"), HasSubstr("without TLS"));
  EXPECT_THAT(why("workers = 8", "workers = 0"), HasSubstr("between 1 and 4096"));
  EXPECT_THAT(why("nonces = \"nonces\"", ""), HasSubstr("access.nonces is missing"));
  EXPECT_THAT(why("level = \"warning\"", "level = \"warn\""), HasSubstr("one of debug"));
  EXPECT_THAT(why("[audit]", "[audits]"), HasSubstr("is it audit?"));
}

}  // namespace
}  // namespace heft::service
