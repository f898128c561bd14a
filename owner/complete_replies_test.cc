// SPDX-License-Identifier: Apache-2.0
// A gallery in buckets, at the key owner: one search like that of one gallery, and nothing less
// than the whole.
#include "owner/complete_replies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "heft/audit.h"
#include "heft/gallery_admin.h"
#include "heft/shards.h"
#include "matcher/server_impl.h"
#include "owner/roles_testing.h"

namespace heft {
namespace {

using Bytes = std::vector<uint8_t>;
using ::testing::HasSubstr;

constexpr uint32_t kBuckets = 4, kEmpty = 3;  // one bucket is empty, and has to answer
constexpr BudgetLimits kLimits = {.scores = 1000, .decisions = 1000, .client_bits = 1000000};

class CompleteRepliesTest : public testing::RolesTest {
 protected:
  CompleteRepliesTest() : RolesTest(kLimits) {}
  void SetUp() override {
    std::vector<GalleryId> ids;
    for (uint32_t b = 0; b < kBuckets; ++b) ids.push_back(*CreateGallery(*server_, Bucket(b)));
    shards_ = *ShardList::Make("people", ids);
    ASSERT_TRUE(MakeAuditKey(Bucket(0)).ok());  // as servers do: each reply differs from another
    for (uint64_t seed = 1; people_.size() < 9; ++seed) {
      const std::string name = "person-" + std::to_string(seed);
      if (shards_->BucketOf(name) == kEmpty) continue;
      people_.push_back(name);
      Enrol(Bucket(shards_->BucketOf(name)), seed, name);
      Enrol(folder_ + ":one", seed, name);
    }
    for (uint32_t b = 0; b < kBuckets; ++b) ActivateIn(Bucket(b));
    ActivateIn(folder_ + ":one");
    Trust trust;
    ASSERT_TRUE(trust.Add(Role::kServer, "matcher", signer_.public_key()).ok());
    ASSERT_TRUE(owner_->RequireSigned(trust).ok());
  }
  std::string Bucket(uint32_t b) const { return BucketAddress(folder_ + ":people", b); }
  static uint64_t SeedOf(const std::string& name) { return std::stoul(name.substr(7)); }
  void Enrol(const std::string& gallery, uint64_t seed, const std::string& name) const {
    ASSERT_TRUE(server_->Enrol(gallery, Files(seed, name)).ok());
  }
  void ActivateIn(const std::string& gallery) const {
    const KeyOwner owner = roles_.NewOwner();
    ASSERT_TRUE(testing::ActivateAll(*server_, owner, gallery).ok());
  }
  // What a server answers to these files, signed for their client.
  Bytes Sign(const std::string& gallery, const std::vector<SampleFile>& files, const Bytes& scores,
             const SignerKey& client) const {
    Request request = *ReadRequest(files, nullptr, {});
    request.client = client;
    return *SignReply(signer_, *Gallery::Open(gallery), request, 0, owner_->Signer()->public_key(),
                      scores);
  }
  Bytes Ask(const std::string& gallery, const std::vector<SampleFile>& files,
            const SignerKey& client = {7}) const {
    return Sign(gallery, files, *server_->Identify(*Gallery::Open(gallery), files), client);
  }
  std::vector<SampleFile> Probe(uint64_t seed) const {
    return Files(seed, "probe", SampleUse::kIdentification);
  }
  std::vector<Bytes> AskAll(const std::vector<SampleFile>& files) const {
    std::vector<Bytes> replies;
    for (uint32_t b = 0; b < kBuckets; ++b) replies.push_back(Ask(Bucket(b), files));
    return replies;
  }
  static std::vector<ReplyFile> View(const std::vector<Bytes>& replies) {
    static const char* const kNames[] = {"reply 0", "reply 1", "reply 2", "reply 3", "reply 4"};
    std::vector<ReplyFile> files;
    for (size_t i = 0; i < replies.size(); ++i) files.push_back({replies[i], kNames[i]});
    return files;
  }
  absl::StatusOr<OpenedScores> OpenAll(const std::vector<Bytes>& replies) const {
    return owner_->Open({View(replies), &*shards_});
  }
  void ExpectRefused(const std::vector<Bytes>& replies, const std::string& why) const {
    const auto opened = OpenAll(replies);
    EXPECT_EQ(opened.status().code(), absl::StatusCode::kFailedPrecondition) << opened.status();
    EXPECT_THAT(opened.status().message(), HasSubstr(why));
    EXPECT_FALSE(owner_->Decide({View(replies), &*shards_}, {.score = 0.9}).ok());
    EXPECT_FALSE(owner_->ThresholdFor({View(replies), &*shards_}, {.fpir = 0.1}).ok());
  }
  void ExpectNothingCharged() const {
    EXPECT_EQ(owner_->Budget()->openings, 0u);
    EXPECT_EQ(owner_->Budget()->identities, 0u);
  }

