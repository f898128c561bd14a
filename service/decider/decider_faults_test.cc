// SPDX-License-Identifier: Apache-2.0
// The key owner's service where something goes wrong: a matcher that lies, a log that cannot be
// written, a key that does not sign.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <set>

#include "absl/strings/match.h"
#include "base/files.h"
#include "heft/desk.h"
#include "service/access/relying.h"
#include "service/decider/world_testing.h"

namespace heft::service {
namespace {

using testing::Bytes;
using ::testing::HasSubstr;

class DeciderFaultsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    world_ = new testing::World("decider_faults_test");
    world_->Enrol(world_->visitors, 1, "ann");
    const HttpResponse answer = AskAdmission(world_->Pending(world_->visitors));
    EXPECT_TRUE(
        world_->server->Activate(world_->visitors, answer.body, "admission", world_->owner_key)
            .ok());
  }
  static void TearDownTestSuite() { delete world_; }
  static HttpResponse AskAdmission(const Bytes& request) {
    return world_->Ask(ServiceRole::kMachine, "POST", "/v1/exchange/admissions", request);
  }
  HttpResponse Decide(const Bytes& reply) {
    return world_->Ask(ServiceRole::kMachine, "POST", "/v1/decisions", reply);
  }
  // As a reload does.
  void Load(DeciderConfig config) {
    auto state = LoadDeciderState(std::move(config), &world_->service.passphrase);
    ASSERT_TRUE(state.ok()) << state.status();
    world_->service.set_state(*std::move(state));
  }
  // As a restart does, with the audit log as it was left.
  void OpenAuditLogAgain() {
    world_->base.reset();
    auto base = DaemonBase::Create(world_->service.state()->config.common);
    ASSERT_TRUE(base.ok()) << base.status();
    world_->base = *std::move(base);
    world_->service.base = world_->base.get();
    RegisterDeciderMetrics(&world_->service);
  }
  uint64_t Openings() const { return world_->service.state()->owner.Budget()->openings; }
  static testing::World* world_;
};
testing::World* DeciderFaultsTest::world_ = nullptr;

TEST_F(DeciderFaultsTest, ARefusalIsARejectionLikeAnyOther) {
  const DeciderConfig config = world_->service.state()->config;
  const auto names = [](const Json& json) {
    std::set<std::string> out;
    for (const auto& [name, value] : json.items()) out.insert(name);
    return out;
  };
  const HttpResponse stranger = Decide(world_->Search(world_->visitors, 77));
  ASSERT_EQ(stranger.status, 200);
  // The gallery lacks the expected canaries, so its replies are rejected.
  {
    auto owner = KeyOwner::Load(world_->model, config.key.secret_key,
                                world_->service.passphrase.Source(config.key));
    ASSERT_TRUE(owner.ok()) << owner.status();
    const auto canaries = owner->MakeCanaries(1, {"c1", "c2", "c3"});
    ASSERT_TRUE(canaries.ok()) << canaries.status();
    ASSERT_TRUE(owner->RegisterCanaries(canaries->file, "canaries").ok());
  }
  Load(config);
  ::testing::internal::CaptureStderr();
  const HttpResponse refused = Decide(world_->Search(world_->visitors, 1));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("a canary is missing"));
  ASSERT_EQ(refused.status, 200) << std::string(refused.body.begin(), refused.body.end());
  const Json said = Json::parse(refused.body);
  EXPECT_EQ(said["accepted"], false);
  EXPECT_EQ(names(said), names(Json::parse(stranger.body)));
  EXPECT_EQ(said.dump().find("canar"), std::string::npos) << said;
  EXPECT_EQ(ReadTextFile(world_->folder / "audit.log")->find("canar"), std::string::npos);
  ASSERT_TRUE(std::filesystem::remove(config.key.secret_key + ".canaries"));
  Load(config);
}

