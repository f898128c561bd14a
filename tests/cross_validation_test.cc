// SPDX-License-Identifier: Apache-2.0
// Learning as a user sees it: heft train --folds and heft evaluate --folds on a small synthetic
// data set, a model for probes that lack a modality, and the meaning of a score.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <map>
#include <thread>

#include "fusion/rings.h"
#include "heft/dataset.h"
#include "learning/projection.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::HasSubstr;

class CrossValidationTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    const Workplace& w = *work_;
    Must(kHeft, {"synth", "--out", w("data"), "--jitter", "1", "--identities", "24", "--samples",
                 "3", "--dimensions", "24", "16"});
    trained_ = new nlohmann::json(
        Must(kHeft, TrainArgs(w("data"), w("models"), {"--folds", "3", "--drop-modality", "0.3"})));
  }
  static void TearDownTestSuite() {
    delete trained_;
    delete work_;
  }
  static Args Evaluation(const Args& more) {
    Args args = {"evaluate", "--data", (*work_)("data"), "--folds", "3", "--replicates", "30"};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  static std::map<std::string, nlohmann::json> Rows(const nlohmann::json& result) {
    std::map<std::string, nlohmann::json> rows;
    for (const auto& row : result.at("systems")) rows[row.at("id")] = row;
    return rows;
  }
  static Workplace* work_;
  static nlohmann::json* trained_;
};
Workplace* CrossValidationTest::work_;
nlohmann::json* CrossValidationTest::trained_;

TEST_F(CrossValidationTest, EveryRowPlainAndEncryptedWithItsDifferences) {
  const Workplace& w = *work_;
  const nlohmann::json result =
      Must(kHeft, Evaluation({"--model", w("models"), "--partial-probes", "--report", w("r.html"),
                              "--pictures", w("pictures")}));
  EXPECT_EQ(result.at("samples"), 72);
  EXPECT_EQ(result.at("genuine_pairs"), 24 * 3) << "everybody is tested once";
  const auto rows = Rows(result);
  for (const char* id :
       {"face", "voice", "concatenation", "score_sum", "pca", "lda", "fhe_aware_exact",
        "fhe_aware_plain", "fhe_aware_plain_only_face", "fhe_aware_plain_only_voice",
        "fhe_aware_encrypted", "fhe_aware_encrypted_only_face", "fhe_aware_encrypted_only_voice"}) {
    ASSERT_TRUE(rows.contains(id)) << id;
    const auto& auroc = rows.at(id).at("auroc");
    double mean = 0;
    for (const double fold : auroc.at("by_fold")) mean += fold / 3;
    EXPECT_NEAR(auroc.at("value"), mean, 1e-12);
    EXPECT_EQ(auroc.at("by_fold").size(), 3u);
    EXPECT_LT(auroc.at("lo"), auroc.at("hi"));
    EXPECT_EQ(rows.at(id).at("encrypted"), std::string(id).find("encrypted") != std::string::npos);
  }
  auto auroc = [&](const std::string& id) { return rows.at(id)["auroc"]["value"].get<double>(); };
  for (const char* probe : {"", "_only_face", "_only_voice"}) {
    EXPECT_NEAR(auroc(std::string("fhe_aware_encrypted") + probe),
                auroc(std::string("fhe_aware_plain") + probe), 2e-3);
  }
  EXPECT_LT(auroc("fhe_aware_plain_only_voice"), auroc("fhe_aware_plain"));
  EXPECT_GT(result.at("gaps")[0].at("max_score"), 0) << "encrypted scores carry noise";
  EXPECT_LE(result.at("gaps")[0].at("max_score"), kScoreNoise);

  const size_t n = rows.size();
  EXPECT_EQ(result.at("differences").size(), n * (n - 1));
  for (const auto& d : result.at("differences")) {
    EXPECT_NEAR(d.at("value"), auroc(d.at("of")) - auroc(d.at("minus")), 1e-12);
    EXPECT_LE(d.at("lo"), d.at("hi"));
  }
  ASSERT_EQ(result.at("decisions").size(), 1u);
  const auto& decisions = result.at("decisions")[0];
  EXPECT_EQ(decisions.at("id"), "fhe_aware_encrypted");
  for (const char* picture : {"intervals.svg", "reliability.svg", "det.svg", "searches.svg"}) {
    EXPECT_TRUE(std::filesystem::exists(w(std::string("pictures/") + picture))) << picture;
  }
  EXPECT_EQ(decisions.at("comparisons").size(), 3u) << "FMR 1e-1, 1e-2, 1e-3";
  EXPECT_EQ(result.at("fusion").at("rivals").size(), 3u)
      << "best modality, concatenation and sum of scores";

  // Training reported the same rates on plain vectors.
  const auto before = Rows(*trained_);
  EXPECT_FALSE(before.contains("fhe_aware_encrypted"));
  EXPECT_EQ(before.at("lda")["auroc"]["value"], rows.at("lda")["auroc"]["value"]);
  EXPECT_EQ(before.at("fhe_aware_plain")["auroc"]["by_fold"],
            rows.at("fhe_aware_plain")["auroc"]["by_fold"]);
  const std::string html = Slurp(w("r.html"));
  EXPECT_THAT(html, HasSubstr("FHE-aware, encrypted, probe of voice only"));
  EXPECT_THAT(html, HasSubstr("<svg"));
  EXPECT_THAT(html, HasSubstr("--partial-probes"));
}