  const SigningKey signer_ = *SigningKey::Generate();
  std::optional<ShardList> shards_;
  std::vector<std::string> people_;
};

TEST_P(CompleteRepliesTest, BucketsAreOneSearch) {
  const std::string whom = people_[4];
  const auto probe = Probe(SeedOf(whom));
  const auto one = roles_.NewOwner(kLimits).Open(Ask(folder_ + ":one", probe), "one");
  ASSERT_TRUE(one.ok()) << one.status();
  std::vector<Bytes> replies = AskAll(probe);
  std::ranges::reverse(replies);  // each says itself which bucket it is of
  const auto all = OpenAll(replies);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->searched, people_.size());
  ASSERT_EQ(all->candidates.size(), one->candidates.size());
  EXPECT_EQ(all->candidates[0].identity, whom);
  for (const Candidate& c : one->candidates) {
    const auto same = std::ranges::find(all->candidates, c.identity, &Candidate::identity);
    ASSERT_NE(same, all->candidates.end()) << c.identity;
    EXPECT_NEAR(same->score, c.score, 5e-3) << c.identity;
  }
  EXPECT_TRUE(std::ranges::is_sorted(all->candidates, std::greater(), &Candidate::score));
}

// It costs one search, however many buckets answer.
// One file for all of them: each goes where it belongs, and nothing comes twice.
TEST_P(CompleteRepliesTest, EnrolsIntoBuckets) {
  const std::string gallery = temporary_ / "store:crowd";
  const auto shards = CreateShards(*server_, gallery, 3);
  ASSERT_TRUE(shards.ok()) << shards.status();
  const auto same = CreateShards(*server_, gallery, 3);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(*same, *shards) << "nobody is in them yet";
  EXPECT_EQ(CreateShards(*server_, gallery, 2).status().code(), absl::StatusCode::kAlreadyExists);
  std::vector<std::string> names;
  for (uint64_t i = 0; i < 8; ++i) names.push_back("crowd-" + std::to_string(i));
  std::vector<SampleFile> files;
  for (size_t m = 0; m < 2; ++m) {
    std::vector<float> vectors;
    for (uint64_t i = 0; i < names.size(); ++i) {
      const std::vector<float> v = Vector(m, 100 + i);
      vectors.insert(vectors.end(), v.begin(), v.end());
    }
    auto bytes = client_->Encrypt(
        {.modality = model_.modalities[m].name, .values = vectors, .labels = names});
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    files.push_back({*std::move(bytes), "crowd"});
  }
  const auto done = EnrolInShards(*server_, gallery, *shards, files);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->brought, names.size());
  const auto again = EnrolInShards(*server_, gallery, *shards, files);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->repeated);
  size_t waiting = 0;
  for (uint32_t b = 0; b < 3; ++b) {
    const auto entries = PendingEnrolments(BucketAddress(gallery, b));
    ASSERT_TRUE(entries.ok()) << entries.status();
    for (const auto& entry : *entries) {
      for (const std::string& name : entry.identities) {
        EXPECT_EQ(shards->BucketOf(name), b) << name;
      }
      waiting += entry.identities.size();
    }
  }
  EXPECT_EQ(waiting, names.size());
  EXPECT_EQ(CreateShards(*server_, gallery, 3).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_FALSE(OpenBuckets(gallery, *shards_).ok()) << "another gallery's list";
}

