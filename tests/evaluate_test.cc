// SPDX-License-Identifier: Apache-2.0
// heft evaluate on a small synthetic data set: encrypted scores agree with plain ones, every system
// is there, and wrong inputs are refused before any work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>
#include <tuple>

#include "base/files.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

class EvaluateTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    const Workplace& w = *work_;
    Must(kHeft, {"synth", "--out", w("data"), "--jitter", "1", "--identities", "30", "--samples",
                 "4", "--dimensions", "24", "16"});
    Must(kHeft, TrainArgs(w("data"), w("model.heft")));
  }
  static void TearDownTestSuite() { delete work_; }

  static Args Arguments(const Args& more) {
    Args args = {"evaluate",     "--data", (*work_)("data"), "--model", (*work_)("model.heft"),
                 "--replicates", "20"};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  static Workplace* work_;
};
Workplace* EvaluateTest::work_ = nullptr;

TEST_F(EvaluateTest, EncryptedAgreesWithPlainAndAReportIsWritten) {
  const std::string report = (*work_)("report.html");
  const nlohmann::json result = Must(kHeft, Arguments({"--report", report}));
  const auto& gap = result.at("gap");
  EXPECT_EQ(gap.at("within_promise").get<bool>(), gap.at("max_score").get<double>() <= 2e-3) << gap;
  EXPECT_LE(gap.at("rms_score").get<double>(), 3e-4) << "of 276 scores";
  EXPECT_LE(gap.at("max_score").get<double>(), kScoreNoise);
  EXPECT_LE(std::abs(gap.at("auroc").get<double>()), 2.5e-3) << "21 of 8640 pairs exchanged";
  EXPECT_GT(gap.at("max_score").get<double>(), 0) << "encrypted scores carry noise";
  EXPECT_LE(gap.at("max_score"), gap.at("predicted_bound"));

  std::set<std::string> ids;
  for (const auto& system : result.at("systems")) {
    ids.insert(system.at("id"));
    const auto& auroc = system.at("auroc");
    EXPECT_LE(auroc.at("lo"), auroc.at("hi"));
    EXPECT_GE(auroc.at("value"), 0.3);
    EXPECT_LE(auroc.at("value"), 1.0);
  }
  EXPECT_THAT(ids, IsSupersetOf({"face", "voice", "concatenation", "fhe_aware_exact",
                                 "fhe_aware_plain", "fhe_aware_encrypted"}));
  EXPECT_EQ(result.at("data").at("samples"), 24);  // 6 of 30 identities
  EXPECT_EQ(result.at("data").at("genuine_pairs"), 6 * 6);
  EXPECT_FALSE(result.at("warnings").empty()) << "too few pairs for FAR 1e-3";

  const std::string html = Slurp(report);
  EXPECT_THAT(html, HasSubstr("FHE-aware, encrypted"));
  size_t pictures = 0;
  for (size_t at = 0; (at = html.find("<svg", at)) != html.npos; ++at) ++pictures;
  EXPECT_EQ(pictures, 10u) << "its one dimension was not chosen, so it has no picture";
  const auto& decisions = result.at("decisions");
  ASSERT_EQ(decisions.at("comparisons").size(), 3u);
  // The training people suffice for FMR 1e-1; the measured rate has an interval.
  ASSERT_TRUE(decisions.at("comparisons")[0].contains("fmr")) << decisions.at("comparisons")[0];
  const auto& fmr = decisions.at("comparisons")[0].at("fmr");
  EXPECT_LE(fmr.at("lo").get<double>(), fmr.at("value").get<double>());
  EXPECT_GE(fmr.at("hi").get<double>(), fmr.at("value").get<double>());
  // A wolf that the training people have taught, against the six people of the test split.
  EXPECT_EQ(decisions.at("wolf_people"), 6);
  const double wolf = decisions.at("comparisons")[0].at("wolf");
  EXPECT_GT(wolf, 0) << "at FMR 1e-1 the best of four directions finds somebody";
  EXPECT_LE(wolf, 1);
  EXPECT_THAT(html, HasSubstr("A wolf"));
  const auto& partial = decisions.at("partial_probes");
  ASSERT_EQ(partial.size(), 2u);
  EXPECT_EQ(partial[0].at("modalities"), nlohmann::json({"voice"}));
  EXPECT_EQ(partial[1].at("modalities"), nlohmann::json({"face"}));
  EXPECT_TRUE(partial[1].at("comparisons")[0].contains("fmr")) << partial;
  EXPECT_THAT(html, HasSubstr("Probes that lack modalities"));
  EXPECT_GE(decisions.at("evidence").at("loss").at("value"), 0);
  ASSERT_FALSE(decisions.at("search_curves").empty());
  EXPECT_EQ(decisions.at("search_curves")[0].at("searches_of_strangers"), 20 * 3 * 4);
}