TEST_F(CrossValidationTest, SeveralModelsInOneTable) {
  const Workplace& w = *work_;
  Must(kHeft,
       TrainArgs(w("data"), w("seed2") + "/", {"--folds", "3", "--seed", "2"}));  // made anew
  const nlohmann::json result =
      Must(kHeft, Evaluation({"--model", w("models"), "--model", w("seed2") + "/", "--plain"}));
  const auto rows = Rows(result);
  EXPECT_TRUE(rows.contains("models/fhe_aware_plain"));
  EXPECT_TRUE(rows.contains("seed2/fhe_aware_plain"));
  EXPECT_FALSE(rows.contains("models/fhe_aware_encrypted"));
  EXPECT_EQ(result.at("reference"), "seed2/fhe_aware_plain");
}

TEST_F(CrossValidationTest, RefusesModelsThatMayHaveSeenTheTestPeople) {
  const Workplace& w = *work_;
  Must(kHeft, TrainArgs(w("data"), w("owner/complete_replies.heft")));
  std::filesystem::create_directories(w("wrong"));
  for (const char* name : {"fold-1.heft", "fold-2.heft", "fold-3.heft"}) {
    w.Copy("owner/complete_replies.heft", std::string("wrong/") + name);
  }
  struct Case {
    Args args;
    const char* message;
    int code = kInput;
  };
  for (const Case& c :
       {Case{{"--model", w("wrong")}, "not trained in fold 1"},
        Case{{"--model", w("nowhere")}, "fold-1.heft"}, Case{{}, "--model FOLDER", kUsage},
        Case{{"--model", w("models"), "--model", w("models")}, "two sets of models are called"}}) {
    Args args = Evaluation(c.args);
    args.push_back("--quiet");
    const Finished run = RunProgram(kHeft, args);
    EXPECT_EQ(run.exit_code, c.code) << run.err;
    EXPECT_THAT(run.err, HasSubstr(c.message));
    EXPECT_EQ(Lines(run.err), 1u) << run.err;
    EXPECT_EQ(run.out, "");
  }
}

TEST_F(CrossValidationTest, ChoicesSayWhatWasComputedInPlain) {
  const nlohmann::json result = Must(kHeft, {"study", "choices", "--data", (*work_)("data"),
                                             "--folds", "3", "--replicates", "30", "--plain"});
  const auto rows = Rows(result);
  for (const char* id : {"gamma16_degree2", "gamma16_degree3", "gamma16_degree7",
                         "gamma16_deferred", "gamma32_degree3", "weight0.5", "concatenation2"}) {
    ASSERT_TRUE(rows.contains(id)) << id;
    EXPECT_FALSE(rows.at(id).at("encrypted"));
  }
  EXPECT_FALSE(rows.contains("gamma64_degree2")) << "the data have 40 dimensions";
  EXPECT_NEAR(rows.at("concatenation1")["auroc"]["value"],
              rows.at("concatenation")["auroc"]["value"], 1e-6);
  EXPECT_EQ(result.at("reference"), "gamma32_degree3");
  EXPECT_EQ(result.at("notes").size(), 8u) << "one a plain cell";
}

