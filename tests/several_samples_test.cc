// SPDX-License-Identifier: Apache-2.0
// Several samples of a person with the real programs, and the report of heft evaluate about them
// and about the protection of templates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "experiment/random_model.h"
#include "features/dataset.h"
#include "fusion/mean.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Rows = std::vector<int>;

constexpr int kSamplesInAll = 4;  // of each identity, side by side

class SeveralSamplesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    Must(kHeft, {"synth", "--out", W("data"), "--identities", "30", "--samples",
                 std::to_string(kSamplesInAll), "--dimensions", "16", "12", "--jitter", "0.8"});
    Must(kHeft, TrainArgs(W("data"), W("model.heft"), {"--profile", "standard"}));
    Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", W("keys"), "--no-passphrase"});
    RaiseBudget(W("model.heft"), W("keys/secret.key"));
    data_ = new Dataset(*LoadDataset(W("data")));
    model_ = new Model(ReadModel(W("model.heft")));
  }
  static void TearDownTestSuite() {
    delete model_;
    delete data_;
    delete work_;
  }

  static std::string W(const std::string& path) { return (*work_)(path); }
  static std::vector<std::string> Names(const std::string& name) {
    return {W(name + "-face.ct"), W(name + "-voice.ct")};
  }
  // Client: both modalities of these rows.
  static void Encrypt(const std::string& name, const Rows& rows, const Args& more = {}) {
    for (const char* modality : {"face", "voice"}) {
      const std::string npy = W(name + "-" + modality + ".npy");
      WriteRows(*data_, modality, rows, npy, npy + ".labels");
      Must(kHeft, Join({"encrypt", "--model", W("model.heft"), "--key", W("keys/encryption.key"),
                        "--modality", modality, "--in", npy, "--labels", npy + ".labels", "--out",
                        W(name + "-" + modality + ".ct")},
                       more));
    }
  }
  static Args Serve(const std::string& subcommand, const std::string& samples,
                    const std::string& gallery, const Args& more) {
    Args args = {subcommand,
                 "--model",
                 W("model.heft"),
                 "--keys",
                 W("keys/evaluation.keys"),
                 "--gallery",
                 W(gallery),
                 "--trust",
                 W("keys/trust.heft")};
    for (const std::string& path : Names(samples)) args.insert(args.end(), {"--in", path});
    if (subcommand == "enrol") {
      args.insert(args.end(), {"--enrolment-keys", W("keys/enrolment.keys")});
    }
    return Join(args, more);
  }
  static Args Decrypt(const std::string& reply, const std::string& samples, const Args& more) {
    Args args = {"decrypt", "--model", W("model.heft"), "--secret-key", W("keys/secret.key"),
                 "--in",    W(reply),  "--scores"};
    for (const std::string& path : Names(samples)) args.insert(args.end(), {"--request", path});
    return Join(args, more);
  }
  // The scores of means of rows, on plain vectors.
  static std::vector<double> Mean(const Rows& rows) {
    experiment::Vectors mean;
    for (const int row : rows) {
      const auto vectors = UnitVectors(*data_, row);
      if (mean.empty()) {
        for (const auto& v : vectors) mean.emplace_back(v.size(), 0.0);
      }
      for (size_t m = 0; m < mean.size(); ++m) {
        for (size_t d = 0; d < mean[m].size(); ++d) {
          mean[m][d] += MeanFactor(*model_, rows.size()) * vectors[m][d];
        }
      }
    }
    return experiment::FusePlain(*model_, mean);
  }
  static double Expected(const Rows& probe, const Rows& enrolled) {
    const auto z = Mean(probe);
    return experiment::Dot(z, Mean(enrolled)) / std::sqrt(experiment::Dot(z, z));
  }

  inline static Workplace* work_ = nullptr;
  inline static Dataset* data_ = nullptr;
  inline static Model* model_ = nullptr;
};

TEST_F(SeveralSamplesTest, TheServerTakesTheMean) {
  const Rows ann = {0, 1}, bob = {kSamplesInAll, kSamplesInAll + 1}, probe = {2, 3};
  Encrypt("enrol", {0, kSamplesInAll, 1, kSamplesInAll + 1});
  const Args enrol = Serve("enrol", "enrol", "gallery", {"--average"});
  EXPECT_EQ(EnrolNow(enrol, W("keys/secret.key"))["templates"], 2);
  Encrypt("probe", probe, {"--for", "identification"});
  Must(kServer, Serve("identify", "probe", "gallery", {"--average", "--out", W("scores.ct")}));
  // The reply answers the mean, not a single row.
  const Finished row = RunProgram(kHeft, Decrypt("scores.ct", "probe", {"--row", "0"}));
  EXPECT_EQ(row.exit_code, kInput);
  EXPECT_THAT(row.err, HasSubstr("answers another request"));
  const auto opened = Must(kHeft, Decrypt("scores.ct", "probe", {"--average"}));
  ASSERT_EQ(opened["candidates"].size(), 2u) << opened;
  for (const auto& c : opened["candidates"]) {
    const bool first = c["identity"] == data_->labels[0];
    EXPECT_NEAR(c["score"].get<double>(), Expected(probe, first ? ann : bob),
                kScoreNoise + kRounding);
    EXPECT_EQ(c["templates"], 1);
  }
  // A sample in a mean is recognised when it is sent again.
  const Finished again =
      RunProgram(kServer, Serve("enrol", "enrol", "gallery", {"--identity", "mallory"}));
  EXPECT_EQ(again.exit_code, kInput);
  EXPECT_THAT(again.err, HasSubstr("enrolled before"));
}