// The recovery curve is that of the model's training summary.
TEST_F(EvaluateTest, ProtectionShowsTheModelsRecoveryCurve) {
  const Workplace& w = *work_;
  Must(kHeft, {"synth", "--out", w("crowd"), "--jitter", "0.5", "--identities", "120", "--samples",
               "6", "--dimensions", "24", "16"});
  Must(kHeft, TrainArgs(w("crowd"), w("crowd.heft")));
  const nlohmann::json trained = Must(kHeft, {"inspect", w("crowd.heft")});
  const auto& recovery = trained.at("training").at("recovery");
  ASSERT_GE(recovery.at("scores").size(), 4u);
  const Args args = {"study",   "protection",    "--data",    w("crowd"),
                     "--model", w("crowd.heft"), "--samples", "8"};
  const nlohmann::json found = Must(kHeft, args);
  EXPECT_EQ(found.at("irreversibility").at("training"), recovery);
  const Finished text = RunProgram(kHeft, args);
  EXPECT_THAT(text.out, HasSubstr("recovery as the model's training measured it"));
}

// Scores written pair by pair give the same rates when they are measured again.
TEST_F(EvaluateTest, ScoresAreWrittenAndMeasuredAgain) {
  const Workplace& w = *work_;
  const nlohmann::json once = Must(kHeft, Arguments({"--scores", w("scores.csv")}));
  const nlohmann::json again = Must(kHeft, {"evaluate", w("scores.csv"), "--replicates", "20",
                                            "--report", w("roc.html"), "--pictures", w("roc")});
  ASSERT_EQ(again.at("systems").size(), 2u);
  const auto& systems = once.at("systems");
  for (const auto& [id, index] : {std::pair("fhe_aware_encrypted", 0), {"fhe_aware_plain", 1}}) {
    const auto& seen = again.at("systems")[index];
    EXPECT_EQ(seen.at("genuine_comparisons"), 36);
    EXPECT_EQ(seen.at("impostor_comparisons"), 240);
    EXPECT_EQ(seen.at("people"), 6);
    for (const auto& system : systems) {
      if (system.at("id") != id) continue;
      EXPECT_EQ(seen.at("auroc").at("value"), system.at("auroc").at("value")) << id;
      EXPECT_EQ(seen.at("eer").at("value"), system.at("eer").at("value")) << id;
    }
  }
  const double gap = again.at("encrypted_minus_plain")[0].at("max_score");
  EXPECT_GT(gap, 0);
  EXPECT_LE(gap, once.at("gap").at("max_score")) << "that of all scores, these are half of them";
  const std::string html = Slurp(w("roc.html"));
  EXPECT_THAT(html, HasSubstr("Detection error trade-off"));
  EXPECT_TRUE(std::filesystem::exists(w("roc/det.svg")));
  // The folds are splits of one table.
  Must(kHeft, TrainArgs(w("data"), w("folds"), {"--folds", "3"}));
  Must(kHeft, {"evaluate", "--data", w("data"), "--folds", "3", "--model", w("folds"), "--plain",
               "--replicates", "20", "--scores", w("folds.csv")});
  const nlohmann::json folds = Must(kHeft, {"evaluate", w("folds.csv"), "--replicates", "20"});
  ASSERT_EQ(folds.at("systems").size(), 1u) << "plain scores alone";
  EXPECT_EQ(folds.at("systems")[0].at("people"), 30);
  EXPECT_EQ(folds.at("systems")[0].at("genuine_comparisons"), 30 * 6);
  const nlohmann::json fold =
      Must(kHeft, {"evaluate", w("folds.csv"), "--replicates", "20", "--split", "fold 2 of 3"});
  EXPECT_EQ(fold.at("systems")[0].at("people"), 10);
}

