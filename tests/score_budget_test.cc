// SPDX-License-Identifier: Apache-2.0
// The default budget of scores through the programs: training measures how many scores of a person
// keep a template recovered from them from being accepted, and no more may be opened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heft/dataset.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::HasSubstr;

class ScoreBudgetTest : public ::testing::Test {
 protected:
  // People differ along three directions only, so one score tells much of a template.
  void SetUp() override {
    SyntheticOptions people;
    people.identities = 150;
    people.samples_per_identity = 4;
    people.dimensions = {24, 16};
    people.factors = FactorModel();
    people.factors->jitter = {0.1, 0.1};
    people.factors->rank_identity = 3;
    ASSERT_TRUE(TrainingData::Synthesise(people)->Write(w_("data")).ok());
    trained_ = Must(kHeft, TrainArgs(w_("data"), w_("model.heft")));
    Must(kHeft, {"keygen", "--model", w_("model.heft"), "--out", w_("keys")});
  }

  // Row `row` of the data, encrypted.
  Args Samples(const std::string& row) const {
    Args files;
    for (const std::string modality : {"face", "voice"}) {
      const std::string out = w_(row + "-" + modality + ".ct");
      EncryptBoth({"encrypt", "--model", w_("model.heft"), "--key", w_("keys/encryption.key"),
                   "--modality", modality, "--in", w_("data/" + modality + ".npy"), "--labels",
                   w_("data/labels.txt"), "--row", row, "--out", out});
      files.insert(files.end(), {"--in", out});
    }
    return files;
  }
  Args Serve(Args args, const std::string& row) const {
    args.insert(args.end(), {"--model", w_("model.heft"), "--keys", w_("keys/evaluation.keys"),
                             "--gallery", w_("gallery")});
    const Args samples = Samples(row);
    args.insert(args.end(), samples.begin(), samples.end());
    return WithProbes(args);
  }
  Args Owner(const std::string& subcommand, const Args& more = {}) const {
    Args args = {subcommand, "--model", w_("model.heft"), "--secret-key", w_("keys/secret.key")};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }

  const Workplace w_;
  nlohmann::json trained_;
};

TEST_F(ScoreBudgetTest, NoScoreIsOpenedUntilItIsAllowedOnPurpose) {
  const nlohmann::json& recovery = trained_["recovery"];
  ASSERT_GE(recovery["people"], 100) << "enough people to permit a score, if it told little";
  ASSERT_EQ(recovery["allowed_scores"], 0) << recovery;
  EXPECT_EQ(Must(kHeft, Owner("budget"))["limits"]["scores"], recovery["allowed_scores"]);
  EnrolNow(Serve({"enrol"}, "0"), w_("keys/secret.key"));
  for (const char* kind : {"claim", "search"}) {
    const std::string reply = w_(std::string(kind) + ".ct");
    Args ask = {"identify", "--out", reply};
    if (std::string(kind) == "claim") ask = {"verify", "--identity", "0", "--out", reply};
    Must(kServer, Serve(ask, "0"));
    const std::string journal = Slurp(w_("keys/secret.key.journal"));
    const Finished refused = RunProgram(kHeft, Owner("decrypt", {"--in", reply, "--scores"}));
    EXPECT_EQ(refused.exit_code, kBudget) << refused.err;
    EXPECT_EQ(refused.out, "");
    EXPECT_EQ(Lines(refused.err), 1u) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("training measured that no score of a person may be opened "
                                       "without giving the template away; decisions go on"));
    EXPECT_THAT(refused.err, HasSubstr("heft budget --set scores=N"));
    EXPECT_EQ(Slurp(w_("keys/secret.key.journal")), journal) << "nothing was spent";
    // The same reply is good for a decision.
    EXPECT_EQ(Must(kHeft, Owner("decrypt", {"--in", reply, "--threshold", "0.5"}))["accepted"],
              true);
  }
  EXPECT_EQ(Must(kHeft, Owner("budget", {"--set", "scores=4"}))["limits"]["scores"], 4);
  Must(kServer, Serve({"verify", "--identity", "0", "--out", w_("again.ct")}, "0"));
  const auto opened = Must(kHeft, Owner("decrypt", {"--in", w_("again.ct"), "--scores"}));
  EXPECT_EQ(opened["candidates"][0]["scores_left"], 1) << "one client gets half of four";
}

// The share of guesses that are accepted without any score is measured, stored and shown. No budget
// lowers it, but thresholds against wolves do.
TEST_F(ScoreBudgetTest, WhatAGuessReachesWithoutAScoreIsStated) {
  const auto unanswered = [](const nlohmann::json& recovery) {
    EXPECT_EQ(recovery["scores"][0]["answers"], 0);
    const double accepted = recovery["scores"][0]["accepted"];
    EXPECT_LE(recovery["unanswered_interval"][0], accepted);
    EXPECT_GE(recovery["unanswered_interval"][1], accepted);
    EXPECT_GT(recovery["unanswered_interval"][1], 0.0) << "people are few";
    return accepted;
  };
  const double by_default = unanswered(trained_["recovery"]);
  EXPECT_EQ(Must(kHeft, Owner("budget"))["recovery"], trained_["recovery"]);
  EXPECT_THAT(RunProgram(kHeft, Owner("budget")).out, HasSubstr("without any answer (95%: "));
  const auto hardened =
      Must(kHeft, TrainArgs(w_("data"), w_("hardened.heft"), {"--against-wolves"}));
  const double against_wolves = unanswered(hardened["recovery"]);
  EXPECT_LE(against_wolves, by_default);
  EXPECT_LE(against_wolves, 0.01);
  EXPECT_GE(hardened["recovery"]["allowed_scores"], trained_["recovery"]["allowed_scores"]);
}

}  // namespace
}  // namespace heft::e2e
