// SPDX-License-Identifier: Apache-2.0
#include "learning/training_marks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "learning/trained_model.h"

namespace heft {
namespace {

constexpr int kPeople = 40, kSamplesOfOne = 6;

Dataset MakePeople() {
  SyntheticOptions options;
  options.factors.emplace();
  options.identities = kPeople;
  options.samples_per_identity = kSamplesOfOne;
  options.dimensions = {16, 12};
  Dataset people = *SynthesiseDataset(options);
  for (int row = 0; row < people.Rows(); ++row) {
    people.split[row] = row < people.Rows() / 2 ? Split::kTest : Split::kTrain;
  }
  return people;
}

Dataset Part(const Dataset& people, int first, int count) {
  std::vector<int> rows;
  for (int row = first * kSamplesOfOne; row < (first + count) * kSamplesOfOne; ++row)
    rows.push_back(row);
  return SelectRows(people, rows);
}

TEST(TrainingMarksTest, AreOfTrainingVectorsAlone) {
  Dataset people = MakePeople();
  const Json marks = TrainingMarks(people);
  EXPECT_EQ(marks.size(), kTrainingMarks);
  EXPECT_EQ(CountMarked(marks, people), kTrainingMarks);
  EXPECT_EQ(CountMarked(marks, Part(people, 0, 20)), 0u) << "test people";
  const size_t half = CountMarked(marks, Part(people, 20, 10));
  EXPECT_GT(half, kTrainingMarks / 6);
  EXPECT_LT(half, 5 * kTrainingMarks / 6);
  EXPECT_EQ(CountMarked(Json(), people), 0u);
  std::ranges::fill(people.split, Split::kTest);
  EXPECT_EQ(TrainingMarks(people).size(), 0u);
}

// A vector that another one is paired with, or in another order, is the same vector.
TEST(TrainingMarksTest, AreOfEachModalityByItself) {
  const Dataset people = MakePeople();
  Dataset voices = people;
  voices.modalities.erase(voices.modalities.begin());
  const Json marks = TrainingMarks(people);
  const size_t found = CountMarked(marks, voices);
  EXPECT_GT(found, 0u);
  EXPECT_LT(found, kTrainingMarks);
}

TEST(TrainingMarksTest, StandInTheSummaryOfALearnedModel) {
  const Dataset people = MakePeople();
  TrainResult result;
  result.projection = FeatureMatrix::Identity(8, 28);
  const Decisions decisions;
  ModelOptions options;
  options.decisions = &decisions;
  const Model model = AssembleModel(people, result, options);
  EXPECT_EQ((*Json::Parse(model.training_summary))["training_marks"], TrainingMarks(people));
}

}  // namespace
}  // namespace heft
