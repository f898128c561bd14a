// SPDX-License-Identifier: Apache-2.0
// The key owner's service where something goes wrong: a matcher that lies, a log that cannot be
// written, a key that does not sign.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/files.h"
#include "service/decider/world_testing.h"

namespace heft::service {
namespace {

using testing::Bytes;
using ::testing::HasSubstr;
using testing::Json;

class DeciderFaultsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    world_ = new testing::World("decider_faults_test");
    world_->Enrol(world_->visitors, 1, "ann");
    const HttpResponse answer = AskAdmission(world_->Pending(world_->visitors));
    EXPECT_TRUE(
        world_->server->Admit(world_->visitors, answer.body, "admission", world_->owner_key).ok());
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
  // Canaries that the gallery lacks: nothing that it says is believed.
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
  EXPECT_EQ(said["decision"], "reject");
  EXPECT_EQ(names(said), names(Json::parse(stranger.body)));
  EXPECT_EQ(said.dump().find("canar"), std::string::npos) << said;
  EXPECT_EQ(ReadTextFile(world_->folder / "audit.log")->find("canar"), std::string::npos);
  ASSERT_TRUE(std::filesystem::remove(config.key.secret_key + ".canaries"));
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
  // More than a line of the audit log holds.
  constexpr size_t kPeople = 280;
  for (size_t i = 0; i < kPeople; ++i) {
    world_->Enrol(crowd, 1000 + i, std::to_string(1000 + i) + std::string(245, 'n'));
  }
  std::vector<SampleFile> half = world_->Files(999, "flawed");
  half.resize(1);
  ASSERT_TRUE(world_->server->Enrol(crowd, half).ok());
  const AuditLog& log = world_->base->audit_log();
  const uint64_t from = log.head().lines + 1;
  const HttpResponse answer = AskAdmission(world_->Pending(crowd));
  ASSERT_EQ(answer.status, 200) << std::string(answer.body.begin(), answer.body.end());
  const auto done = world_->server->Admit(crowd, answer.body, "admission", world_->owner_key);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->admitted, kPeople);
  size_t admitted = 0;
  Json rejected = Json::array();
  for (const Json& line : LinesOf(log, from, "admission")) {
    EXPECT_LT(line.dump().size(), 32u << 10);
    if (line.contains("admitted")) admitted += line["admitted"].size();
    if (line.contains("rejected"))
      rejected.insert(rejected.end(), line["rejected"].begin(), line["rejected"].end());
  }
  EXPECT_EQ(admitted, kPeople);
  // And of a template that is not sound no norm.
  EXPECT_EQ(rejected.dump(), R"([{"identity":"flawed","reason":"UNSOUND"}])");
}

TEST_F(DeciderFaultsTest, APersonsWordOnManyIsWrittenDown) {
  constexpr size_t kEntries = 3000;
  AdmissionInquiry inquiry;
  inquiry.gallery = Gallery::Open(world_->staff)->id();
  Json admit = Json::array();
  for (size_t i = 0; i < kEntries; ++i) {
    const std::string name = "person " + std::to_string(i);
    const Digest entry = HashBytes({reinterpret_cast<const uint8_t*>(name.data()), name.size()});
    inquiry.enrolments.push_back({entry, {{name, false}}, false});
    admit.push_back(HexString(entry));
  }
  ASSERT_TRUE(world_->service.queue->Offer(inquiry, 1).ok());
  const AuditLog& log = world_->base->audit_log();
  const uint64_t from = log.head().lines + 1;
  const Json said =
      world_->AskJson(ServiceRole::kOperator, "POST",
                      "/v1/admissions/" + HexString(inquiry.gallery), {{"admit", admit}});
  EXPECT_EQ(said["admitted"], kEntries);
  size_t written = 0;
  for (const Json& line : LinesOf(log, from, "admission-word")) written += line["admit"].size();
  EXPECT_EQ(written, kEntries);
  inquiry.enrolments.clear();
  ASSERT_TRUE(world_->service.queue->Offer(inquiry, 1).ok());
}

}  // namespace
}  // namespace heft::service