TEST_F(CrossValidationTest, InterruptedWritesNothing) {
  const Workplace& w = *work_;
  const auto before = Snapshot(w.root());
  for (const bool train : {true, false}) {
    const Args args =
        train ? Args{"train",   "--data", w("data"),  "--out", w("interrupted"), "--gamma", "16",
                     "--folds", "8",      "--epochs", "5000"}
              : Evaluation({"--model", w("models"), "--report", w("no.html")});
    Process process(kHeft, args);
    while (process.Running() && process.Err().empty()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    process.Signal(SIGINT);
    const Finished run = process.Wait();
    EXPECT_EQ(run.exit_code, kInterrupted) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(Snapshot(w.root()), before);
  }
}

// One person enrolled with both modalities; probes of one and of both.
class MeaningTest : public ::testing::Test {
 protected:
  MeaningTest() {
    Must(kHeft, {"synth", "--out", w_("data"), "--jitter", "1", "--identities", "24", "--samples",
                 "3", "--dimensions", "24", "16", "--seed", "9"});
    data_ = *LoadDataset(w_("data"));
  }

  void Prepare(const Args& more) {
    Must(kHeft, TrainArgs(w_("data"), w_("m.heft"), more));
    for (const char* folder : {"keys", "gallery"}) std::filesystem::remove_all(w_(folder));
    Must(kHeft, {"keygen", "--model", w_("m.heft"), "--out", w_("keys")});
    RaiseBudget(w_("m.heft"), w_("keys/secret.key"));
    model_ = ReadModel(w_("m.heft"));
    EnrolNow(ServeArgs("enrol", {Encrypt("face", 0), Encrypt("voice", 0)}, {}),
             w_("keys/secret.key"));
  }
  std::string Encrypt(const std::string& modality, int row) {
    const std::string base = w_(modality + std::to_string(row));
    WriteRows(data_, modality, {row}, base + ".npy", base + ".txt");
    Must(kHeft,
         {"encrypt", "--model", w_("m.heft"), "--key", w_("keys/encryption.key"), "--modality",
          modality, "--in", base + ".npy", "--labels", base + ".txt", "--out", base + ".ct"});
    return base + ".ct";
  }
  Args ServeArgs(const std::string& command, const std::vector<std::string>& files,
                 const Args& more) {
    Args args = {command,     "--model",    w_("m.heft"), "--keys", w_("keys/evaluation.keys"),
                 "--gallery", w_("gallery")};
    for (const std::string& file : files) args.insert(args.end(), {"--in", file});
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  // Claims to be the enrolled person, and asks for the score and for a decision at FMR 1e-2.
  Args Decide(const std::vector<std::string>& files) {
    Must(kServer,
         ServeArgs("verify", files, {"--identity", data_.labels[0], "--out", w_("score.ct")}));
    Believe(w_("keys/trust.heft"), w_("gallery"));
    return {"decrypt", "--model",      w_("m.heft"), "--secret-key", w_("keys/secret.key"),
            "--in",    w_("score.ct"), "--scores",   "--fmr",        "1e-2"};
  }
  // The plain score of probe row 1 without the modalities `missing` against template row 0, and the
  // probe's |z|^2, by whose root the key owner divides.
  std::pair<double, double> Plain(const std::vector<int>& missing) {
    const FeatureMatrix p = Eigen::Map<const FeatureMatrix>(
        model_.projection.data(), model_.gamma, model_.projection.size() / model_.gamma);
    const int rows[] = {1}, enrolled[] = {0};
    const FeatureMatrix probe = *Concatenate(data_, rows, missing);
    const FeatureMatrix whole = *Concatenate(data_, enrolled);
    const Normaliser f{model_.approximation};
    const FeatureMatrix z = probe * p.transpose();
    return {z.row(0).dot(ProjectAndNormalise(p, whole, f).row(0)) / z.norm(), z.squaredNorm()};
  }

  Workplace w_;
  Dataset data_;
  Model model_;
};

TEST_F(MeaningTest, AProbeWithoutAModalityIsTheProjectionOfWhatIsThere) {
  for (const Args& training : {Args{}, Args{"--drop-modality", "0.4"}}) {
    Prepare(training);
    for (const bool face_only : {true, false}) {
      const std::string file = Encrypt(face_only ? "face" : "voice", 1);
      const nlohmann::json opened = Must(kHeft, Decide({file}));
      const auto [score, norm] = Plain({face_only ? 1 : 0});
      const Interval interval = NormInterval(*MakeRings(model_), model_);
      ASSERT_GT(std::min(std::abs(norm - interval.lo), std::abs(norm - interval.hi)), kNormNoise)
          << norm << " in " << interval.lo << " to " << interval.hi;
      if (interval.Contains(norm)) {
        EXPECT_NEAR(opened["candidates"][0]["score"], score, kScoreNoise + kRounding);
      } else {
        EXPECT_THAT(opened["refusal"].get<std::string>(), HasSubstr("outside"));
        EXPECT_EQ(opened["accepted"], false) << "a score outside means nothing";
      }
    }
  }
}

TEST_F(MeaningTest, ThresholdByNameWarningAndEvidence) {
  Prepare({});
  const auto decide = [&] { return Decide({Encrypt("face", 1), Encrypt("voice", 1)}); };
  const nlohmann::json opened = Must(kHeft, decide());
  const double score = opened["candidates"][0]["score"];
  const double threshold = model_.ThresholdFor(1e-2, model_.AllModalities())->score;
  EXPECT_EQ(opened["threshold"]["score"], threshold);
  EXPECT_EQ(opened["accepted"], score >= threshold);
  EXPECT_THAT(opened["threshold"]["warning"].get<std::string>(), HasSubstr("3000 are needed"));
  const std::optional<ScoreCalibration> calibration = model_.tables[0].calibration;
  ASSERT_TRUE(calibration.has_value());
  EXPECT_GT(calibration->slope, 0);
  EXPECT_NEAR(opened["candidates"][0]["log_likelihood_ratio"],
              calibration->LogLikelihoodRatio(score), 0.0051);
  // The same result as text, with the warning on stderr.
  const Finished run = RunProgram(kHeft, decide());
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.err, HasSubstr("impostor comparisons"));
  EXPECT_THAT(run.out, HasSubstr("LLR"));
}

// A strong modality, a weak one, and too few dimensions for both.
TEST(FusionThatLoses, IsSaidAloudAndInTheModel) {
  const Workplace w;
  SyntheticOptions people;
  people.identities = 40;
  people.samples_per_identity = 4;
  people.dimensions = {64, 16};
  people.factors = FactorModel();
  people.factors->jitter = {0.3, 4};
  people.factors->rank_identity = 24;
  ASSERT_TRUE(TrainingData::Synthesise(people)->Write(w("data")).ok());
  const Args train = {"train",   "--data", w("data"),  "--out", w("m.heft"),
                      "--gamma", "4",      "--epochs", "1",     "--no-exact"};
  const Finished run = RunProgram(kHeft, train);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("heft: warning: FUSION IS WORSE than face alone"));
  EXPECT_THAT(run.err, HasSubstr("larger --gamma"));
  EXPECT_THAT(run.err, ::testing::Not(HasSubstr("\033"))) << "no colour where no terminal is";
  const auto summary = nlohmann::json::parse(ReadModel(w("m.heft")).training_summary);
  EXPECT_EQ(summary["fusion"]["best_modality"], "face");
  EXPECT_GT(summary["fusion"]["fused_minus"]["face"]["fnmr_1e3"]["lo"], 0);
  const nlohmann::json quiet = Must(kHeft, train);
  EXPECT_EQ(quiet["fusion"]["warning"], summary["fusion"]["warning"]);
  EXPECT_EQ(quiet["fusion"]["significant"], true);
}

TEST(TrainingCurve, IsWrittenAsAPicture) {
  const Workplace w;
  Must(kHeft, {"synth", "--out", w("data"), "--jitter", "1", "--identities", "20", "--samples", "3",
               "--dimensions", "12", "12"});
  Must(kHeft, TrainArgs(w("data"), w("m.heft"), {"--pictures", w("pictures")}));
  const std::string svg = Slurp(w("pictures/learning.svg"));
  EXPECT_THAT(svg, ::testing::StartsWith("<svg xmlns="));
  EXPECT_THAT(svg, HasSubstr("people held out"));
  EXPECT_THAT(svg, ::testing::EndsWith("</svg>\n"));
}

}  // namespace
}  // namespace heft::e2e