// Key folder and anchor are put back together. The matcher has the journal's end from the decider's
// answers, and its replies show it.
TEST_F(DeciderFaultsTest, ADeciderThatWasPutBackDecidesNothing) {
  namespace fs = std::filesystem;
  const DeciderConfig config = world_->service.state()->config;
  const auto copy = [](const std::string& from, const std::string& to) {
    fs::remove_all(to);
    fs::copy(from, to, fs::copy_options::recursive);
  };
  const std::string keys = world_->folder / "keys", anchors = world_->folder / "anchors";
  const std::string saved_keys = world_->folder / "saved-keys";
  const std::string saved_anchors = world_->folder / "saved-anchors";
  copy(keys, saved_keys);
  copy(anchors, saved_anchors);
  const HttpResponse answer = Decide(world_->Search(world_->visitors, 1));
  ASSERT_EQ(answer.status, 200);
  std::string head;
  for (const auto& [name, value] : answer.headers) {
    if (absl::EqualsIgnoreCase(name, kJournalHeadHeader)) head = value;
  }
  ASSERT_NE(head, "");
  const auto bytes = DecodeBase64(head);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const auto before = Openings();
  const Trust trust = *Trust::Load(config.key.trust);
  const Bytes evaluation = *ReadFile(keys + "/evaluation.keys");
  const auto checked = CheckKeys(&trust, {evaluation, "evaluation.keys"});
  ASSERT_TRUE(checked.ok()) << checked.status();
  const auto served = TrustedServer::Create(world_->model, trust, *checked);
  ASSERT_TRUE(served.ok()) << served.status();
  const auto taken = served->TakeHead(world_->visitors, *bytes, "head");
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_TRUE(*taken);
  const std::string newest_keys = world_->folder / "newest-keys";
  const std::string newest_anchors = world_->folder / "newest-anchors";
  copy(keys, newest_keys);
  copy(anchors, newest_anchors);
  copy(saved_keys, keys);
  copy(saved_anchors, anchors);
  Load(config);
  const uint64_t old = Openings();
  EXPECT_LT(old, before);
  const HttpResponse refused = Decide(world_->Search(world_->visitors, 1));
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(std::string(refused.body.begin(), refused.body.end()),
              HasSubstr("put back to an older state"));
  EXPECT_EQ(Openings(), old) << "nothing is charged";
  EXPECT_NE(AskAdmission(world_->Pending(world_->visitors)).status, 200);
  copy(newest_keys, keys);
  copy(newest_anchors, anchors);
  Load(config);
  EXPECT_EQ(Decide(world_->Search(world_->visitors, 1)).status, 200) << "the newest serves again";
}

// With a model without thresholds nothing is decided or charged; log and answer say what to do.
TEST_F(DeciderFaultsTest, AModelWithoutThresholdsDecidesNothing) {
  const DeciderConfig config = world_->service.state()->config;
  Model bare = world_->model;
  bare.tables.clear();
  DeciderConfig without = config;
  without.key.model = world_->folder / "bare.heft";
  ASSERT_TRUE(WriteFileAtomic(without.key.model, bare.Serialize()).ok());
  without.likelihood = false;
  ::testing::internal::CaptureStderr();
  Load(without);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("heft calibrate"));
  const uint64_t openings = Openings();
  const HttpResponse answer = Decide(world_->Search(world_->visitors, 1));
  EXPECT_EQ(answer.status / 100, 4);
  EXPECT_THAT(std::string(answer.body.begin(), answer.body.end()), HasSubstr("heft calibrate"));
  EXPECT_EQ(Openings(), openings);
  Load(config);
}

// Lines of the audit log from `from` on with this event.
std::vector<Json> LinesOf(const AuditLog& log, uint64_t from, const std::string& event) {
  std::vector<Json> out;
  const auto lines = log.Read(from, log.head().lines);
  EXPECT_TRUE(lines.ok()) << lines.status();
  for (const Json& line : *lines) {
    if (line["event"] == event) out.push_back(line);
  }
  return out;
}

TEST_F(DeciderFaultsTest, ABacklogOfAnyLengthIsWrittenDown) {
  const std::string crowd = world_->folder / "store:crowd";
  DeciderConfig config = world_->service.state()->config;
  config.galleries[*CreateGallery(*world_->server, crowd)] = {"crowd", 0.01, 0.001, true, false};
  Load(config);
  // More than a line of the audit log holds. Two of these templates are unsound under this model.
  constexpr size_t kPeople = 256;
  for (size_t i = 0; i < kPeople; ++i) {
    world_->Enrol(crowd, 1000 + i, std::to_string(1000 + i) + std::string(251, 'n'));
  }
  const AuditLog& log = world_->base->audit_log();
  const uint64_t from = log.head().lines + 1;
  const HttpResponse answer = AskAdmission(world_->Pending(crowd));
  ASSERT_EQ(answer.status, 200) << std::string(answer.body.begin(), answer.body.end());
  const auto done = world_->server->Activate(crowd, answer.body, "admission", world_->owner_key);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->activated + done->rejected, kPeople);
  EXPECT_GT(done->rejected, 0u);
  size_t approved = 0, rejected = 0;
  for (const Json& line : LinesOf(log, from, "admission")) {
    EXPECT_LT(line.dump().size(), 32u << 10);
    if (line.contains("approved")) approved += line["approved"].size();
    if (!line.contains("rejected")) continue;
    rejected += line["rejected"].size();
    // The line holds no norm.
    for (const Json& one : line["rejected"]) EXPECT_EQ(one["rejection"], "UNSOUND");
  }
  EXPECT_EQ(approved, done->activated);
  EXPECT_EQ(rejected, done->rejected);
}

