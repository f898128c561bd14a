// SPDX-License-Identifier: Apache-2.0
// The key owner's service for a gallery in buckets: one decision from the replies of all buckets,
// and none from fewer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/files.h"
#include "heft/shards.h"
#include "service/access/jwt.h"
#include "service/decider/world_testing.h"

namespace heft::service {
namespace {

using testing::Bytes;
using ::testing::HasSubstr;
using testing::World;

constexpr uint32_t kBuckets = 3;

class DeciderShardsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    world_ = new World("decider_shards_test");
    gallery_ = world_->folder / "store:people";
    shards_ = *CreateShards(*world_->server, gallery_, kBuckets);
    EXPECT_TRUE(shards_->Save(ListFile()).ok());
    DeciderConfig config = world_->service.state()->config;
    config.sharded.push_back({"people", 0.01, 0.001, true, false, ListFile()});
    auto state = LoadDeciderState(std::move(config), &world_->service.passphrase);
    ASSERT_TRUE(state.ok()) << state.status();
    world_->service.set_state(*std::move(state));
    for (uint64_t person = 1; person <= 6; ++person) {
      const std::string name = Name(person);
      world_->Enrol(Bucket(shards_->BucketOf(name)), person, name);
      world_->Enrol(world_->visitors, person, name);
    }
    for (uint32_t b = 0; b < kBuckets; ++b) Approve(Bucket(b));
    Approve(world_->visitors);
  }
  static void TearDownTestSuite() { delete world_; }
  static std::string ListFile() { return world_->folder / "people.shards"; }
  static std::string Name(uint64_t person) { return "person-" + std::to_string(person); }
  static std::string Bucket(uint32_t b) { return BucketAddress(gallery_, b); }
  static void Approve(const std::string& gallery) {
    const auto answer = world_->Ask(ServiceRole::kMachine, "POST", "/v1/exchange/admissions",
                                    world_->Pending(gallery));
    ASSERT_EQ(answer.status, 200) << std::string(answer.body.begin(), answer.body.end());
    ASSERT_TRUE(
        world_->server->Activate(gallery, answer.body, "admission", world_->owner_key).ok());
  }
  // A bucket's reply to these files, signed for their client.
  static Bytes Sign(const std::string& gallery, const std::vector<SampleFile>& files,
                    const Bytes& scores) {
    Request request = *ReadRequest(files, nullptr, {});
    request.client = {7};
    return *SignReply(*GallerySigner(gallery), *Gallery::Open(gallery), request, 0,
                      world_->owner_key, scores);
  }
  static Bytes Search(const std::string& gallery, const std::vector<SampleFile>& files) {
    return Sign(gallery, files, *world_->server->Identify(*Gallery::Open(gallery), files));
  }
  static std::vector<Bytes> SearchAll(const std::vector<SampleFile>& files) {
    std::vector<Bytes> replies;
    for (uint32_t b = 0; b < kBuckets; ++b) replies.push_back(Search(Bucket(b), files));
    return replies;
  }
  static HttpResponse Decide(const std::vector<Bytes>& replies, const std::string& part = "reply",
                             ServiceRole role = ServiceRole::kRelyingParty) {
    std::vector<FormPart> parts;
    for (const Bytes& reply : replies)
      parts.push_back({part, "r.ct", "application/vnd.heft", reply});
    const auto [type, body] = FormBody(parts);
    return world_->Ask(role, "POST", "/v1/decisions", body, type);
  }
  static uint64_t Openings() { return world_->service.state()->owner.Budget()->openings; }
  static std::string Text(const HttpResponse& r) { return {r.body.begin(), r.body.end()}; }
  // Refused with a message that says what to do; nothing is opened or charged.
  static void ExpectRefused(const std::vector<Bytes>& replies, const std::string& why) {
    const uint64_t before = Openings();
    const HttpResponse answer = Decide(replies);
    EXPECT_EQ(answer.status, 409) << Text(answer);
    EXPECT_THAT(Text(answer), HasSubstr(why));
    EXPECT_EQ(Openings(), before);
  }

  static World* world_;
  static std::string gallery_;
  static std::optional<ShardList> shards_;
};
World* DeciderShardsTest::world_ = nullptr;
std::string DeciderShardsTest::gallery_;
std::optional<ShardList> DeciderShardsTest::shards_;

