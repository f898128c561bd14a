// SPDX-License-Identifier: Apache-2.0
#include "heft/key_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/testing.h"
#include "fusion/testing.h"
#include "heft/gallery_admin.h"
#include "heft/inspect.h"
#include "heft/server.h"
#include "owner/activate_all.h"

namespace heft {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class KeySetTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_ / name; }
  // Files of a folder; 0 where it is not there.
  size_t Files(const std::string& name) const {
    std::error_code none;
    return std::distance(fs::directory_iterator(Path(name), none), {});
  }
  const testing::TemporaryFolder folder_;
  const Model model_ = testing::RandomModel({24, 16}, 16, 3);
};

// All of a set's keys are of one secret, and do their work.
TEST_F(KeySetTest, MakesKeysThatBelongTogether) {
  const auto set = MakeKeySet(model_, Path("keys"));
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(Files("keys"), 6u) << "with the journal and its lock";
  EXPECT_EQ(set->secret_key, Path("keys/secret.key"));
  EXPECT_EQ(fs::status(set->secret_key).permissions(), fs::perms(0600));
  EXPECT_EQ(set->encryption_key_bytes, fs::file_size(set->encryption_key));
  EXPECT_EQ(set->evaluation_keys_bytes, fs::file_size(set->evaluation_keys));
  EXPECT_THAT(set->parameters, HasSubstr("N = 8192"));
  EXPECT_EQ(set->security, "128-bit classical (2024)");
  EXPECT_TRUE(set->rekeying_key.empty());
  for (const std::string& path : {set->secret_key, set->encryption_key, set->evaluation_keys}) {
    EXPECT_EQ(InspectFile(*ReadFile(path), path)->key_id, set->key_id) << path;
  }
  const auto owner = KeyOwner::Load(model_, set->secret_key);
  ASSERT_TRUE(owner.ok()) << owner.status();
  const auto client = Client::Create(model_, *ReadFile(set->encryption_key));
  const auto server = Server::Create(model_, *ReadFile(set->evaluation_keys));
  ASSERT_TRUE(client.ok() && server.ok());
  const std::vector<float> face(24, 0.5f);
  const auto sample = client->Encrypt("m0", face, "ann");
  ASSERT_TRUE(testing::EnrolNow(*server, *owner, Path("gallery"), {{*sample, "m0"}}).ok());
  const auto reply = server->Identify(*Gallery::Open(Path("gallery")), {{*sample, "m0"}});
  const auto decided = owner->Decide(*reply, "reply", 0.5);
  ASSERT_TRUE(decided.ok()) << decided.status();
  EXPECT_EQ(decided->identity, "ann");
}

// Public keys are signed by an owner that the trust file lists; the owner of the same secret key
// is the same signer.
TEST_F(KeySetTest, PublicKeysAreSigned) {
  const auto set = MakeKeySet(model_, Path("keys"));
  ASSERT_TRUE(set.ok()) << set.status();
  const auto trust = Trust::Load(set->trust);
  ASSERT_TRUE(trust.ok()) << trust.status();
  const auto owner = KeyOwner::Load(model_, set->secret_key);
  const SignerKey signer = owner->Signer()->public_key();
  ASSERT_EQ(trust->keys(Role::kKeyOwner).size(), 1u);
  EXPECT_EQ(trust->keys(Role::kKeyOwner)[0].key, signer);
  for (const auto& [path, kind] :
       {std::pair{set->encryption_key, "PUBK"}, std::pair{set->evaluation_keys, "EVAL"}}) {
    const auto bytes = *ReadFile(path);
    const auto file = OpenSigned(bytes, *trust, {.roles = {Role::kKeyOwner}, .kind = kind}, path);
    EXPECT_TRUE(file.ok()) << file.status();
  }
  const auto other = MakeKeySet(model_, Path("other"));
  EXPECT_NE(Trust::Load(other->trust)->keys(Role::kKeyOwner)[0].key, signer);
  const auto foreign = OpenSigned(*ReadFile(other->encryption_key), *trust,
                                  {.roles = {Role::kKeyOwner}}, "encryption.key");
  EXPECT_THAT(foreign.status().message(), HasSubstr("unknown key-owner"));
}

