// SPDX-License-Identifier: Apache-2.0
// Checking a server: replies once more, states of a gallery that are signed, and what a server
// would try.
#include "heft/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>

#include "base/envelope.h"
#include "base/files.h"
#include "ckks/serialization.h"
#include "gallery/change.h"
#include "matcher/server_impl.h"
#include "owner/roles_testing.h"

namespace heft {
namespace {

using Bytes = std::vector<uint8_t>;
using ::testing::HasSubstr;
using StatusCode = absl::StatusCode;

class AuditTest : public testing::RolesTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(trust_.Add(Role::kKeyOwner, "owner", owner_->Signer()->public_key()).ok());
    ASSERT_TRUE(trust_.Add(Role::kServer, "server", signer_.public_key()).ok());
    Enrol(folder_, {{1, "ann"}, {2, "bob"}});
    ASSERT_TRUE(MakeAuditKey(folder_).ok());
  }
  std::vector<SampleFile> Probe(uint64_t person, bool identify) const {
    return Files(person, "probe", identify ? SampleUse::kIdentification : SampleUse::kEnrolment);
  }
  void Enrol(const std::string& folder,
             const std::vector<std::pair<uint64_t, std::string>>& people) const {
    for (const auto& [person, name] : people) {
      ASSERT_TRUE(server_->Enrol(folder, Files(person, name)).ok());
    }
    ASSERT_TRUE(Approve(folder).ok());
  }
  // Signs the state as it is.
  void SignState() const { ASSERT_TRUE(Approve(folder_).ok()); }
  Gallery Open(const std::string& folder = "") const {
    return *Gallery::Open(folder.empty() ? folder_ : folder);
  }
  std::string Copy(const std::string& name) const {
    std::filesystem::copy(folder_, temporary_ / name, std::filesystem::copy_options::recursive);
    return temporary_ / name;
  }
  Bytes Sign(std::span<const uint8_t> reply, const std::vector<SampleFile>& files,
             uint64_t row = 0) const {
    return *SignReply(signer_, Open(), *ReadRequest(files, nullptr, {}), row, {}, reply);
  }
  Bytes Seed(const Bytes& reply) const {
    auto seed = RevealSeed(folder_, signer_.public_key(), reply, "reply");
    EXPECT_TRUE(seed.ok()) << seed.status();
    return *std::move(seed);
  }
  absl::StatusOr<AuditFinding> Audit(const Bytes& reply, const Bytes& seed,
                                     const std::vector<SampleFile>& files,
                                     const std::string& folder = "") const {
    return AuditReply(*server_, Open(folder), trust_, {reply, seed, {files}});
  }
  void ExpectRight(const Bytes& reply, const std::vector<SampleFile>& files) const {
    const auto finding = Audit(reply, Seed(reply), files);
    ASSERT_TRUE(finding.ok()) << finding.status();
    EXPECT_TRUE(finding->right) << finding->reason;
  }
  void ExpectWrong(const absl::StatusOr<AuditFinding>& finding, const std::string& why) const {
    ASSERT_TRUE(finding.ok()) << finding.status();
    EXPECT_FALSE(finding->right);
    EXPECT_THAT(finding->reason, HasSubstr(why));
  }
  // What a server of no scruples would say: scores of another gallery or from other choices than it
  // says.
  const Server::Impl& inside() const { return Inside::Of(*server_); }
  SampleSet Set(const std::vector<SampleFile>& files) const { return *inside().Read(files); }
  Draw NewDraw() const { return *inside().NewDraw(Inside::Of(Open())); }
  Bytes Serialize(const EncryptedScores& scores) const {
    return SerializeScores(*inside().instance().context, scores);
  }
  absl::StatusOr<AuditFinding> AuditState(const std::string& folder) const {
    const auto state = ReadFile(folder + "/state.heft");
    if (!state.ok()) return state.status();
    return AuditGallery(*server_, Open(folder), *state, trust_, "state");
  }

  // Changes a store, as an attacker with write access can.
  void Change(const std::string& folder, const std::function<void(GalleryChange*)>& change) const {
    GalleryChange own = *GalleryChange::Begin(*Gallery::Impl::Open(folder), /*start=*/false);
    change(&own);
    ASSERT_TRUE(own.Commit().ok());
  }

  const SigningKey signer_ = *SigningKey::Generate();
  Trust trust_;
};

