// SPDX-License-Identifier: Apache-2.0
#include "learning/trained_model.h"

#include <gtest/gtest.h>

#include "features/dataset.h"

namespace heft {
namespace {

Dataset SmallDataset() {
  SyntheticOptions options;
  options.factors.emplace();
  options.identities = 24;
  options.samples_per_identity = 4;
  options.dimensions = {16, 12};
  return *SynthesiseDataset(options);
}

TrainOptions FewSteps() {
  TrainOptions options;
  options.gamma = 8;
  options.epochs = 2;
  return options;
}

TEST(TrainedModel, HoldsWhatTheTrainingFound) {
  const Dataset dataset = SmallDataset();
  const auto aware = Train(dataset, FewSteps());
  ASSERT_TRUE(aware.ok()) << aware.status();
  const FoldNumber fold{5, 7, 2, dataset.Rows()};
  Decisions decisions;
  decisions.tables = {{3, {{0.1, 0.5, 0.2, 400}}, {}, {{8, -4}}}, {1, {{0.1, 0.25, 0.3, 400}}}};
  decisions.sample_agreement = 0.75;
  decisions.summary["fusion"] = "won";
  const auto model = MakeModel(dataset, *aware, {"standard", &*aware, &decisions, fold});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->gamma, 8u);
  EXPECT_EQ(model->modalities.size(), 2u);
  EXPECT_EQ(model->projection.size(), 8u * 28);
  EXPECT_EQ(model->exact_projection, model->projection);
  EXPECT_EQ(model->approximation, aware->approximation);
  EXPECT_EQ(model->tables, decisions.tables);
  EXPECT_EQ(model->sample_agreement, decisions.sample_agreement);
  EXPECT_EQ(Json::Parse(model->training_summary)->find("fusion")->get<std::string>(), "won");
  EXPECT_EQ(FoldOf(*model), fold);
  const auto read = Model::Parse(model->Serialize(), "model");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(FoldOf(*read), fold);
  EXPECT_EQ(FoldOf(*MakeModel(dataset, *aware)), std::nullopt);
}

TEST(TrainedModel, RefusesAFormThatNoProfileEvaluates) {
  const Dataset dataset = SmallDataset();
  TrainOptions options = FewSteps();
  EXPECT_TRUE(CheckEvaluable(dataset, options, "standard").ok());
  options.degree = 9;
  EXPECT_FALSE(CheckEvaluable(dataset, options, "standard").ok());
  EXPECT_FALSE(CheckEvaluable(dataset, FewSteps(), "no such profile").ok());
}

}  // namespace
}  // namespace heft