TEST_F(KeySetTest, NeverOverwrites) {
  ASSERT_TRUE(MakeKeySet(model_, Path("keys")).ok());
  const auto before = *ReadFile(Path("keys/secret.key"));
  bool asked = false;
  const auto again = MakeKeySet(model_, Path("keys"), [&]() -> absl::StatusOr<std::string> {
    asked = true;
    return std::string("secret");
  });
  EXPECT_EQ(again.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_FALSE(asked) << "nobody types a passphrase for nothing";
  EXPECT_EQ(*ReadFile(Path("keys/secret.key")), before);
  EXPECT_EQ(Files("keys"), 6u) << "with the journal and its lock";
}

TEST_F(KeySetTest, SealedUnderThePassphraseThatIsGiven) {
  const auto said = [](std::string text) {
    return [text]() -> absl::StatusOr<std::string> { return text; };
  };
  const auto set = MakeKeySet(model_, Path("keys"), said("right"));
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_TRUE(KeyOwner::Load(model_, set->secret_key, said("right")).ok());
  EXPECT_EQ(KeyOwner::Load(model_, set->secret_key, said("wrong")).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(KeyOwner::Load(model_, set->secret_key).status().code(),
            absl::StatusCode::kFailedPrecondition);
  // Who is asked and has none leaves nothing behind.
  const auto none = MakeKeySet(model_, Path("none"), []() -> absl::StatusOr<std::string> {
    return absl::InvalidArgumentError("no terminal");
  });
  EXPECT_EQ(none.status().message(), "no terminal");
  EXPECT_EQ(Files("none"), 0u);
}

TEST_F(KeySetTest, AllFilesOrNone) {
  const Monitor stop = [](const ProgressEvent&) { return false; };
  EXPECT_EQ(MakeKeySet(model_, Path("stopped"), {}, stop).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(Files("stopped"), 0u);
  // The last file cannot be written: a folder has its temporary name's place taken away.
  ASSERT_TRUE(WriteFileAtomic(Path("file"), std::string_view("x")).ok());
  EXPECT_EQ(MakeKeySet(model_, Path("file/keys")).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(KeySetTest, PublicKeysAreMadeAnew) {
  const auto set = MakeKeySet(model_, Path("keys"));
  const auto owner = KeyOwner::Load(model_, set->secret_key);
  const auto made = MakePublicKeys(*owner, Path("public"));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(Files("public"), 3u);
  EXPECT_TRUE(made->secret_key.empty());
  EXPECT_EQ(made->key_id, set->key_id);
  EXPECT_NE(*ReadFile(made->encryption_key), *ReadFile(set->encryption_key)) << "new randomness";
  // In their own place again and again, but not beside a secret key.
  EXPECT_TRUE(MakePublicKeys(*owner, Path("public")).ok());
  EXPECT_EQ(MakePublicKeys(*owner, Path("keys")).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(KeySetTest, RenewingRevokesTheOldKeyOnce) {
  const auto set = MakeKeySet(model_, Path("old"));
  auto old = KeyOwner::Load(model_, set->secret_key);
  ASSERT_TRUE(old->SetBudget({.scores = 7}).ok());
  Trust believed = *Trust::Load(set->trust);
  ASSERT_TRUE(believed.Add(Role::kServer, "matcher", {1}).ok());
  ASSERT_TRUE(old->RequireSigned(believed).ok());
  const auto renewed = RenewKey(*old, Path("new"));
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  EXPECT_NE(renewed->key_id, set->key_id);
  EXPECT_EQ(renewed->rekeying_key_bytes, fs::file_size(renewed->rekeying_key));
  EXPECT_THAT(renewed->rekeying_key, EndsWith("new/rekeying.key"));
  EXPECT_EQ(old->Budget()->successor, renewed->key_id);
  // The new trust file lists what the old one listed, except for the old key.
  const auto trust = Trust::Load(renewed->trust);
  ASSERT_TRUE(trust.ok()) << trust.status();
  EXPECT_TRUE(trust->IsRevoked(old->Signer()->public_key()));
  EXPECT_EQ(trust->keys(Role::kServer).size(), 1u);
  EXPECT_TRUE(OpenSigned(*ReadFile(renewed->rekeying_key), *trust,
                         {.roles = {Role::kKeyOwner}, .kind = "RKEY"}, "rekeying.key")
                  .ok());
  const auto next = KeyOwner::Load(model_, renewed->secret_key);
  EXPECT_EQ(next->Budget()->limits.scores, 7u) << "counts go along";
  EXPECT_FALSE(next->Budget()->successor.has_value());
  EXPECT_EQ(RenewKey(*old, Path("twice")).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Files("twice"), 0u);
  EXPECT_EQ(RenewKey(*next, Path("new")).status().code(), absl::StatusCode::kAlreadyExists);
}

// After a removal, blocks are renewed under no revoked key.
TEST_F(KeySetTest, ARevokedKeyRenewsNoBlocks) {
  const auto set = MakeKeySet(model_, Path("old"));
  ASSERT_TRUE(set.ok()) << set.status();
  const auto old = KeyOwner::Load(model_, set->secret_key);
  const auto client = Client::Create(model_, *ReadFile(set->encryption_key));
  const auto server = Server::Create(model_, *ReadFile(set->evaluation_keys));
  ASSERT_TRUE(old.ok() && client.ok() && server.ok());
  const std::string gallery = Path("gallery");
  ASSERT_TRUE(CreateGallery(*server, gallery, {.seconds = 0, .bytes = 0}).ok());
  const std::vector<float> ann(24, 0.5f), bob(24, -0.5f);
  for (const auto& [face, name] : {std::pair{ann, "ann"}, std::pair{bob, "bob"}}) {
    ASSERT_TRUE(
        testing::EnrolNow(*server, *old, gallery, {{*client->Encrypt("m0", face, name), "m0"}})
            .ok());
  }
  ASSERT_TRUE(server->Fold(gallery).ok());
  const auto removed = Remove(*server, gallery, {"ann"});
  ASSERT_TRUE(removed.ok()) << removed.status();
  ASSERT_EQ(removed->leaving, 1u);
  const auto request = AskRenewal(*server, gallery);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_TRUE(old->Renew(*request, "request").ok());
  ASSERT_TRUE(RenewKey(*old, Path("new")).ok());
  const auto refused = old->Renew(*request, "request");
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("revoked"));
}

}  // namespace
}  // namespace heft
