// SPDX-License-Identifier: Apache-2.0
// Profile flooded with the real programs, from training to a flooded opening.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include "experiment/random_model.h"
#include "features/dataset.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::HasSubstr;

constexpr int kRow = 1;  // of the probe, a sample of the first identity

class FloodedProgramsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    Must(kHeft, {"synth", "--out", W("data"), "--jitter", "1", "--identities", "8", "--samples",
                 "2", "--dimensions", "16", "12"});
    Must(kHeft, TrainArgs(W("data"), W("model.heft"), {"--profile", "flooded"}));
    Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", W("keys"), "--no-passphrase"});
    RaiseBudget(W("model.heft"), W("keys/secret.key"));
    for (const char* modality : {"face", "voice"}) {
      Encrypt(modality, "enrol", {"--row", "0"});
      Encrypt(modality, "verify", {"--row", std::to_string(kRow)});
      Encrypt(modality, "probe", {"--row", std::to_string(kRow), "--for", "identification"});
    }
    EnrolNow(Serve("enrol", "enrol", {}), W("keys/secret.key"));
  }
  static void TearDownTestSuite() { delete work_; }

  static std::string W(const std::string& path) { return (*work_)(path); }
  static Args Join(Args args, const Args& more) {
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  static void Encrypt(const std::string& modality, const std::string& name, const Args& more) {
    Must(kHeft, Join({"encrypt", "--model", W("model.heft"), "--key", W("keys/encryption.key"),
                      "--modality", modality, "--in", W("data/" + modality + ".npy"), "--labels",
                      W("data/labels.txt"), "--out", W(name + "-" + modality + ".ct")},
                     more));
  }
  static Args Gallery(const std::string& subcommand, const Args& more) {
    return Join({subcommand, "--model", W("model.heft"), "--keys", W("keys/evaluation.keys"),
                 "--gallery", W("gallery")},
                more);
  }
  static Args Serve(const std::string& subcommand, const std::string& samples, const Args& more) {
    return Join(
        Gallery(subcommand, {"--in", W(samples + "-face.ct"), "--in", W(samples + "-voice.ct")}),
        subcommand == "identify" ? more
                                 : Join({"--enrolment-keys", W("keys/enrolment.keys")}, more));
  }
  static Args Owner(const std::string& subcommand, const Args& more) {
    return Join({subcommand, "--model", W("model.heft"), "--secret-key", W("keys/secret.key")},
                more);
  }
  static std::string LabelOfRow(int row) {
    std::istringstream lines(Slurp(W("data/labels.txt")));
    std::string label;
    for (int i = 0; i <= row; ++i) std::getline(lines, label);
    return label;
  }
  // The score of the probe with row 0's template, on plain vectors.
  static double Expected() {
    const Model model = ReadModel(W("model.heft"));
    const Dataset data = *LoadDataset(W("data"));
    auto probe = experiment::FusePlain(model, UnitVectors(data, kRow));
    const double length = std::sqrt(experiment::Dot(probe, probe));
    return experiment::Dot(probe, experiment::FusePlain(model, UnitVectors(data, 0))) / length;
  }

  inline static Workplace* work_ = nullptr;
};

TEST_F(FloodedProgramsTest, FromTrainingToAFloodedOpening) {
  const auto opened_before = Must(kHeft, Owner("budget", {}))["openings"].get<int>();
  EXPECT_EQ(Must(kHeft, {"inspect", W("keys/evaluation.keys")})["profile"], "flooded");
  Must(kServer, Serve("identify", "probe", {"--out", W("scores.ct")}));
  Must(kServer,
       Serve("verify", "verify", {"--identity", LabelOfRow(0), "--out", W("verified.ct")}));
  for (const char* reply : {"scores.ct", "verified.ct"}) {
    const auto opened = Must(kHeft, Owner("decrypt", {"--scores", "--in", W(reply)}));
    EXPECT_EQ(opened["refusal"], "") << opened;
    ASSERT_EQ(opened["candidates"].size(), 1u) << opened;
    EXPECT_EQ(opened["candidates"][0]["identity"], LabelOfRow(0));
    EXPECT_NEAR(opened["candidates"][0]["score"].get<double>(), Expected(),
                kScoreNoise + kRounding);
  }
  EXPECT_EQ(Must(kHeft, Owner("budget", {}))["openings"], opened_before + 2);
}

// Samples that the client projected, in a gallery of their own.
TEST_F(FloodedProgramsTest, FusePartialEnrolsAndIdentifies) {
  for (const char* modality : {"face", "voice"}) {
    Encrypt(modality, "partial", {"--row", "0", "--fuse", "partial"});
    Encrypt(modality, "partial-probe",
            {"--row", std::to_string(kRow), "--fuse", "partial", "--for", "identification"});
  }
  const auto other = [](Args args) {
    std::ranges::replace(args, W("gallery"), W("partial"));
    return args;
  };
  EnrolNow(other(Serve("enrol", "partial", {})), W("keys/secret.key"));
  Must(kServer, other(Serve("identify", "partial-probe", {"--out", W("partial.ct")})));
  const auto opened = Must(kHeft, Owner("decrypt", {"--scores", "--in", W("partial.ct")}));
  EXPECT_EQ(opened["refusal"], "") << opened;
  ASSERT_EQ(opened["candidates"].size(), 1u) << opened;
  EXPECT_EQ(opened["candidates"][0]["identity"], LabelOfRow(0));
  EXPECT_NEAR(opened["candidates"][0]["score"].get<double>(), Expected(), kScoreNoise + kRounding);
}

// A reply without room for flooding is not opened unflooded, and is not charged.
TEST_F(FloodedProgramsTest, WhatHasNoRoomIsRefused) {
  Must(kServer, Serve("identify", "probe", {"--degree-two", "--out", W("degree-two.ct")}));
  // The budget, without the fields that change with time.
  const auto budget = [&] {
    auto all = Must(kHeft, Owner("budget", {}));
    for (auto& client : all["clients"]) client.erase("bits_left"), client.erase("full_at");
    return all;
  };
  const auto before = budget();
  ASSERT_FALSE(before["clients"].empty());
  const Finished degree_two =
      RunProgram(kHeft, Owner("decrypt", {"--scores", "--in", W("degree-two.ct")}));
  EXPECT_EQ(degree_two.exit_code, kInput);
  EXPECT_THAT(degree_two.err, HasSubstr("no room for noise flooding"));
  EXPECT_EQ(budget(), before);
}

TEST_F(FloodedProgramsTest, NothingGoesToSeal) {
  const Finished run = RunProgram(
      kSeal, {"export", "parameters", "--model", W("model.heft"), "--out", W("parameters.seal")});
  EXPECT_EQ(run.exit_code, kInput);
  EXPECT_THAT(run.err, HasSubstr("SEAL decrypts without noise flooding"));
}

}  // namespace
}  // namespace heft::e2e
