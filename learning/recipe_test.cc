// SPDX-License-Identifier: Apache-2.0
// The recipe and its page: docs/recipe.md holds the choices in a block of JSON, and their hash.
#include "learning/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing.h"
#include "heft/train.h"
#include "learning/train.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

TEST(RecipeTest, ThePageSaysWhatTheCodeDoes) {
  const auto page = ReadTextFile(testing::SourcePath("docs/recipe.md"));
  ASSERT_TRUE(page.ok()) << page.status();
  const size_t begin = page->find("```json\n");
  ASSERT_NE(begin, std::string::npos);
  const size_t end = page->find("```", begin + 8);
  const auto written = Json::Parse(page->substr(begin + 8, end - begin - 8));
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(*written, recipe::Choices()) << recipe::Choices().dump(2);
  EXPECT_THAT(*page, HasSubstr(recipe::Hash())) << "the hash of the choices";
}

// What callers get who choose nothing is the recipe's.
TEST(RecipeTest, DefaultsOfBothInterfaces) {
  const TrainOptions train;
  EXPECT_EQ(train.lambda, recipe::kLambda);
  EXPECT_EQ(train.margin, recipe::kMargin);
  EXPECT_EQ(train.weight_decay, recipe::kWeightDecay);
  EXPECT_LT(train.shrinkage, 0) << "chosen";
  EXPECT_EQ(train.degree, recipe::kDegree);
  EXPECT_EQ(train.max_batch, recipe::kMaxBatch);
  EXPECT_EQ(train.interval_margin, recipe::kIntervalMargin);
  const LearnOptions learn;
  EXPECT_EQ(learn.gamma, 0) << "chosen";
  EXPECT_EQ(learn.lambda, recipe::kLambda);
  EXPECT_EQ(learn.margin, recipe::kMargin);
  EXPECT_EQ(learn.weight_decay, recipe::kWeightDecay);
  EXPECT_LT(learn.shrinkage, 0) << "chosen";
  EXPECT_TRUE(learn.method.empty()) << "chosen";
  EXPECT_TRUE(learn.modality_weights.empty()) << "chosen";
}

}  // namespace
}  // namespace heft
