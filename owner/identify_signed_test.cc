// SPDX-License-Identifier: Apache-2.0
// One probe in several galleries: fused once where that changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "gallery/remembered.h"
#include "gallery/scores.h"
#include "heft/audit.h"
#include "heft/gallery_admin.h"
#include "heft/shards.h"
#include "owner/roles_testing.h"
#include "store/folder.h"
#include "store/scheme.h"

namespace heft {
namespace {

using Bytes = std::vector<uint8_t>;

// Three buckets in one store, and another store between them; person n stands in gallery n.
class IdentifySignedTest : public testing::RolesTest {
 protected:
  void SetUp() override {
    const std::string people = folder_ + ":people";
    galleries_ = {BucketAddress(people, 0), BucketAddress(people, 1), temporary_ / "elsewhere",
                  BucketAddress(people, 2)};
    for (size_t i = 0; i < galleries_.size(); ++i) {
      ASSERT_TRUE(CreateGallery(*server_, galleries_[i]).ok());
      ASSERT_TRUE(MakeAuditKey(galleries_[i]).ok());
      ASSERT_TRUE(server_->Enrol(galleries_[i], Files(i, "person-" + std::to_string(i))).ok());
      const KeyOwner owner = roles_.NewOwner();
      ASSERT_TRUE(testing::ActivateAll(*server_, owner, galleries_[i]).ok());
    }
    ASSERT_TRUE(trust_.Add(Role::kServer, "matcher", key_.public_key()).ok());
  }
  std::vector<SampleFile> Probe(uint64_t person) const {
    return Files(person, "probe", SampleUse::kIdentification);
  }
  ReplySigner SignerOf(const Request& request) const {
    return {.key = &key_, .request = &request, .audience = owner_->Signer()->public_key()};
  }
  void ExpectAsAudited(const std::string& name, const Gallery& gallery, const Bytes& reply,
                       const std::vector<SampleFile>& probe) const {
    const auto seed = RevealSeed(name, key_.public_key(), reply, name);
    ASSERT_TRUE(seed.ok()) << seed.status();
    const auto found = AuditReply(*server_, gallery, trust_, {reply, *seed, {probe}});
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_TRUE(found->right) << name << ": " << found->reason;
  }