TEST_P(AuditTest, HonestRepliesAreMadeAgainBitForBit) {
  const auto probe = Probe(1, true);
  for (const bool names : {true, false}) {
    ProbeOptions options;
    options.with_identities = names;
    options.relinearise = names;
    ExpectRight(Sign(*server_->Identify(Open(), probe, options), probe), probe);
  }
  // A verification of a person who is enrolled, and of one who is not.
  const auto claim = Probe(2, false);
  for (const char* name : {"bob", "nobody"}) {
    ExpectRight(Sign(*server_->Verify(Open(), claim, name), claim), claim);
  }
}

TEST_P(AuditTest, EveryRowOfABatch) {
  std::vector<SampleFile> files;
  for (size_t m = 0; m < 2; ++m) {
    std::vector<float> rows;
    for (const uint64_t person : {1, 2, 3}) {
      const auto v = Vector(m, person);
      rows.insert(rows.end(), v.begin(), v.end());
    }
    Samples samples = {model_.modalities[m].name, rows};
    samples.use = SampleUse::kIdentification;
    files.push_back({*client_->Encrypt(samples), "samples"});
  }
  size_t replies = 0;
  ASSERT_TRUE(server_
                  ->IdentifyAll(Open(), files, {},
                                [&](size_t row, std::span<const uint8_t> reply) {
                                  ExpectRight(Sign(reply, files, row), files);
                                  ++replies;
                                  return absl::OkStatus();
                                })
                  .ok());
  EXPECT_EQ(replies, 3u);
}

