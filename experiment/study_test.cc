// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/testing.h"
#include "experiment/random_model.h"
#include "heft/evaluate.h"
#include "heft/files.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

std::string Why(const StudyOptions& options) {
  const absl::Status status = CheckStudy(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

// What a study would leave out silently is refused.
TEST(StudyTest, EachUsesWhatItIsGiven) {
  StudyOptions one = {.data = "data", .models = {"m.heft"}};
  EXPECT_TRUE(CheckStudy(one).ok());
  one.study = Study::kSearches;
  EXPECT_TRUE(CheckStudy(one).ok());
  one.plain = true;
  EXPECT_THAT(Why(one), HasSubstr("study searches: --plain has no effect"));
  one.plain = false, one.scores = true;
  EXPECT_THAT(Why(one), HasSubstr("leave out --scores"));
  one.scores = false, one.partial_probes = true;
  EXPECT_THAT(Why(one), HasSubstr("--partial-probes has no effect"));
  EXPECT_THAT(Why({.study = Study::kProtocol, .models = {"a"}, .protocol = "l", .pictures = true}),
              HasSubstr("drawn into --report"));
  EXPECT_THAT(
      Why({.study = Study::kGallery, .models = {"a"}, .distractors = "d", .pictures = true}),
      HasSubstr("draws no pictures"));
  EXPECT_TRUE(CheckStudy({.study = Study::kChoices, .folds = 3, .partial_probes = true}).ok());
}

TEST(StudyTest, EachTakesModelsOfItsOwn) {
  EXPECT_THAT(Why({}), HasSubstr("give one model with --model, or --folds"));
  EXPECT_THAT(Why({.models = {"a", "b"}}), HasSubstr("give one model"));
  EXPECT_THAT(Why({.models = {"a"}, .plain = true}), HasSubstr("need --folds"));
  EXPECT_THAT(Why({.folds = 3}), HasSubstr("with --folds give --model FOLDER"));
  EXPECT_TRUE(CheckStudy({.models = {"a", "b"}, .folds = 3}).ok());
  EXPECT_THAT(Why({.study = Study::kChoices, .models = {"a"}, .folds = 3}),
              HasSubstr("no --model"));
  EXPECT_THAT(Why({.study = Study::kProtection, .models = {"a"}, .folds = 3}),
              HasSubstr("no --folds"));
  EXPECT_THAT(Why({.study = Study::kSamples, .models = {"a", "b"}, .folds = 3}),
              HasSubstr("one folder of models"));
  EXPECT_THAT(Why({.study = Study::kSamples, .models = {"a"}, .folds = 3, .samples = {}}),
              HasSubstr("--samples"));
  EXPECT_THAT(Why({.study = Study::kSearches, .models = {"a", "b"}}),
              HasSubstr("one --model, FILE or"));
  EXPECT_THAT(Why({.study = Study::kProtocol, .models = {"a"}, .folds = 3, .protocol = "lists"}),
              HasSubstr("and no --folds"));
  EXPECT_THAT(Why({.study = Study::kProtocol, .models = {"a"}}), HasSubstr("--protocol FOLDER"));
  EXPECT_THAT(Why({.study = Study::kGallery, .models = {"a"}, .folds = 3, .distractors = "d"}),
              HasSubstr("and no --folds"));
  EXPECT_THAT(Why({.study = Study::kGallery, .models = {"a"}}), HasSubstr("--distractors FOLDER"));
  EXPECT_TRUE(
      CheckStudy({.study = Study::kGallery, .models = {"a"}, .distractors = "d", .plain = true})
          .ok());
}

TEST(StudyTest, RunsWhatItsFilesSay) {
  const testing::TemporaryFolder folder;
  const std::string data = folder / "data", file = folder / "m.heft";
  SyntheticOptions people;
  people.identities = 12, people.samples_per_identity = 3, people.dimensions = {24, 16};
  people.factors.emplace();
  const TrainingData made = *TrainingData::Synthesise(people);
  ASSERT_TRUE(made.Write(data).ok());
  const auto learned = Learn(made, {.gamma = 16, .epochs = 1});
  ASSERT_TRUE(learned.ok()) << learned.status();
  ASSERT_TRUE(WriteFile(file, learned->Serialize()).ok());
  auto study = LoadStudy({.data = data, .models = {file}, .replicates = 10});
  ASSERT_TRUE(study.ok()) << study.status();
  const std::vector<FoldModels> models = std::exchange(study->models, {});
  EXPECT_EQ(RunStudy(*study).status().code(), absl::StatusCode::kInvalidArgument);
  study->models = models;
  study->options.plain = true;
  EXPECT_EQ(RunStudy(*study).status().code(), absl::StatusCode::kInvalidArgument);
  study->options.plain = false;
  const auto report = RunStudy(*study);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(std::as_const(report->json)["model"]["file"].get<std::string>(), file);
  const Json known = report->json;
  EXPECT_EQ(known["unavailable"].size(), 0u);
  EXPECT_GT(known["model"]["effective_dimension"].get<double>(), 1);
  EXPECT_EQ(known["fusion"]["rivals"].size(), 3u);
  // All people of the folder are judged: none are left for training, and systems that need it say
  // so.
  study->options.split = "all";
  const auto alone = RunStudy(*study);
  ASSERT_TRUE(alone.ok()) << alone.status();
  const Json all = alone->json;
  EXPECT_EQ(all["data"]["samples"], 36);
  EXPECT_EQ(all["data"]["split"], "all");
  ASSERT_EQ(all["unavailable"].size(), 2u);
  EXPECT_EQ(all["unavailable"][0]["id"], "pca");
  EXPECT_EQ(all["unavailable"][0]["reason"], "no training people");
  EXPECT_THAT(alone->text, HasSubstr("not available: no training people"));
  EXPECT_THAT(alone->text, HasSubstr("equal weights: no training people"));
  EXPECT_THAT(alone->warnings,
              ::testing::Contains(HasSubstr("samples are of people for training or validation")));
  // Without split.txt a part of the people is judged, which is said.
  std::filesystem::remove(data + "/split.txt");
  study = LoadStudy({.data = data, .models = {file}, .replicates = 10});
  ASSERT_TRUE(study.ok()) << study.status();
  const auto dealt = RunStudy(*study);
  ASSERT_TRUE(dealt.ok()) << dealt.status();
  EXPECT_THAT(dealt->text, HasSubstr("There is no split.txt: "));
  EXPECT_FALSE(LoadStudy({.data = data, .models = {folder / "nowhere"}}).ok());
}

}  // namespace
}  // namespace heft