  std::vector<std::string> galleries_;
  const SigningKey key_ = *SigningKey::Generate();
  Trust trust_;
};

// Each reply is, bit for bit, what an audit makes of it, which fuses the probe for it alone.
// Buckets of one store share a draw, another store has one of its own.
TEST_P(IdentifySignedTest, EachReplyIsThatOfItsGalleryAlone) {
  const auto probe = Probe(1);
  const Request request = *ReadRequest(probe, nullptr, {});
  std::vector<Digest> nonces;
  const absl::Status asked = server_->IdentifySigned(
      galleries_.size(), [&](size_t i) { return Gallery::Open(galleries_[i]); }, probe, {},
      SignerOf(request),
      [&](const Gallery& gallery, const Bytes& reply) -> absl::Status {
        const size_t i = nonces.size();
        nonces.push_back(OriginOf(reply, "reply")->nonce);
        EXPECT_EQ(OriginOf(reply, "reply")->gallery, gallery.id());
        ExpectAsAudited(galleries_[i], gallery, reply, probe);
        const auto opened = roles_.NewOwner().Open(reply, "reply");
        EXPECT_TRUE(opened.ok()) << opened.status();
        if (!opened.ok()) return opened.status();
        EXPECT_EQ(opened->candidates[0].identity, "person-" + std::to_string(i));
        EXPECT_EQ(opened->candidates[0].score > 0.9, i == 1) << opened->candidates[0].score;
        return absl::OkStatus();
      });
  ASSERT_TRUE(asked.ok()) << asked;
  ASSERT_EQ(nonces.size(), galleries_.size());
  EXPECT_EQ(nonces[0], nonces[1]);
  EXPECT_NE(nonces[1], nonces[2]);
  EXPECT_NE(nonces[2], nonces[3]);
}

// The result is that of Identify and SignReply, if a probe's draw is the same.
TEST_P(IdentifySignedTest, IsIdentifyAndSignReply) {
  const auto probe = Probe(0);
  const Request request = *ReadRequest(probe, nullptr, {});
  ProbeOptions options;
  options.with_identities = false;
  const Gallery gallery = *Gallery::Open(galleries_[0]);
  Bytes together;
  ASSERT_TRUE(server_
                  ->IdentifySigned(
                      1, [&](size_t) { return Gallery::Open(galleries_[0]); }, probe, options,
                      SignerOf(request),
                      [&](const Gallery&, Bytes reply) {
                        together = std::move(reply);
                        return absl::OkStatus();
                      })
                  .ok());
  const Bytes scores = *server_->Identify(gallery, probe, options);
  const Bytes apart = *SignReply(key_, gallery, request, 0, owner_->Signer()->public_key(), scores);
  EXPECT_EQ(together.size(), apart.size());
  const auto in_one = ReadSigned(together, "one"), in_other = ReadSigned(apart, "other");
  ASSERT_TRUE(in_one.ok()) << in_one.status();
  EXPECT_EQ(in_one->statement.request, in_other->statement.request);
  EXPECT_EQ(in_one->statement.audience, in_other->statement.audience);
  EXPECT_EQ(in_one->statement.gallery, in_other->statement.gallery);
  EXPECT_EQ(in_one->statement.kind, in_other->statement.kind);
  if (OriginOf(together, "one")->nonce == OriginOf(apart, "other")->nonce) {
    EXPECT_TRUE(std::ranges::equal(in_one->file, in_other->file));
  }
}

TEST_P(IdentifySignedTest, EndsWithTheFirstError) {
  const auto probe = Probe(0);
  const Request request = *ReadRequest(probe, nullptr, {});
  size_t taken = 0;
  const auto open = [&](size_t i) {
    return Gallery::Open(i == 1 ? temporary_ / "nowhere" : galleries_[0]);
  };
  const auto use = [&](const Gallery&, const Bytes&) {
    ++taken;
    return absl::OkStatus();
  };
  EXPECT_TRUE(
      absl::IsNotFound(server_->IdentifySigned(3, open, probe, {}, SignerOf(request), use)));
  EXPECT_EQ(taken, 1u);
  EXPECT_TRUE(absl::IsInvalidArgument(server_->IdentifySigned(1, open, probe, {}, {}, use)));
  EXPECT_EQ(taken, 1u);
}

// A database that went back to an earlier state, played by a store in a folder: it is not signed
// for, whatever other gallery the probe is asked with.
TEST_P(IdentifySignedTest, NothingIsSignedOfAnEarlierState) {
  namespace fs = std::filesystem;
  RegisterScheme(kPostgresScheme,
                 [this](const std::string& name, const std::string& local,
                        StoreMode mode) -> absl::StatusOr<std::shared_ptr<Store>> {
                   HEFT_RETURN_IF_ERROR(MakeDirectories(local));
                   return OpenFolderStore(temporary_ / name, mode);
                 });
  const std::string name = fs::path(temporary_.path()).filename();
  const std::string gallery = "postgres:" + name;
  const KeyOwner owner = roles_.NewOwner();
  ASSERT_TRUE(CreateGallery(*server_, gallery).ok());
  ASSERT_TRUE(server_->Enrol(gallery, Files(5, "ann")).ok());
  ASSERT_TRUE(testing::ActivateAll(*server_, owner, gallery).ok());
  ASSERT_TRUE((*OpenStore(gallery, StoreMode::kRead))->Copy(temporary_ / "then", {}).ok());
  ASSERT_TRUE(server_->Enrol(gallery, Files(6, "bob")).ok());
  ASSERT_TRUE(testing::ActivateAll(*server_, owner, gallery).ok());
  const Gallery newest = *Gallery::Open(gallery);
  ASSERT_TRUE(RememberGeneration(newest.id(), newest.generation()).ok()) << "as after an erasure";
  const auto probe = Probe(5);
  const Request request = *ReadRequest(probe, nullptr, {});
  size_t taken = 0;
  const auto ask = [&] {
    taken = 0;
    return server_->IdentifySigned(
        2, [&](size_t i) { return Gallery::Open(i == 0 ? galleries_[0] : gallery); }, probe, {},
        SignerOf(request),
        [&](const Gallery&, const Bytes&) {
          ++taken;
          return absl::OkStatus();
        });
  };
  EXPECT_EQ(ask(), absl::OkStatus());
  EXPECT_EQ(taken, 2u);
  fs::remove_all(temporary_ / name);
  fs::copy(temporary_ / "then", temporary_ / name);
  const absl::Status refused = ask();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), ::testing::HasSubstr("--accept-older"));
  EXPECT_EQ(taken, 1u);
  RegisterScheme(kPostgresScheme, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Profiles, IdentifySignedTest, ::testing::Values("standard"));

}  // namespace
}  // namespace heft