TEST_F(DeciderFaultsTest, APersonsWordOnManyIsWrittenDown) {
  constexpr size_t kEntries = 3000;
  AdmissionInquiry inquiry;
  inquiry.gallery_id = Gallery::Open(world_->staff)->id();
  Json approve = Json::array();
  for (size_t i = 0; i < kEntries; ++i) {
    const std::string name = "person " + std::to_string(i);
    const Digest entry = HashBytes({reinterpret_cast<const uint8_t*>(name.data()), name.size()});
    inquiry.enrolments.push_back({entry, {{.identity = name}}, false});
    approve.push_back(HexString(entry));
  }
  ASSERT_TRUE(world_->service.queue->Offer(inquiry, 1).ok());
  const AuditLog& log = world_->base->audit_log();
  const uint64_t from = log.head().lines + 1;
  const Json said =
      world_->AskJson(ServiceRole::kOperator, "POST",
                      "/v1/admissions/" + HexString(inquiry.gallery_id), {{"approve", approve}});
  EXPECT_EQ(said["approved"], kEntries);
  size_t written = 0;
  for (const Json& line : LinesOf(log, from, "admission-word")) written += line["approve"].size();
  EXPECT_EQ(written, kEntries);
  inquiry.enrolments.clear();
  ASSERT_TRUE(world_->service.queue->Offer(inquiry, 1).ok());
}

// FullDisk: limits all files to the size of the audit log, the longest file, plus `left` bytes.
class FullDisk {
 public:
  FullDisk(AuditLog& log, const std::string& path, uint64_t left) {
    for (int i = 0; i < 16; ++i) {
      EXPECT_TRUE(log.Append({{"event", "pad"}, {"text", std::string(60000, 'x')}}).ok());
    }
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {std::filesystem::file_size(path) + left, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_;
};

TEST_F(DeciderFaultsTest, NothingIsOpenedThatCannotBeWrittenDown) {
  const Bytes reply = world_->Search(world_->visitors, 1);
  const uint64_t openings = Openings();
  {
    const FullDisk full(world_->base->audit_log(), world_->folder / "audit.log", 0);
    EXPECT_EQ(Decide(reply).status, 503);
    EXPECT_EQ(Decide(reply).status, 503);
  }
  EXPECT_EQ(Openings(), openings);
  OpenAuditLogAgain();
  EXPECT_EQ(Decide(reply).status, 200);
  EXPECT_EQ(Openings(), openings + 1);
}

TEST_F(DeciderFaultsTest, WhatWasOpenedIsToldOnceItIsWrittenDown) {
  const Bytes reply = world_->Search(world_->visitors, 1);
  const uint64_t openings = Openings();
  {
    // Room for the line that announces the opening, but not for the line with its result.
    const FullDisk full(world_->base->audit_log(), world_->folder / "audit.log", 450);
    EXPECT_EQ(Decide(reply).status, 503);
  }
  EXPECT_EQ(Openings(), openings + 1) << "it was opened";
  OpenAuditLogAgain();
  const HttpResponse answer = Decide(reply);
  ASSERT_EQ(answer.status, 200) << std::string(answer.body.begin(), answer.body.end());
  EXPECT_EQ(Json::parse(answer.body)["accepted"], true);
  EXPECT_EQ(Decide(reply).body, answer.body);
  EXPECT_EQ(Openings(), openings + 1) << "and is charged once";
}

// The last test, because it spends her budget. Three clients claim her name with a stranger's
// probes; she passes one door more than a hundred times, until the door's day is spent.
TEST_F(DeciderFaultsTest, GarbageDoesNotKeepAPersonOut) {
  const Gallery gallery = *Gallery::Open(world_->visitors);
  HttpResponse last;
  const auto claims = [&](const SignerKey& client, uint64_t person, int most, bool accepted) {
    const std::vector<SampleFile> files = world_->Files(person, "");
    for (int i = 0; i < most; ++i) {
      const auto scores = world_->server->Verify(gallery, files, "ann");
      EXPECT_TRUE(scores.ok()) << scores.status();
      last = Decide(world_->Signed(world_->visitors, *scores, client));
      if (last.status != 200) return i;
      EXPECT_EQ(Json::parse(last.body)["accepted"], accepted);
    }
    return most;
  };
  for (uint8_t client = 1; client <= 3; ++client) {
    EXPECT_EQ(claims(SignerKey{client}, 77, 20, false), 16);
    EXPECT_EQ(last.status, 429) << std::string(last.body.begin(), last.body.end());
    EXPECT_THAT(std::string(last.body.begin(), last.body.end()),
                HasSubstr("Other clients are not affected"));
  }
  EXPECT_EQ(claims(SignerKey{9}, 1, 140, true), 128) << "half of 256, with a likelihood each";
  EXPECT_EQ(last.status, 429) << std::string(last.body.begin(), last.body.end());
  for (const auto& [name, value] : last.headers) {
    EXPECT_FALSE(absl::EqualsIgnoreCase(name, "Retry-After")) << value;
  }
}

}  // namespace
}  // namespace heft::service