TEST_F(EvaluateTest, FilesOfScoresAreRefusedWithOneLine) {
  const Workplace& w = *work_;
  ASSERT_TRUE(WriteFileAtomic(w("columns.txt"), std::string_view("a a p 1\na b p 0 5\n")).ok());
  ASSERT_TRUE(WriteFileAtomic(w("one-kind.txt"), std::string_view("a a p 1\n")).ok());
  struct Case {
    Args args;
    int code;
    const char* message;
  };
  for (const Case& c :
       {Case{{}, kUsage, "FILE or --data is required"},
        Case{{w("columns.txt")}, kInput, "columns.txt, line 2: 5 columns"},
        Case{{w("one-kind.txt")}, kInput, "1 genuine and 0 impostor"},
        Case{{w("one-kind.txt"), "--split", "dev"}, kInput, "no comparison is in split"},
        Case{{w("one-kind.txt"), "--fmr", "2"}, kUsage, "0 to 1"},
        Case{{w("nothing.csv")}, kInput, "nothing.csv"},
        Case{{"genuine=" + w("columns.txt")}, kUsage, "impostor=FILE"}}) {
    Args args = {"evaluate", "--quiet"};
    args.insert(args.end(), c.args.begin(), c.args.end());
    const Finished run = RunProgram(kHeft, args);
    EXPECT_EQ(run.exit_code, c.code) << run.err;
    EXPECT_THAT(run.err, HasSubstr(c.message));
    EXPECT_EQ(run.out, "");
  }
}

// Synthetic people like these, in galleries of all sizes.
TEST_F(EvaluateTest, SearchesOfPeopleLikeThese) {
  const Workplace& w = *work_;
  const nlohmann::json result =
      Must(kHeft, {"study", "searches", "--data", w("data"), "--model", w("model.heft"), "--split",
                   "train", "--replicates", "1", "--report", w("searches.html"), "--pictures",
                   w("searches")});
  EXPECT_EQ(result.at("searches").size(), 28u) << "two rates, two calibrations, seven galleries";
  EXPECT_EQ(result.at("law_checks").size(), 3u);
  EXPECT_THAT(Slurp(w("searches.html")), HasSubstr("Do FPIR thresholds hold?"));
  EXPECT_TRUE(std::filesystem::exists(w("searches/galleries.svg")));
}