TEST_F(DeciderShardsTest, AllBucketsAreOneDecisionChargedOnce) {
  std::vector<Bytes> replies = SearchAll(world_->Files(2, ""));
  const uint64_t before = Openings();
  const HttpResponse first = Decide(replies);
  ASSERT_EQ(first.status, 200) << Text(first);
  const Json decision = Json::parse(first.body);
  EXPECT_EQ(decision["accepted"], true) << decision;
  EXPECT_EQ(decision["identity"], Name(2));
  EXPECT_EQ(decision["gallery_id"], HexString(shards_->Id()));
  EXPECT_EQ(decision["gallery_name"], "people");
  EXPECT_FALSE(decision.contains("generation"));
  ASSERT_EQ(decision["generations"].size(), kBuckets);
  for (uint32_t b = 0; b < kBuckets; ++b) {
    EXPECT_EQ(decision["generations"][b], Gallery::Open(Bucket(b))->generation());
  }
  EXPECT_FALSE(decision.contains("score"));
  EXPECT_EQ(Openings(), before + 1);
  const auto keys =
      KeySet::Parse(Text(world_->Ask(ServiceRole::kClient, "GET", "/v1/keys")), "keys");
  const auto claims = VerifyJws(decision["jws"].get<std::string>(), *keys, "heft-decision+jwt");
  ASSERT_TRUE(claims.ok()) << claims.status();
  EXPECT_EQ((*claims)["gallery_id"], HexString(shards_->Id()));
  // The answer was lost. The same replies in another order and form are the same question.
  std::ranges::reverse(replies);
  EXPECT_EQ(Decide(replies).body, first.body);
  EXPECT_EQ(Openings(), before + 1);
  EXPECT_EQ(Decide(replies, "reply", ServiceRole::kMachine).status, 409) << "somebody else asks";
  const HttpResponse stranger = Decide(SearchAll(world_->Files(77, "")));
  EXPECT_EQ(Json::parse(stranger.body)["accepted"], false);
  const std::string log = *ReadTextFile(world_->folder / "audit.log");
  EXPECT_THAT(log,
              HasSubstr("\"gallery_id\":\"" + HexString(shards_->Id()) + "\",\"generations\":["));
}

// The threshold counts the people of all buckets, so it equals that of one gallery with all of
// them.
TEST_F(DeciderShardsTest, TheThresholdIsForAllPeople) {
  const auto files = world_->Files(3, "");
  std::vector<ReplyFile> views;
  const std::vector<Bytes> replies = SearchAll(files);
  for (const Bytes& reply : replies) views.push_back({reply, "reply"});
  const KeyOwner& owner = world_->service.state()->owner;
  const auto whole = owner.ThresholdFor({views, &*shards_}, {.fpir = 0.01});
  const auto one = owner.ThresholdFor(Search(world_->visitors, files), "one", {.fpir = 0.01});
  const auto part = owner.ThresholdFor(replies[0], "part", {.fpir = 0.01});
  ASSERT_TRUE(whole.ok() && one.ok() && part.ok()) << whole.status() << one.status();
  EXPECT_EQ(whole->score, one->score);
  EXPECT_LT(part->score, whole->score);
}

TEST_F(DeciderShardsTest, APartIsNeverTakenForTheWhole) {
  const auto files = world_->Files(1, "");
  const std::vector<Bytes> sound = SearchAll(files);
  std::vector<Bytes> replies = {sound[0], sound[2]};
  ExpectRefused(replies, "no reply of 1");
  // The reply alone, as if its bucket were a whole gallery.
  const HttpResponse bare = world_->Ask(ServiceRole::kMachine, "POST", "/v1/decisions", sound[0]);
  EXPECT_EQ(bare.status, 409);
  EXPECT_THAT(Text(bare), HasSubstr("no reply of 1, 2"));
  replies = {sound[0], sound[0], sound[1]};
  ExpectRefused(replies, "a second reply of bucket 0");
  replies = sound;
  replies.push_back(sound[1]);
  ExpectRefused(replies, "a second reply of bucket 1");
  replies = sound;
  replies[1] = Search(Bucket(1), world_->Files(1, ""));  // a new encryption
  ExpectRefused(replies, "answers another request");
  replies[1] = Search(world_->visitors, files);
  ExpectRefused(replies, "no bucket of people");
  std::rotate(replies.begin(), replies.begin() + 1,
              replies.end());  // that gallery's rule is asked for first
  ExpectRefused(replies, "not a gallery in buckets");
  replies = {Search(world_->visitors, files), Search(world_->visitors, world_->Files(2, ""))};
  ExpectRefused(replies, "one reply at a time");
  replies = sound;
  replies[1] = Search(world_->elsewhere, files);
  ExpectRefused(replies, "of another gallery");
  replies[1] = *world_->server->Identify(*Gallery::Open(Bucket(1)), files);
  ExpectRefused(replies, "reply 1: not signed");
  const SigningKey stranger = *SigningKey::Generate();
  replies[1] = *SignReply(stranger, *Gallery::Open(Bucket(1)), *ReadRequest(files, nullptr, {}), 0,
                          world_->owner_key, replies[1]);
  const HttpResponse forged = Decide(replies);
  EXPECT_GE(forged.status, 400);
  EXPECT_LT(forged.status, 500);
  EXPECT_EQ(Decide({}).status, 400);
  EXPECT_EQ(Decide(sound, "file").status, 400);
  EXPECT_EQ(Decide(std::vector<Bytes>(kMaxBuckets + 1, Bytes{1})).status, 400);
  EXPECT_EQ(Decide(sound).status, 200) << "what was refused has spent nothing";
}