TEST_P(CompleteRepliesTest, ASearchIsChargedOnce) {
  const KeyOwner other = roles_.NewOwner(kLimits);
  ASSERT_TRUE(other.Decide(Ask(folder_ + ":one", Probe(1)), "one", 0.9).ok());
  const auto decision = owner_->Decide({View(AskAll(Probe(1))), &*shards_}, {.score = 0.9});
  ASSERT_TRUE(decision.ok()) << decision.status();
  const BudgetUse one = *other.Budget(), all = *owner_->Budget();
  EXPECT_EQ(all.identifications, 1u);
  EXPECT_EQ(all.openings, one.openings);
  EXPECT_EQ(all.decisions, one.decisions);
  EXPECT_EQ(all.clients.at(0).slots, one.clients.at(0).slots);
  EXPECT_EQ(all.clients.at(0).client, SignerKey{7});
}

TEST_P(CompleteRepliesTest, APartIsNeverTakenForTheWhole) {
  const auto probe = Probe(1);
  const std::vector<Bytes> sound = AskAll(probe);
  std::vector<Bytes> replies(sound.begin(), sound.end() - 1);
  ExpectRefused(replies, "no reply of 3");
  ExpectRefused({}, "no reply of 0, 1, 2, 3");
  replies.push_back(Ask(Bucket(1), probe));
  ExpectRefused(replies, "a second reply of bucket 1 of people");
  replies.back() = sound[0];
  ExpectRefused(replies, "a second reply of bucket 0 of people");
  replies.back() = Ask(folder_ + ":one", probe);
  ExpectRefused(replies, "no bucket of people");
  replies = sound;
  replies.push_back(Ask(folder_ + ":one", probe));
  ExpectRefused(replies, "no bucket of people");
  ExpectNothingCharged();
  EXPECT_TRUE(OpenAll(sound).ok()) << "nothing was spent by what was refused";
}

TEST_P(CompleteRepliesTest, RepliesToDifferentRequestsAreNotOneAnswer) {
  const auto probe = Probe(1);
  std::vector<Bytes> replies = AskAll(probe);
  const Bytes sound = replies[2];
  replies[2] = Ask(Bucket(2), Probe(1));  // of the same person, encrypted anew
  ExpectRefused(replies, "reply 2: answers another request than reply 0");
  replies[2] = Ask(Bucket(2), probe, {8});
  ExpectRefused(replies, "reply 2: answers another request than reply 0");
  // Not signed: no signature names its request.
  const Bytes bare = *server_->Identify(*Gallery::Open(Bucket(2)), probe);
  replies[2] = bare;
  ExpectRefused(replies, "reply 2: not signed");
  const KeyOwner unchecked = roles_.NewOwner(kLimits);
  EXPECT_THAT(unchecked.Open({View(replies), &*shards_}).status().message(),
              HasSubstr("does not say which request"));
  // One bucket's scores, signed as another's.
  replies[2] = Sign(Bucket(2), probe, *server_->Identify(*Gallery::Open(Bucket(1)), probe), {7});
  ExpectRefused(replies, "made from another gallery");
  replies[2] = Sign(Bucket(1), probe, *server_->Identify(*Gallery::Open(Bucket(1)), probe), {7});
  ExpectRefused(replies, "a second reply of bucket 1");
  ExpectNothingCharged();
  replies[2] = sound;
  EXPECT_TRUE(OpenAll(replies).ok());
}

// All buckets must have seen the same probe: of one that says it lacked a modality the scores are
// judged otherwise.
TEST_P(CompleteRepliesTest, BucketsThatSawOtherModalitiesAreRefused) {
  const auto probe = Probe(1);
  std::vector<Bytes> replies = AskAll(probe);
  const ckks::Context& context = *Inside::Of(*server_).instance().context;
  const Bytes honest = *server_->Identify(*Gallery::Open(Bucket(2)), probe);
  EncryptedScores said = *ParseScores(context, honest, "reply");
  EXPECT_EQ(said.modalities, 3u);
  said.modalities = 1;
  replies[2] = Sign(Bucket(2), probe, SerializeScores(context, said), {7});
  ExpectRefused(replies, "reply 2: says that the probe had other modalities than reply 0");
  ExpectNothingCharged();
}