// Lists of another study over the synthetic people: the first sample is enrolled, and every third
// person is a stranger.
TEST_F(EvaluateTest, RunsAProtocol) {
  const Workplace& w = *work_;
  std::string names, enrolling[2], probing[2];
  for (std::string* list : {&enrolling[0], &enrolling[1], &probing[0], &probing[1]}) {
    *list = "path,template_id,subject_id\n";
  }
  for (int row = 0; row < 30 * 4; ++row) {
    const int person = row / 4;
    const std::string path = "p" + std::to_string(person) + "/s" + std::to_string(row % 4);
    names += path + "\n";
    const bool enrolled = row % 4 == 0 && person % 3 != 0;
    (enrolled ? enrolling : probing)[person % 2] +=
        path + ".png," + path + "," + std::to_string(person) + "\n";
  }
  ASSERT_TRUE(WriteFileAtomic(w("names.txt"), std::string_view(names)).ok());
  const char* groups[] = {"dev", "eval"};
  for (int g = 0; g < 2; ++g) {
    std::filesystem::create_directories(w(std::string("protocol/") + groups[g]));
    ASSERT_TRUE(WriteFileAtomic(w(std::string("protocol/") + groups[g] + "/for_enrolling.csv"),
                                std::string_view(enrolling[g]))
                    .ok());
    ASSERT_TRUE(WriteFileAtomic(w(std::string("protocol/") + groups[g] + "/for_probing.csv"),
                                std::string_view(probing[g]))
                    .ok());
  }
  Args args = {"study",         "protocol",     "--data", w("data"),    "--model",
               w("model.heft"), "--replicates", "20",     "--protocol", w("protocol")};
  const Args unnamed_args = args;
  args.insert(args.end(), {"--names", w("names.txt"), "--scores", w("protocol.csv")});
  const nlohmann::json result = Must(kHeft, args);
  ASSERT_EQ(result.at("groups").size(), 2u);
  const auto& eval = result.at("groups")[1];
  EXPECT_EQ(eval.at("references"), 10);
  EXPECT_EQ(eval.at("probes_of_strangers"), 20);
  EXPECT_EQ(eval.at("genuine"), 30);
  EXPECT_EQ(eval.at("by_dev").at("comparisons").size(), 3u);
  EXPECT_EQ(eval.at("by_model").at("searches").size(), 2u);
  EXPECT_GT(eval.at("largest_gap"), 0);
  EXPECT_LE(eval.at("largest_gap"), kScoreNoise);
  EXPECT_THAT(Slurp(w("protocol.csv")), HasSubstr(",p1/s0,"));
  const nlohmann::json measured =
      Must(kHeft, {"evaluate", w("protocol.csv"), "--split", "eval", "--replicates", "20"});
  EXPECT_EQ(measured.at("systems")[0].at("genuine_comparisons"), 30);
  const Finished unnamed = RunProgram(kHeft, unnamed_args);
  EXPECT_EQ(unnamed.exit_code, kInput);
  EXPECT_THAT(unnamed.err, HasSubstr("names.txt"));
}

// Input that would be left out silently, or found wrong only after hours, is refused at once.
TEST_F(EvaluateTest, RefusesBeforeTheWork) {
  const Workplace& w = *work_;
  const std::tuple<Args, int, const char*> cases[] = {
      {{"--plain"}, kUsage, "need --folds"},
      {{"--report", w("data")}, kInput, "is a folder"},
      {{"--pictures", w("model.heft")}, kInput, "is a file"}};
  for (const auto& [more, code, said] : cases) {
    const Finished run = RunProgram(kHeft, Arguments(more));
    EXPECT_EQ(run.exit_code, code) << run.err;
    EXPECT_THAT(run.err, HasSubstr(said));
    EXPECT_THAT(run.err, Not(HasSubstr("%"))) << "it began";
  }
  const Finished file =
      RunProgram(kHeft, {"train", "--data", w("data"), "--folds", "3", "--out", w("model.heft")});
  EXPECT_EQ(file.exit_code, kInput) << file.err;
  EXPECT_THAT(file.err, HasSubstr("is a file"));
  const Finished nowhere = RunProgram(
      kHeft, {"train", "--data", w("data"), "--folds", "3", "--out", w("nowhere/folds/")});
  EXPECT_EQ(nowhere.exit_code, kInput) << nowhere.err;
  EXPECT_THAT(nowhere.err, HasSubstr("no such folder for the models of folds"));
  EXPECT_THAT(nowhere.err, Not(HasSubstr("%"))) << "it began";
  const Finished folder = RunProgram(kHeft, {"train", "--data", w("data"), "--out", w("data")});
  EXPECT_EQ(folder.exit_code, kInput) << folder.err;
  EXPECT_THAT(folder.err, HasSubstr("is a folder"));
}