// Probes of different clients, in one pass: a faulty one does not affect the others.
TEST_P(AuditTest, ProbesThatCameTogether) {
  std::vector<ProbeRequest> asked;
  for (const uint64_t person : {1, 2, 3, 1}) asked.push_back({Probe(person, true)});
  asked[1].files[0].bytes.resize(100);
  asked[3].options.with_identities = false;
  asked.push_back({Probe(2, true)});
  asked[4].options.where = {{"Site", {"berlin"}}};
  asked.push_back({Probe(2, true)});
  asked[5].options.where = {{"site", {}, 1, 2}};
  const auto requests = asked;
  const auto replies = server_->IdentifyTogether(Open(), std::move(asked));
  ASSERT_EQ(replies.size(), requests.size());
  for (const size_t i : {0, 2, 3, 5}) {
    ASSERT_TRUE(replies[i].ok()) << i << ": " << replies[i].status();
    ExpectRight(Sign(*replies[i], requests[i].files), requests[i].files);
  }
  EXPECT_EQ(replies[1].status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(replies[4].status().code(), StatusCode::kInvalidArgument);
}

// Attack: scores of other people's templates, under the root of the gallery that was approved.
TEST_P(AuditTest, AnotherBlockIsNoticed) {
  const std::string evil = temporary_ / "evil";
  Enrol(evil, {{7, "ann"}, {2, "bob"}});
  for (const bool identify : {true, false}) {
    const auto files = Probe(1, identify);
    const Draw draw = NewDraw();
    auto said = identify ? inside().IdentifyAs(Inside::Of(Open(evil)), Set(files), {}, draw)
                         : inside().VerifyAs(Inside::Of(Open(evil)), Set(files), "ann", {}, draw);
    // Enrolments wait in no order that could be told beforehand.
    if (identify) said->identities = Open().identities();
    const Bytes reply = Sign(Serialize(*said), files);
    ExpectWrong(Audit(reply, Seed(reply), files), "its scores");
    // It says so: another root.
    EncryptedScores honest = *said;
    honest.origin.root = Open(evil).id() == Open().id() ? Digest{} : Inside::Of(Open(evil)).root();
    const Bytes frank = Sign(Serialize(honest), files);
    ExpectWrong(Audit(frank, Seed(frank), files), "another root");
  }
}

// Attack: a block is left out, so no person in it can be found.
TEST_P(AuditTest, ASkippedBlockIsNoticed) {
  const auto files = Probe(1, true);
  EncryptedScores said = *inside().IdentifyAs(Inside::Of(Open()), Set(files), {}, NewDraw());
  if (said.replies[0].brief) {
    std::ranges::fill(said.replies[0].brief->packed, uint8_t{0});
  } else {
    for (ring::RnsPoly& part : said.replies[0].scores.parts) std::ranges::fill(part.values(), 0);
  }
  const Bytes reply = Sign(Serialize(said), files);
  ExpectWrong(Audit(reply, Seed(reply), files), "its scores of block 0");
  said.identities[0] = "somebody else";
  const Bytes renamed = Sign(Serialize(said), files);
  ExpectWrong(Audit(renamed, Seed(renamed), files), "names other templates");
}

// Attack: a probe of both is said to have had a face alone, to be judged by a lower threshold.
TEST_P(AuditTest, OtherModalitiesAreNoticed) {
  const auto files = Probe(1, true);
  EncryptedScores said = *inside().IdentifyAs(Inside::Of(Open()), Set(files), {}, NewDraw());
  EXPECT_EQ(said.modalities, 3u);
  said.modalities = 1;
  const Bytes reply = Sign(Serialize(said), files);
  ExpectWrong(Audit(reply, Seed(reply), files), "other modalities");
  auto face = files;
  face.pop_back();
  ExpectRight(Sign(*server_->Identify(Open(), face), face), face);
}

// Attack: the reply says that an enrolled person does not answer, or that expiry was judged at a
// time long ago or in the future.
TEST_P(AuditTest, SomebodyWhoIsLeftOutIsNoticed) {
  const auto files = Probe(1, true);
  const EncryptedScores honest =
      *inside().IdentifyAs(Inside::Of(Open()), Set(files), {}, NewDraw());
  const uint64_t now = static_cast<uint64_t>(std::time(nullptr));
  for (const uint64_t time : {now, now - 2 * kLongestRequest, now + 1000}) {
    EncryptedScores said = honest;
    Restriction restriction = {PlaceSet::All(said.templates), time, {}};
    restriction.answering.Remove(0);
    Restrict(*inside().instance().context, std::move(restriction), &said);
    const Bytes reply = Sign(Serialize(said), files);
    ExpectWrong(Audit(reply, Seed(reply), files),
                time == now ? "or others answer" : "at another time");
  }
}

TEST_P(AuditTest, AnotherSeedIsNoticed) {
  const auto files = Probe(1, false);
  const Bytes reply = Sign(*server_->Verify(Open(), files, "ann"), files);
  const Bytes other = Sign(*server_->Verify(Open(), files, "ann"), files);
  ExpectWrong(Audit(reply, Seed(other), files), "not the one that the reply commits to");
  // A seed of its own with the right nonce.
  const ReplyOrigin origin = *OriginOf(reply, "reply");
  ByteWriter writer;
  writer.Raw(origin.nonce);
  writer.Raw(heft::Seed{1});
  ExpectWrong(Audit(reply, SealEnvelope("SEED", 1, writer.bytes()), files),
              "not the one that the reply commits to");
}

// Attack: noise, or a factor, that does not come from the seed could carry anything.
TEST_P(AuditTest, NoiseThatIsNotFromTheSeedIsNoticed) {
  const auto files = Probe(1, false);
  Draw draw = NewDraw();
  const Gallery gallery = Open();
  const EncryptedScores honest =
      *inside().VerifyAs(Inside::Of(gallery), Set(files), "ann", {}, draw);
  draw.seed = ReplySeed::Revealed({1});
  EncryptedScores said = *inside().VerifyAs(Inside::Of(gallery), Set(files), "ann", {}, draw);
  Bytes reply = Sign(Serialize(said), files);
  ExpectWrong(Audit(reply, Seed(reply), files), "proof of the probe's norm");
  said.norm = honest.norm;
  reply = Sign(Serialize(said), files);
  ExpectWrong(Audit(reply, Seed(reply), files), "the noise around them");
}

TEST_P(AuditTest, WhatCannotBeJudgedIsAnError) {
  const auto files = Probe(1, true);
  const Bytes reply = Sign(*server_->Identify(Open(), files), files);
  const Bytes seed = Seed(reply);
  EXPECT_THAT(Audit(reply, seed, Probe(1, true)).status().message(), HasSubstr("another request"));
  Trust nobody;
  EXPECT_FALSE(AuditReply(*server_, Open(), nobody, {reply, seed, {files}}).ok());
  EXPECT_THAT(
      RevealSeed(folder_, SigningKey::Generate()->public_key(), reply, "r").status().message(),
      HasSubstr("not signed by this server"));
  // The gallery has gone on; the copy of that time still tells.
  const std::string before = Copy("before");
  Enrol(folder_, {{3, "cay"}});
  const auto late = Audit(reply, seed, files);
  EXPECT_EQ(late.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(late.status().message(), HasSubstr("copy of that time"));
  const auto finding = Audit(reply, seed, files, before);
  ASSERT_TRUE(finding.ok()) << finding.status();
  EXPECT_TRUE(finding->right) << finding->reason;
  // Without an audit key there is nothing to reveal.
  const std::string bare = temporary_ / "bare";
  Enrol(bare, {{1, "ann"}});
  const Bytes uncommitted = Sign(*server_->Identify(Open(bare), files), files);
  EXPECT_THAT(Audit(uncommitted, seed, files, bare).status().message(),
              HasSubstr("commits to no seed"));
  EXPECT_FALSE(RevealSeed(bare, signer_.public_key(), uncommitted, "r").ok());
}

TEST_P(AuditTest, AnAuditKeyThatOthersMayReadIsRefused) {
  namespace fs = std::filesystem;
  const fs::path key = folder_ + "/audit.key";
  EXPECT_EQ(fs::status(key).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fs::permissions(key, fs::perms::others_read, fs::perm_options::add);
  EXPECT_EQ(server_->Identify(Open(), Probe(1, true)).status().code(),
            StatusCode::kFailedPrecondition);
}

TEST(ChooseForAuditTest, OneInSoMany) {
  EXPECT_TRUE(ChooseForAudit(0, 3).empty());
  EXPECT_EQ(ChooseForAudit(1, 100), std::vector<size_t>{0});
  EXPECT_EQ(ChooseForAudit(4, 1), (std::vector<size_t>{0, 1, 2, 3}));
  std::vector<size_t> times(20);
  for (int i = 0; i < 1000; ++i) {
    const auto chosen = ChooseForAudit(20, 10);
    ASSERT_EQ(chosen.size(), 2u);
    ASSERT_LT(chosen[0], chosen[1]);
    for (const size_t c : chosen) ++times.at(c);
  }
  // 100 of each are expected, with a deviation of 9.5.
  EXPECT_GT(*std::ranges::min_element(times), 30u);
  EXPECT_LT(*std::ranges::max_element(times), 170u);
}

// Who learns of one reply whether a probe that wraps has passed, or its seed, can do nothing with
// it; and the same probe, asked again, has a reply that the key owner has not opened.
TEST_P(AuditTest, EveryReplyHasAFactorOfItsOwn) {
  const auto files = Probe(1, true);
  KeyOwner owner =
      roles_.NewOwner(BudgetLimits{.scores = 1000, .decisions = 1000, .client_bits = 100000});
  const auto norm = [&] {
    const Bytes reply = *server_->Identify(Open(), files);
    const auto scores = ParseScores(*inside().instance().context, reply, "reply");
    ByteWriter writer;
    ckks::WriteCiphertext(writer, *inside().instance().context, scores->norm);
    const auto opened = owner.Open(reply, "reply");
    EXPECT_TRUE(opened.ok() && !opened->candidates.empty()) << opened.status();
    return std::pair(scores->origin.nonce, writer.Take());
  };
  const auto first = norm(), second = norm();
  EXPECT_NE(first.first, second.first);
  EXPECT_NE(first.second, second.second);
  ASSERT_TRUE(std::filesystem::remove(folder_ + "/audit.key"));
  const auto third = norm(), fourth = norm();
  EXPECT_EQ(third.first, Digest{}) << "without audit.key";
  EXPECT_NE(third.second, fourth.second);
}

TEST_P(AuditTest, AStateIsSignedAndEveryChangeOfItNoticed) {
  ASSERT_TRUE(server_->Fold(folder_).ok());
  ExpectWrong(AuditState(folder_), "it is not signed yet");
  SignState();
  const auto signed_now = AuditState(folder_);
  ASSERT_TRUE(signed_now.ok()) << signed_now.status();
  EXPECT_TRUE(signed_now->right) << signed_now->reason;
  // Attack: a block of another gallery in the place of this one's.
  const std::string swapped = Copy("swapped"), other = temporary_ / "other";
  Enrol(other, {{7, "ann"}, {8, "bob"}});
  ASSERT_TRUE(server_->Fold(other).ok());
  const auto block = [](const Gallery::Impl& gallery) {
    return BlockKey(gallery.number(), gallery.head().epoch, 0);
  };
  const Gallery from = Open(other);
  const Gallery::Impl& lent = Inside::Of(from);
  Change(swapped, [&](GalleryChange* change) {
    const auto bytes = lent.reader().Get(Table::kBlocks, block(lent));
    EXPECT_TRUE(change->writer().Put(Table::kBlocks, block(change->before()), **bytes).ok());
  });
  ExpectWrong(AuditState(swapped), "exchanged");
  // The server itself does not match it either.
  EXPECT_EQ(server_->Identify(Open(swapped), Probe(1, true)).status().code(),
            StatusCode::kDataLoss);
  // Another name in the roster, and then also everywhere else: the root tells.
  const std::string renamed = Copy("renamed"), relabelled = Copy("relabelled");
  const uint64_t ann = Inside::Of(Open()).Find("ann")->places.at(0);
  const auto index = [ann](GalleryChange* change) {
    const auto name = [&](const char* identity) {
      return NameKey(change->number(), change->head().id, identity);
    };
    EXPECT_TRUE(change->writer().Delete(Table::kNames, name("ann")).ok());
    EXPECT_TRUE(change->writer().Put(Table::kNames, name("ano"), SerializeNamed({0, {ann}})).ok());
  };
  Change(renamed, [&](GalleryChange* change) {
    heft::Run run = *ReadRun(change->writer(), change->number(), 0);
    run[ann].identity = "ano";
    const StoreKey key = RunKey(change->number(), 0);
    EXPECT_TRUE(change->writer().Put(Table::kRoster, key, SerializeRun(run)).ok());
    index(change);
  });
  ExpectWrong(AuditState(renamed), "roster does not match");
  Change(relabelled, [&](GalleryChange* change) {
    (*change->Place(ann))->identity = "ano";
    index(change);
  });
  ExpectWrong(AuditState(relabelled), "another root");
  // Someone else's word.
  Trust stranger;
  ASSERT_TRUE(stranger.Add(Role::kKeyOwner, "x", SigningKey::Generate()->public_key()).ok());
  EXPECT_FALSE(
      AuditGallery(*server_, Open(), *ReadFile(folder_ + "/state.heft"), stranger, "state").ok());
}

TEST_P(AuditTest, RepliesOfAnOlderOrAnotherGalleryAreNotOpened) {
  const auto files = Probe(1, true);
  const std::string before = Copy("before");
  Enrol(folder_, {{3, "cay"}});
  SignState();
  // Attack: the gallery of before, in which a person was not yet, or still, enrolled.
  const auto old = owner_->Open(*server_->Identify(Open(before), files), "reply");
  EXPECT_EQ(old.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(old.status().message(), HasSubstr("older state"));
  // Nor is it signed again, unless the key owner knows why.
  const Bytes pending = *server_->Pending(Open(before));
  EXPECT_THAT(owner_->Approve(pending, "pending").status().message(), HasSubstr("older state"));
  // Attack: the generation that was signed, of other blocks.
  const Draw draw = NewDraw();
  EncryptedScores said = *inside().IdentifyAs(Inside::Of(Open()), Set(files), {}, draw);
  said.origin.root[0] ^= 1;
  EXPECT_THAT(owner_->Open(Serialize(said), "reply").status().message(), HasSubstr("its root"));
  EXPECT_EQ(owner_->Budget()->identifications, 0u) << "what is refused is not charged";
  const auto good = owner_->Open(*server_->Identify(Open(), files), "reply");
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->candidates[0].identity, "ann");

  ApprovalPolicy policy;
  policy.put_back = true;
  ASSERT_TRUE(owner_->Approve(pending, "pending", policy).ok());
  const auto back = owner_->Decide(*server_->Identify(Open(before), files), "reply", 0.5);
  EXPECT_TRUE(back.ok()) << back.status();
}

// Attack: a state without a signature. States later than the signed one are accepted unless the key
// owner requires a signature.
TEST_P(AuditTest, AnOwnerMayTakeSignedStatesAlone) {
  const auto files = Probe(1, true);
  EXPECT_TRUE(owner_->Decide(*server_->Identify(Open(), files), "reply", 0.5).ok());
  owner_->RequireSignedGallery();
  const Bytes reply = *server_->Identify(Open(), Probe(2, true));
  EXPECT_THAT(owner_->Open(reply, "reply").status().message(), HasSubstr("nobody has signed"));
  SignState();
  const auto opened = owner_->Decide(reply, "reply", 0.5);
  EXPECT_TRUE(opened.ok()) << opened.status();
  EncryptedScores mute = *ParseScores(*inside().instance().context,
                                      *server_->Identify(Open(), Probe(2, true)), "reply");
  mute.origin = {};
  EXPECT_THAT(owner_->Open(Serialize(mute), "reply").status().message(), HasSubstr("does not say"));
}

// The signed statement around a reply and the reply itself must agree.
TEST_P(AuditTest, ARelabelledReplyIsRefused) {
  ASSERT_TRUE(owner_->RequireSigned(trust_).ok());
  const auto files = Probe(1, true);
  EncryptedScores said = *inside().IdentifyAs(Inside::Of(Open()), Set(files), {}, NewDraw());
  said.origin.generation += 1;
  const Bytes reply = Sign(Serialize(said), files);
  EXPECT_THAT(owner_->Open(reply, "reply").status().message(), HasSubstr("than it is signed for"));
}

INSTANTIATE_TEST_SUITE_P(Profiles, AuditTest, ::testing::Values("standard"));

}  // namespace
}  // namespace heft