// An older state of a bucket is refused once a newer one is signed.
TEST_P(CompleteRepliesTest, AnOlderBucketIsRefused) {
  const auto probe = Probe(50);
  const std::vector<Bytes> before = AskAll(probe);
  std::string name;
  for (int i = 0; name.empty() || shards_->BucketOf(name) != 2; ++i) {
    name = "late-" + std::to_string(i);
  }
  Enrol(Bucket(2), 50, name);
  const KeyOwner signing = roles_.NewOwner();  // takes requests that nobody signed
  const auto pending = server_->Pending(*Gallery::Open(Bucket(2)));
  ASSERT_TRUE(pending.ok());
  const auto approved = signing.Approve(*pending, "pending", {.shards = *shards_});
  ASSERT_TRUE(approved.ok()) << approved.status();
  ASSERT_TRUE(approved->verdicts.at(0).approved) << approved->verdicts[0].reason;
  ASSERT_TRUE(server_
                  ->Activate(Bucket(2), approved->signed_admission, "admission",
                            signing.Signer()->public_key())
                  .ok());
  // The state after it is signed, in this owner's journal.
  const auto state = server_->Pending(*Gallery::Open(Bucket(2)));
  ASSERT_TRUE(signing.Approve(*state, "pending", {.shards = *shards_}).ok());
  EXPECT_THAT(signing.Open({View(before), &*shards_}).status().message(),
              HasSubstr("an older state"));
  EXPECT_EQ(signing.Budget()->openings, 0u);
  const auto now = signing.Open({View(AskAll(probe)), &*shards_});
  ASSERT_TRUE(now.ok()) << now.status();
  EXPECT_EQ(now->candidates[0].identity, name);
}

TEST_P(CompleteRepliesTest, EachReplyIsOpenedOnce) {
  const auto probe = Probe(1);
  const std::vector<Bytes> replies = AskAll(probe);
  ASSERT_TRUE(OpenAll(replies).ok());
  for (const Bytes& reply : replies) {
    EXPECT_THAT(owner_->Open(reply, "one of them").status().message(), HasSubstr("opened before"));
  }
  std::vector<Bytes> again = AskAll(probe);
  const Bytes fresh = again[3];
  again[3] = replies[3];
  ExpectRefused(again, "opened before");
  EXPECT_EQ(owner_->Budget()->openings, 1u);
  again[3] = fresh;
  const auto opened = OpenAll(again);
  EXPECT_TRUE(opened.ok()) << opened.status() << ": the others were not spent";
}

TEST_P(CompleteRepliesTest, AVerificationIsOfTheClaimedIdentitysBucket) {
  const std::string whom = people_[0];
  const uint32_t right = shards_->BucketOf(whom), wrong = (right + 1) % kEmpty;
  const auto files = Files(SeedOf(whom), "probe");
  const auto verify = [&](uint32_t b) {
    const auto scores = server_->Verify(*Gallery::Open(Bucket(b)), files, whom);
    return Sign(Bucket(b), files, *scores, {7});
  };
  const std::vector<Bytes> elsewhere = {verify(wrong)};
  EXPECT_THAT(OpenAll(elsewhere).status().message(), HasSubstr("belongs into bucket"));
  EXPECT_THAT(OpenAll({verify(right), verify(wrong)}).status().message(),
              HasSubstr("its reply alone"));
  ExpectNothingCharged();
  const auto opened = OpenAll({verify(right)});
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_GT(opened->candidates.at(0).score, 0.9);
}

TEST_P(CompleteRepliesTest, WhoBelongsElsewhereIsNoticed) {
  const std::string whom = people_[0];
  const uint32_t right = shards_->BucketOf(whom), wrong = (right + 1) % kEmpty;
  Enrol(Bucket(wrong), SeedOf(whom), whom);
  const KeyOwner signing = roles_.NewOwner();
  const auto pending = *server_->Pending(*Gallery::Open(Bucket(wrong)));
  const auto judged = signing.Approve(pending, "pending", {.shards = *shards_});
  ASSERT_TRUE(judged.ok()) << judged.status();
  EXPECT_FALSE(judged->verdicts.at(0).approved);
  EXPECT_THAT(judged->verdicts[0].reason,
              HasSubstr("belongs into bucket " + std::to_string(right) + " of people"));
  const auto stranger = server_->Pending(*Gallery::Open(folder_ + ":one"));
  EXPECT_THAT(signing.Approve(*stranger, "pending", {.shards = *shards_}).status().message(),
              HasSubstr("no bucket of people"));
  // Activated without the list, the search says so.
  ActivateIn(Bucket(wrong));
  ExpectRefused(AskAll(Probe(1)), "\"" + whom + "\" stands in bucket " + std::to_string(wrong));
  ExpectNothingCharged();
}

