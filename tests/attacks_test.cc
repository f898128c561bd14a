// SPDX-License-Identifier: Apache-2.0
// Attacks that once worked, with the real programs and default flags. HostileClientTest
// and BudgetTest have further attacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_format.h"
#include "tests/hostile_probes.h"
#include "tests/hostile_world.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::HasSubstr;

class AttacksTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { world_ = new World; }
  static void TearDownTestSuite() { delete world_; }

  // One sample of each modality of a stranger. Samples 4i to 4i + 3 are of one person.
  static std::vector<Vectors> Stranger(size_t sample) {
    std::vector<Vectors> vectors;
    for (const Vectors& modality : world_->strangers()) vectors.push_back({modality[sample]});
    return vectors;
  }
  static std::vector<Bytes> Samples(size_t sample) {
    return world_->Encrypt(Stranger(sample), SampleUse::kEnrolment);
  }
  static Outcome Verify(const std::vector<Bytes>& samples, const std::string& claimed) {
    std::string why;
    const auto replies = world_->Ask(world_->Send(samples), claimed, &why);
    return replies.empty() ? Outcome::kTurnedAway
                           : world_->Decide(replies[0], true, "1e-2").outcome;
  }
  static bool NobodyWaits() {
    const auto [answer, released] = world_->Activate();
    return answer["approved"] == 0 && answer["rejected"].empty() && released["pending"] == 0;
  }

  inline static World* world_ = nullptr;
};

// In 0.1, a stranger's second sample verified as the victim, with score 0.787 instead of 0.280.
TEST_F(AttacksTest, AStrangerUnderAVictimsName) {
  const std::string& victim = world_->enrolled()[0];
  ASSERT_NE(Verify(Samples(1), victim), Outcome::kAccepted) << "he is a stranger";
  const Finished brought = world_->Bring(Samples(0), {"--identity", victim});
  EXPECT_EQ(brought.exit_code, kInput);
  EXPECT_THAT(brought.err, HasSubstr("needs the registrar's authorisation"));
  EXPECT_TRUE(NobodyWaits());
  EXPECT_EQ(Verify(Samples(1), victim), Outcome::kRejected);
  // A new name may wait, but it is not matched before the key owner approves it.
  ASSERT_EQ(world_->Bring(Samples(0), {"--identity", "stranger"}).exit_code, 0);
  EXPECT_NE(Verify(Samples(0), "stranger"), Outcome::kAccepted);
  EXPECT_EQ(world_->Activate().first["approved"], 1);
  EXPECT_EQ(Verify(Samples(0), "stranger"), Outcome::kAccepted);
}

// A stranger who brings a new name first does not block it for its person.
TEST_F(AttacksTest, APendingEnrolmentReservesNoName) {
  ASSERT_EQ(world_->Bring(Samples(4), {"--identity", "carol"}).exit_code, 0);
  const nlohmann::json first = world_->Pending();
  ASSERT_EQ(first["pending"].size(), 1u);
  const std::string squatter = first["pending"][0]["entry"];
  ASSERT_EQ(world_->Bring(Samples(8), {"--identity", "carol"}).exit_code, 0);
  const auto [undecided, both] = world_->Activate();
  EXPECT_EQ(undecided["approved"], 0);
  EXPECT_EQ(both["pending"], 2);
  ASSERT_EQ(undecided["contested"].size(), 1u) << undecided;
  EXPECT_EQ(undecided["contested"][0]["identity"], "carol");
  std::string carols;
  for (const auto& claim : undecided["contested"][0]["claims"]) {
    EXPECT_NE(claim["client"], "") << "the client's name in the trust file, or its key";
    if (claim["entry"] != squatter) carols = claim["entry"];
  }
  EXPECT_NE(Verify(Samples(8), "carol"), Outcome::kAccepted);
  const auto [answer, released] = world_->Activate({"--entry", carols});
  EXPECT_EQ(answer["approved"], 1);
  EXPECT_EQ(released["pending"], 1);
  EXPECT_EQ(Verify(Samples(8), "carol"), Outcome::kAccepted);
  EXPECT_NE(Verify(Samples(5), "carol"), Outcome::kAccepted);
  // The squatter's is now another template of an enrolled person.
  const auto [rest, none] = world_->Activate();
  ASSERT_EQ(rest["rejected"].size(), 1u);
  EXPECT_EQ(rest["rejected"][0]["rejection"], "ENROLLED");
  EXPECT_EQ(none["pending"], 0);
}

// In 0.1, this template came first for four of eight other people's probes, with scores up to
// 2.000.
TEST_F(AttacksTest, ATemplateOfLengthTwo) {
  Attacker attacker(*world_);
  int number = 0;
  for (const double length : {2.0, -2.0, 1.3, 100.0}) {
    const Finished brought = world_->Bring(attacker.LongTemplate(length),
                                           {"--identity", "mallory-" + std::to_string(++number)});
    ASSERT_EQ(brought.exit_code, 0) << brought.err;
  }
  const auto [answer, released] = world_->Activate();
  EXPECT_EQ(answer["approved"], 0);
  ASSERT_EQ(answer["rejected"].size(), 4u) << answer;
  for (const auto& verdict : answer["rejected"]) {
    EXPECT_THAT(verdict["identity"].get<std::string>(), HasSubstr("mallory"));
  }
  EXPECT_EQ(released["activated"], 0);
  EXPECT_EQ(released["rejected"], 4);
  EXPECT_TRUE(NobodyWaits()) << "nothing is left of them";
  EXPECT_EQ(Verify(attacker.LongTemplate(1), "mallory-1"), Outcome::kRejected);
}

// In 0.1, the message was "unknown identity", with another exit code. An unknown identity now gets
// the same kind of answer as an enrolled one.
TEST_F(AttacksTest, AVerificationDoesNotTellWhoIsEnrolled) {
  std::vector<nlohmann::json> printed;
  std::vector<std::string> decided;
  const std::string gallery = Must(kHeft, {"inspect", (*world_)("gallery")})["gallery_id"];
  for (const std::string& claimed : {world_->enrolled()[0], std::string("nobody-100")}) {
    ASSERT_EQ(claimed.size(), world_->enrolled()[0].size()) << "or the files' sizes would tell";
    const std::string out = (*world_)("answer.ct");
    std::filesystem::remove(out);
    Args args = world_->ServerArgs("verify", world_->Send(Samples(20)));
    args.insert(args.end(), {"--identity", claimed, "--out", out, "--json"});
    const Finished run = RunProgram(kServer, args);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.err, "");
    printed.push_back(nlohmann::json::parse(run.out));
    EXPECT_EQ(printed.back().at("claimed"), claimed);
    printed.back().erase("claimed");
    const Finished decision =
        RunProgram(kHeft, {"decrypt", "--model", (*world_)("model.heft"), "--secret-key",
                           (*world_)("keys/secret.key"), "--in", out, "--fmr", "1e-3"});
    EXPECT_EQ(decision.exit_code, 0) << decision.err;
    decided.push_back(decision.out);
  }
  EXPECT_EQ(printed[0], printed[1]) << "sizes among them";
  const double threshold =
      world_->model().ThresholdFor(1e-3, world_->model().AllModalities())->score;
  const auto rejects = [&](const std::string& claimed) {
    return absl::StrFormat(
        "reject (claim of %s in gallery %s, FMR 0.001, threshold %.3f for probes with face + "
        "voice)\n",
        claimed, gallery, threshold);
  };
  EXPECT_EQ(decided[0], rejects(world_->enrolled()[0]));
  EXPECT_EQ(decided[1], rejects("nobody-100"));
}

}  // namespace
}  // namespace heft::e2e
