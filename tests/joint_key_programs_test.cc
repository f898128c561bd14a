// SPDX-License-Identifier: Apache-2.0
// A key without a dealer, with the real programs: the rounds of messages, an approval and a
// decision by all owners, and messages that do not belong to a ceremony.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/workplace.h"

namespace heft::e2e::joint_key {
namespace {

using ::testing::HasSubstr;

constexpr int kInput = 3, kUsage = 2;
constexpr int kRounds = 5;

Args Join(Args args, const Args& more) {
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

class JointKeyProgramsTest : public ::testing::TestWithParam<int> {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    Must(kHeft, {"synth", "--out", W("data"), "--jitter", "1", "--identities", "8", "--samples",
                 "2", "--dimensions", "16", "12"});
    Must(kHeft, TrainArgs(W("data"), W("model.heft"), {"--profile", "flooded"}));
  }
  static void TearDownTestSuite() { delete work_; }

  static std::string W(const std::string& path) { return (*work_)(path); }
  std::string Own(int party) const {
    return W("of-" + std::to_string(GetParam()) + "/party-" + std::to_string(party));
  }
  std::string Passphrase(int party) const { return W("passphrase-" + std::to_string(party)); }
  Args Step(int party, const Args& more) const {
    return Join({"keygen", "join", "--model", W("model.heft"), "--out", Own(party),
                 "--passphrase-file", Passphrase(party)},
                more);
  }
  Args Messages(int round) const {
    Args args = {"--in"};
    for (int party = 1; party <= GetParam(); ++party) args.push_back(Message(party, round));
    return args;
  }
  std::string Message(int party, int round) const {
    return Own(party) + "/round-" + std::to_string(round) + ".msg";
  }
  // Until all have given the messages of a round; then from `done`.
  void RunTo(int round, int done = 0) const {
    for (; done < round; ++done) {
      for (int party = 1; party <= GetParam(); ++party) {
        const Args more = done == 0 ? Args{"--owners", std::to_string(GetParam())} : Messages(done);
        EXPECT_EQ(Must(kHeft, Step(party, more))["round"], done + 1);
      }
    }
  }
  std::string Refused(const Args& args, int code) const {
    const Finished finished = RunProgram(kHeft, args);
    EXPECT_EQ(finished.exit_code, code) << finished.err;
    return finished.err;
  }
  Args Owner(const std::string& subcommand, int party, const Args& more) const {
    return Join({subcommand, "--model", W("model.heft"), "--secret-key", Own(party) + "/share.key",
                 "--passphrase-file", Passphrase(party)},
                more);
  }

  inline static Workplace* work_ = nullptr;
};

TEST_P(JointKeyProgramsTest, FromTheFirstMessageToADecision) {
  const int n = GetParam();
  for (int party = 1; party <= n; ++party) {
    Spill(Passphrase(party), "of party " + std::to_string(party) + "\n");
  }
  RunTo(2);
  // Messages that do not belong here, and a state without its passphrase.
  const Args wrong = Join({"keygen", "join", "--model", W("model.heft"), "--out", Own(1), "--in"},
                          {Message(1, 2), Message(2, 2)});
  EXPECT_THAT(Refused(wrong, kInput), HasSubstr("sealed under a passphrase"));
  EXPECT_THAT(Refused(Step(1, Messages(1)), kInput), HasSubstr("of round 2 (commit) are needed"));
  EXPECT_THAT(Refused(Step(1, {"--in", Message(1, 2)}), kInput), HasSubstr("is missing"));
  EXPECT_THAT(Refused(Step(1, {"--owners", std::to_string(n)}), kInput), HasSubstr("exists"));
  Must(kHeft, {"keygen", "join", "--model", W("model.heft"), "--out", Own(9), "--owners",
               std::to_string(n), "--no-passphrase"});
  EXPECT_THAT(Refused(Step(1, {"--in", Message(1, 2), Message(9, 1)}), kInput),
              HasSubstr("of another ceremony"));
  for (const std::string& path : {Message(1, 2), Own(1) + "/joining.key"}) {
    const auto file = Must(kHeft, {"inspect", path});
    EXPECT_EQ(file["model_id"], Must(kHeft, {"inspect", W("model.heft")})["id"]) << file;
    EXPECT_EQ(file["round"], 2) << file;
    EXPECT_EQ(file["owners"], n) << file;
    EXPECT_EQ(file["profile"], "flooded") << file;
    EXPECT_FALSE(file.contains("key_id")) << file;
  }
  RunTo(kRounds + 1, 2);

  // All have the same public keys and the same record.
  std::string digest;
  std::vector<int> party_of(n + 1);
  for (int party = 1; party <= n; ++party) {
    const auto check = Must(kHeft, Owner("share", party, {"--keys", Own(1)}));
    EXPECT_EQ(check["joint"], true);
    EXPECT_EQ(check["threshold"], n);
    if (party == 1) digest = check["ceremony"];
    EXPECT_EQ(Must(kHeft, {"inspect", Own(party) + "/ceremony.heft"})["ceremony"], digest);
    EXPECT_EQ(check["ceremony"], digest);
    party_of[check["owner"].get<int>()] = party;
  }
  const std::string keys = Own(1), gallery = Own(1) + "/gallery";
  const auto encrypt = [&](const std::string& name, const Args& more) {
    for (const std::string modality : {"face", "voice"}) {
      Must(kHeft, Join({"encrypt", "--model", W("model.heft"), "--key", keys + "/encryption.key",
                        "--modality", modality, "--in", W("data/" + modality + ".npy"), "--labels",
                        W("data/labels.txt"), "--out", Own(1) + "/" + name + "-" + modality},
                       more));
    }
  };
  encrypt("enrol", {"--row", "0"});
  encrypt("probe", {"--row", "1", "--for", "identification"});
  encrypt("stranger", {"--row", "4", "--for", "identification"});
  const auto serve = [&](const std::string& subcommand, const Args& more) {
    return Must(kServer, Join({subcommand, "--model", W("model.heft"), "--keys",
                               keys + "/evaluation.keys", "--gallery", gallery},
                              more));
  };
  const auto samples = [&](const std::string& name) {
    return Args{"--in", Own(1) + "/" + name + "-face", "--in", Own(1) + "/" + name + "-voice"};
  };
  serve("enrol", Join(samples("enrol"), {"--enrolment-keys", keys + "/enrolment.keys"}));
  for (int party = 1; party <= n; ++party) Believe(Own(party) + "/trust.heft", gallery);
  Args set = {"--owners"};
  for (int owner = 1; owner <= n; ++owner) set.push_back(std::to_string(owner));
  // Owners 2 to n give parts, owner 1 combines.
  const auto together = [&](const std::string& subcommand, const Args& question,
                            const Args& result) {
    Args parts = {"--part"};
    for (int owner = 2; owner <= n; ++owner) {
      const std::string part = question[1] + "." + std::to_string(owner);
      Must(kHeft, Owner(subcommand, party_of[owner], Join(Join(question, set), {"--out", part})));
      parts.push_back(part);
    }
    return Must(kHeft, Owner(subcommand, party_of[1], Join(Join(question, parts), result)));
  };
  const std::string pending = Own(1) + "/pending.ct", admission = Own(1) + "/admission.heft";
  serve("pending", {"--out", pending});
  const auto activated = together("answer", {"--in", pending}, {"--out", admission});
  EXPECT_EQ(activated["rejected"].size(), 0u) << activated;
  EXPECT_EQ(serve("apply",
                  {"--in", admission, "--enrolment-keys", keys + "/enrolment.keys"})["activated"],
            1);
  for (const std::string who : {"probe", "stranger"}) {
    const std::string reply = Own(1) + "/" + who + ".scores";
    serve("identify", Join(samples(who), {"--out", reply}));
    const auto decided = together("decrypt", {"--in", reply, "--threshold", "0.5"}, {});
    EXPECT_EQ(decided["accepted"], who == "probe") << decided;
  }
  // None opens alone.
  const std::string alone = Own(1) + "/alone.scores";
  serve("identify", Join(samples("probe"), {"--out", alone}));
  EXPECT_THAT(Refused(Owner("decrypt", 1, {"--in", alone, "--threshold", "0.5"}), kInput),
              HasSubstr("opens with"));
  // The ceremony is over.
  EXPECT_THAT(Refused(Step(1, Messages(5)), kInput), HasSubstr("this ceremony is complete"));
}

TEST_P(JointKeyProgramsTest, WrongUse) {
  EXPECT_THAT(Refused({"keygen", "join", "--model", W("model.heft"), "--out", W("none")}, kUsage),
              HasSubstr("give --owners to begin"));
  EXPECT_THAT(Refused({"keygen", "join", "--model", W("model.heft"), "--out", W("none"), "--owners",
                       "3", "--threshold", "2"},
                      kUsage),
              HasSubstr("all --owners open"));
  EXPECT_THAT(
      Refused({"keygen", "join", "--model", W("model.heft"), "--out", W("none"), "--owners", "5"},
              kUsage),
      HasSubstr("at most 3"));
  EXPECT_FALSE(std::filesystem::exists(W("none")));
}

INSTANTIATE_TEST_SUITE_P(Owners, JointKeyProgramsTest, ::testing::Values(2));

}  // namespace
}  // namespace heft::e2e::joint_key
