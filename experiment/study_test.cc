// SPDX-License-Identifier: Apache-2.0
#include "heft/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.h"
#include "experiment/random_model.h"
#include "heft/files.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

std::string Why(const StudyOptions& options) {
  const absl::Status status = CheckStudy(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

TEST(StudyTest, OneAtATime) {
  StudyOptions one = {.data = "data", .models = {"m.heft"}};
  EXPECT_TRUE(CheckStudy(one).ok());
  one.searches = one.protection = true;
  EXPECT_THAT(Why(one), HasSubstr("--searches and --protection measure different things"));
  one.protection = false;
  EXPECT_TRUE(CheckStudy(one).ok());
  one.plain = true;
  EXPECT_THAT(Why(one), HasSubstr("--plain says nothing of --searches"));
  one.plain = false, one.scores = true;
  EXPECT_THAT(Why(one), HasSubstr("--scores does not go with --searches"));
  StudyOptions folds = {.folds = 3, .choices = true, .partial_probes = true};
  EXPECT_TRUE(CheckStudy(folds).ok()) << "these go together";
  folds.protocol = "lists";
  EXPECT_THAT(Why(folds), HasSubstr("give one at a time"));
}

TEST(StudyTest, EachTakesModelsOfItsOwn) {
  EXPECT_THAT(Why({}), HasSubstr("give one model with --model, or --folds"));
  EXPECT_THAT(Why({.models = {"a", "b"}}), HasSubstr("give one model"));
  EXPECT_THAT(Why({.models = {"a"}, .plain = true}), HasSubstr("need --folds"));
  EXPECT_THAT(Why({.folds = 3}), HasSubstr("with --folds give --model FOLDER"));
  EXPECT_THAT(Why({.models = {"a"}, .folds = 3, .choices = true}), HasSubstr("or --choices"));
  EXPECT_THAT(Why({.models = {"a"}, .folds = 3, .protection = true}), HasSubstr("takes one model"));
  EXPECT_THAT(Why({.models = {"a", "b"}, .folds = 3, .samples = {1, 2}}),
              HasSubstr("one folder of models"));
  EXPECT_THAT(Why({.models = {"a", "b"}, .searches = true}), HasSubstr("one --model, FILE or"));
  EXPECT_THAT(Why({.models = {"a"}, .folds = 3, .protocol = "lists"}), HasSubstr("and no --folds"));
  EXPECT_THAT(Why({.models = {"a"}, .protocol = "lists", .pictures = true}),
              HasSubstr("draws its pictures into --report"));
  EXPECT_TRUE(CheckStudy({.models = {"a", "b"}, .folds = 3}).ok());
}

TEST(StudyTest, RunsWhatItsFilesSay) {
  const testing::TemporaryFolder folder;
  const std::string data = folder / "data", file = folder / "m.heft";
  SyntheticOptions people;
  people.identities = 12, people.samples_per_identity = 3, people.dimensions = {24, 16};
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
  EXPECT_FALSE(LoadStudy({.data = data, .models = {folder / "nowhere"}}).ok());
}

}  // namespace
}  // namespace heft