TEST_F(SeveralSamplesTest, AMeanTakesAsManySamplesOfEachModality) {
  Encrypt("more", {0, 1});
  Encrypt("fewer", {0});
  Args args = Serve("enrol", "more", "uneven", {"--average"});
  std::ranges::replace(args, W("more-voice.ct"), W("fewer-voice.ct"));
  const Finished run = RunProgram(kServer, args);
  EXPECT_EQ(run.exit_code, kInput);
  EXPECT_THAT(run.err, HasSubstr("--average needs the same number"));
  EXPECT_THAT(run.err, Not(HasSubstr("--all-pairs"))) << "the two exclude each other";
}

TEST_F(SeveralSamplesTest, TheClientTakesTheMean) {
  const Rows ann = {0, 1, 2};
  Encrypt("means", {0, 1, 2, kSamplesInAll}, {"--average"});
  EXPECT_EQ(EnrolNow(Serve("enrol", "means", "of-means", {}), W("keys/secret.key"))["templates"],
            2);
  Encrypt("one", {3}, {"--for", "identification"});
  Must(kServer, Serve("identify", "one", "of-means", {"--out", W("of-means.ct")}));
  const auto opened = Must(kHeft, Decrypt("of-means.ct", "one", {}));
  for (const auto& c : opened["candidates"]) {
    const Rows enrolled = c["identity"] == data_->labels[0] ? ann : Rows{kSamplesInAll};
    EXPECT_NEAR(c["score"].get<double>(), Expected({3}, enrolled), kScoreNoise + kRounding);
  }
}

TEST_F(SeveralSamplesTest, WhatTheyAreWorthIsMeasured) {
  Must(kHeft, TrainArgs(W("data"), W("folds"), {"--profile", "standard", "--folds", "3"}));
  const auto found = Must(kHeft, {"study", "samples", "--data", W("data"), "--model", W("folds"),
                                  "--folds", "3", "--samples", "1", "2", "--replicates", "20",
                                  "--report", W("samples.html"), "--pictures", W("pictures")});
  EXPECT_THAT(Slurp(W("pictures/samples.svg")), HasSubstr("<svg"));
  EXPECT_EQ(found["people"], 30);
  ASSERT_EQ(found["samples"].size(), 5u);  // 1 and 2 against 1 and 2, and 2 separate ones
  for (const auto& row : found["samples"]) {
    EXPECT_LE(row["largest_gap"], kScoreNoise) << row;
    const auto& rate = row["encrypted"]["fnmr_at_fmr_1e-2"];
    EXPECT_LE(rate["lo"], rate["value"]);
    EXPECT_GE(rate["hi"], rate["value"]);
    const double stored = row["separate"].get<bool>() ? 2 : 1;
    EXPECT_EQ(row["stored_bytes"], stored * found["samples"][0]["stored_bytes"].get<double>());
  }
  EXPECT_THAT(Slurp(W("samples.html")), HasSubstr("the mean of 2"));
  const Finished alone = RunProgram(kHeft, {"study", "samples", "--data", W("data"), "--model",
                                            W("model.heft"), "--samples", "1"});
  EXPECT_EQ(alone.exit_code, kUsage);
  const Finished many =
      RunProgram(kHeft, {"study", "samples", "--data", W("data"), "--model", W("folds"), "--folds",
                         "3", "--samples", "1", "8", "--plain"});
  EXPECT_EQ(many.exit_code, kInput);
  EXPECT_THAT(many.err, HasSubstr("samples"));
}

TEST_F(SeveralSamplesTest, ProtectionIsMeasured) {
  const auto found =
      Must(kHeft, {"study", "protection", "--data", W("data"), "--model", W("model.heft"),
                   "--split", "train", "--samples", "60", "--report", W("p.html")});
  EXPECT_EQ(found["samples"], 60);
  std::map<std::string, double> most;
  for (const auto& row : found["unlinkability"]["links"]) {
    const double d = row["d_sys"], chance = row["by_chance_97.5"];
    EXPECT_GE(row["by_chance"], 0.0);
    double& of = most[row["stolen"]];
    of = std::max(of, d);
    // By chance one of ten functions exceeds its 97.5th percentile now and then.
    if (row["stolen"] != "both secret keys") {
      EXPECT_LE(d, chance + 0.15) << row["compared"];
    }
  }
  EXPECT_EQ(most.size(), 3u);
  EXPECT_GT(most["both secret keys"], 0.3);
  EXPECT_NEAR(most["both secret keys"], found["unlinkability"]["recognition"].get<double>(), 0.1);
  const auto& stolen = found["irreversibility"]["stolen_key"];
  ASSERT_EQ(stolen.size(), 2u);
  for (const auto& row : stolen) EXPECT_GT(row["learned"], row["without_template"]);
  EXPECT_EQ(found["irreversibility"]["scores"].size(), 6u);  // 0 to 16 of 16 dimensions
  const auto summary = nlohmann::json::parse(ReadModel(W("model.heft")).training_summary);
  EXPECT_EQ(found["irreversibility"]["published"]["scores"], summary["recovery"]["allowed_scores"])
      << "the default budget is what training measured";
  const auto& renewal = found["renewability"];
  EXPECT_NEAR(renewal["auroc_before"], renewal["auroc_after"], 5e-3);
  EXPECT_LE(renewal["score_largest"], 2 * kScoreNoise);
  EXPECT_GT(renewal["key_bits"], 6000);
  EXPECT_THAT(Slurp(W("p.html")), HasSubstr("Unlinkability"));
}

}  // namespace
}  // namespace heft::e2e
