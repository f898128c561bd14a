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

}  // namespace
}  // namespace heft::service