TEST_F(DeciderShardsTest, AnOlderBucketIsRefused) {
  const std::vector<Bytes> before = SearchAll(world_->Files(4, ""));
  std::string late;
  for (int i = 0; late.empty() || shards_->BucketOf(late) != 2; ++i)
    late = "late-" + std::to_string(i);
  world_->Enrol(Bucket(2), 40, late);
  Approve(Bucket(2));
  Approve(Bucket(2));  // none is pending: its state is signed
  ExpectRefused(before, "an older state");
  const Json now = Json::parse(Decide(SearchAll(world_->Files(40, ""))).body);
  EXPECT_EQ(now["identity"], late) << now;
}

TEST_F(DeciderShardsTest, AClaimIsAnsweredByItsBucketAlone) {
  const auto files = world_->Files(5, "");
  const uint32_t right = shards_->BucketOf(Name(5)), wrong = (right + 1) % kBuckets;
  const auto verify = [&](uint32_t b) {
    return Sign(Bucket(b), files,
                *world_->server->Verify(*Gallery::Open(Bucket(b)), files, Name(5)));
  };
  ExpectRefused({verify(wrong)}, "belongs into bucket");
  ExpectRefused({verify(right), verify(wrong)}, "its reply alone");
  const HttpResponse answer =
      world_->Ask(ServiceRole::kMachine, "POST", "/v1/decisions", verify(right));
  ASSERT_EQ(answer.status, 200) << Text(answer);
  const Json decision = Json::parse(answer.body);
  EXPECT_EQ(decision["accepted"], true);
  EXPECT_EQ(decision["claimed"], Name(5));
  EXPECT_EQ(decision["gallery_id"], HexString(shards_->Id()));
  EXPECT_EQ(decision["generation"], Gallery::Open(Bucket(right))->generation());
}

TEST_F(DeciderShardsTest, WhoBelongsElsewhereIsNotApproved) {
  std::string name;
  for (int i = 0; name.empty() || shards_->BucketOf(name) != 0; ++i)
    name = "lost-" + std::to_string(i);
  world_->Enrol(Bucket(1), 50, name);
  const auto answer = world_->Ask(ServiceRole::kMachine, "POST", "/v1/exchange/admissions",
                                  world_->Pending(Bucket(1)));
  ASSERT_EQ(answer.status, 200);
  const auto done =
      world_->server->Activate(Bucket(1), answer.body, "admission", world_->owner_key);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->activated, 0u);
  EXPECT_EQ(done->rejected, 1u);
  EXPECT_THAT(*ReadTextFile(world_->folder / "audit.log"),
              HasSubstr("\"rejection\":\"MISPLACED\""));
}

TEST_F(DeciderShardsTest, AGalleryHasOneRule) {
  DeciderConfig config = world_->service.state()->config;  // with its buckets in it
  EXPECT_EQ(config.RuledGalleries(), 4u);
  auto state = LoadDeciderState(config, &world_->service.passphrase);
  EXPECT_THAT(state.status().message(), HasSubstr("has two [[gallery]] entries"));
  ASSERT_TRUE(WriteFileAtomic(ListFile() + ".cut", shards_->Serialize().substr(2)).ok());
  for (GalleryRule& rule : config.sharded) rule.shard_list = ListFile() + ".cut";
  state = LoadDeciderState(config, &world_->service.passphrase);
  EXPECT_THAT(state.status().message(), HasSubstr("no shard list"));
}

}  // namespace
}  // namespace heft::service