TEST_F(EvaluateTest, TrainingWithoutLabelsNamesMethodsThatNeedNone) {
  const Workplace& w = *work_;
  std::filesystem::create_directory(w("unlabelled"));
  for (const char* name : {"face.npy", "voice.npy"}) {
    std::filesystem::copy_file(w("data/") + name, w("unlabelled/") + name);
  }
  Args args = {"train", "--data", w("unlabelled"), "--out", w("unlabelled.heft")};
  for (const char* how : {"", "learned"}) {
    Args learned = args;
    if (*how != 0) learned.insert(learned.end(), {"--method", how});
    const Finished refused = RunProgram(kHeft, learned);
    EXPECT_EQ(refused.exit_code, kInput) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("choose method pca or none"));
  }
  args.insert(args.end(), {"--method", "none"});
  EXPECT_TRUE(Must(kHeft, args).contains("model_id"));
}

TEST_F(EvaluateTest, SameSeedSameIntervals) {
  const nlohmann::json a = Must(kHeft, Arguments({"--seed", "7"}));
  const nlohmann::json b = Must(kHeft, Arguments({"--seed", "7", "--threads", "1"}));
  for (size_t i = 0; i < a.at("systems").size(); ++i) {
    const auto& x = a.at("systems")[i];
    const auto& y = b.at("systems")[i];
    if (!x.at("encrypted")) {
      EXPECT_EQ(x.at("auroc"), y.at("auroc")) << x.at("id");
    }
  }
}

TEST_F(EvaluateTest, WrongInputIsRefusedWithOneLine) {
  const Workplace& w = *work_;
  Must(kHeft, {"synth", "--out", w("one"), "--jitter", "1", "--identities", "10", "--samples", "3",
               "--dimensions", "24"});
  Must(kHeft, {"synth", "--out", w("wide"), "--jitter", "1", "--identities", "10", "--samples", "3",
               "--dimensions", "24", "20"});
  struct Case {
    Args args;
    int code;
    const char* message;
  };
  const std::string model = w("model.heft");
  for (const Case& c :
       {Case{{"--data", w("one"), "--model", model}, kInput, "no modality \"voice\""},
        Case{{"--data", w("wide"), "--model", model}, kInput, "dimension 20"},
        Case{{"--data", w("nothing"), "--model", model}, kInput, "nothing"},
        Case{{"--data", w("data"), "--model", w("data/labels.txt")}, kInput, "labels.txt"},
        Case{{"--data", w("data"), "--model", model, "--report", w("no/such/report.html")},
             kInput,
             "no such folder"},
        Case{{"--data", w("data"), "--model", model, "--split", "tset"}, kInput, "tset"}}) {
    Args args = {"evaluate", "--quiet"};
    args.insert(args.end(), c.args.begin(), c.args.end());
    const Finished run = RunProgram(kHeft, args);
    EXPECT_EQ(run.exit_code, c.code) << run.err;
    EXPECT_THAT(run.err, HasSubstr(c.message));
    if (c.code == kInput) {
      EXPECT_EQ(Lines(run.err), 1u) << run.err;
    }
    EXPECT_EQ(run.out, "");
  }
}

// Whole jobs. One runs in a process of its own, which takes files in the ordinary way.
TEST(Bench, RunsEveryJob) {
  const nlohmann::json result = Must(kHeft, {"bench", "--iterations", "1", "--templates", "16",
                                             "--dimensions", "16", "12", "--gamma", "8", "16"});
  ASSERT_EQ(result["dimensions"].size(), 2u) << result;
  for (const auto& [gamma, of] : result["dimensions"].items()) {
    for (const char* key : {"fuse_ms", "client_fused_match_16_ms", "identify_cold_ms",
                            "verify_cold_ms", "reply_bytes_per_score", "enrol_bulk_per_s"}) {
      EXPECT_GT(of.value(key, 0.0), 0) << gamma << " " << key;
    }
    EXPECT_GT(of["by_instruction_set"]["reference"].value("fuse_ms", 0.0), 0) << gamma;
  }
  EXPECT_GT(result["operations"].value("rotate_top_ms", 0.0), 0);
}

}  // namespace
}  // namespace heft::e2e