TEST_P(CompleteRepliesTest, WhoIsThereIsAskedForUnderOtherNames) {
  const std::string whom = people_[2];
  const auto decide = [&](const std::string& label, bool others) {
    return owner_->Decide(
        {View(AskAll(Files(SeedOf(whom), label, SampleUse::kIdentification))), &*shards_},
        {.score = 0.85, .others = others});
  };
  EXPECT_EQ(decide(whom, false)->identity, whom);
  const auto other = decide(whom, true);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_FALSE(other->accepted);
  EXPECT_EQ(decide("", true).status().code(), absl::StatusCode::kInvalidArgument);
  // The same person under another name.
  std::string twin;
  for (int i = 0; twin.empty() || shards_->BucketOf(twin) == kEmpty; ++i) {
    twin = "twin-" + std::to_string(i);
  }
  Enrol(Bucket(shards_->BucketOf(twin)), SeedOf(whom), twin);
  ActivateIn(Bucket(shards_->BucketOf(twin)));
  EXPECT_EQ(decide(whom, true)->identity, twin);
  EXPECT_EQ(decide(twin, true)->identity, whom);
}

// Canaries are people of their buckets, and their relation holds from bucket to bucket.
TEST_P(CompleteRepliesTest, CanariesStandInAllBuckets) {
  // A triple that stands in two buckets: one that is in one bucket alone knows nothing of others.
  std::vector<std::string> names;
  for (int i = 0; names.size() < 3; ++i) {
    const std::string name = "canary-" + std::to_string(i);
    if (shards_->BucketOf(name) == (names.empty() ? 0u : 1u)) names.push_back(name);
  }
  const CanarySet set = *owner_->MakeCanaries(1, names);
  for (const CanarySet::Person& person : set.people) {
    const std::string bucket = Bucket(shards_->BucketOf(person.label));
    ASSERT_TRUE(
        server_->Enrol(bucket, Encrypt(person.vectors, person.label, SampleUse::kEnrolment)).ok());
    ActivateIn(bucket);
  }
  ASSERT_TRUE(owner_->RequireCanaries(set.file, "canaries").ok());
  const auto opened = OpenAll(AskAll(Probe(1)));
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->refusal, "");
  EXPECT_EQ(opened->searched, people_.size());
  // A server that puts another probe to one bucket than it says.
  const auto probe = Probe(1), other = Probe(2);
  std::vector<Bytes> replies = AskAll(probe);
  const uint32_t b = shards_->BucketOf(set.people[0].label);
  replies[b] = Sign(Bucket(b), probe, *server_->Identify(*Gallery::Open(Bucket(b)), other), {7});
  const auto mixed = OpenAll(replies);
  ASSERT_TRUE(mixed.ok()) << mixed.status();
  EXPECT_THAT(mixed->refusal, HasSubstr("scores of canaries"));
}

INSTANTIATE_TEST_SUITE_P(Profiles, CompleteRepliesTest, ::testing::Values("standard"));

// Noise that hides the key is of the whole search: there is room for all buckets' ciphertexts, and
// it is one of the openings that it is for.
class FloodedCompleteRepliesTest : public CompleteRepliesTest {};

TEST_P(FloodedCompleteRepliesTest, NoiseIsOfOneOpening) {
  const std::string whom = people_[1];
  const auto opened = OpenAll(AskAll(Probe(SeedOf(whom))));
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->candidates.at(0).identity, whom);
  EXPECT_EQ(owner_->Budget()->openings, 1u);
}

INSTANTIATE_TEST_SUITE_P(Profiles, FloodedCompleteRepliesTest, ::testing::Values("flooded"));

}  // namespace
}  // namespace heft
