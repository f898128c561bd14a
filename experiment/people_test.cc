// SPDX-License-Identifier: Apache-2.0
#include "experiment/people.h"

#include <gtest/gtest.h>

#include <cmath>

#include "experiment/search_study.h"
#include "features/random.h"

namespace heft::experiment {
namespace {

// People whose coordinates have these deviations, and samples around them.
struct Sample {
  FeatureMatrix z;
  std::vector<int> identities;
};
Sample Draw(int people, int samples, uint64_t seed, int freedom = 0) {
  constexpr int kDimension = 16;
  Random random(seed);
  Sample out;
  out.z.resize(people * samples, kDimension);
  for (int p = 0; p < people; ++p) {
    double chi = freedom;
    if (freedom > 0) {
      chi = 0;
      for (int k = 0; k < freedom; ++k) chi += std::pow(random.Normal(), 2);
    }
    const double size = freedom > 0 ? std::sqrt((freedom - 2) / chi) : 1;
    Eigen::RowVectorXd own(kDimension);
    for (int d = 0; d < kDimension; ++d) own[d] = size * random.Normal() / (1 + 0.1 * d);
    for (int s = 0; s < samples; ++s) {
      for (int d = 0; d < kDimension; ++d) {
        out.z(p * samples + s, d) = 0.1 + own[d] + 0.4 * random.Normal();
      }
      out.identities.push_back(p);
    }
  }
  return out;
}

double RateAbove(const FeatureMatrix& unit, std::span<const int> identities, double score) {
  const FeatureMatrix scores = unit * unit.transpose();
  double above = 0, pairs = 0;
  for (Eigen::Index i = 0; i < scores.rows(); ++i) {
    for (Eigen::Index j = i + 1; j < scores.cols(); ++j) {
      if (identities[static_cast<size_t>(i)] == identities[static_cast<size_t>(j)]) continue;
      above += scores(i, j) >= score;
      pairs += 1;
    }
  }
  return above / pairs;
}

// The claim: from some people, others are made whose impostors score as those of new real ones do.
TEST(People, ScoreAsThoseOfTheDataDo) {
  const Sample large = Draw(1200, 1, 1);
  const FeatureMatrix real = large.z.rowwise().normalized();
  double ratio[2] = {};
  constexpr int kTrials = 8;
  for (uint64_t trial = 0; trial < kTrials; ++trial) {
    const Sample few = Draw(45, 6, 10 + trial);
    const auto law = FitPeople(few.z, few.identities);
    ASSERT_TRUE(law.ok()) << law.status();
    const Crowd made = DrawCrowd(*law, 1200, 1, 5);
    for (int k = 0; k < 2; ++k) {
      const double score = k == 0 ? 0.4 : 0.6;
      ratio[k] += std::log(RateAbove(made.unit, made.identities, score) /
                           RateAbove(real, large.identities, score)) /
                  kTrials;
    }
  }
  EXPECT_NEAR(std::exp(ratio[0]), 1, 0.25);
  EXPECT_NEAR(std::exp(ratio[1]), 1, 0.5);
}

TEST(People, TailsAreThoseOfTheData) {
  const Sample even = Draw(400, 4, 3), heavy = Draw(400, 4, 3, 6);
  const auto normal = FitPeople(even.z, even.identities);
  const auto student = FitPeople(heavy.z, heavy.identities);
  ASSERT_TRUE(normal.ok() && student.ok());
  EXPECT_TRUE(normal->between_freedom == 0 || normal->between_freedom > 25)
      << normal->between_freedom;
  EXPECT_GE(student->between_freedom, 5);
  EXPECT_LE(student->between_freedom, 12);
}

TEST(People, AreTheSameForTheSameSeedAndOfLengthOne) {
  const Sample few = Draw(20, 3, 1);
  const auto law = FitPeople(few.z, few.identities);
  ASSERT_TRUE(law.ok()) << law.status();
  const Crowd a = DrawCrowd(*law, 5, 2, 9), b = DrawCrowd(*law, 5, 2, 9);
  EXPECT_EQ(a.unit, b.unit);
  EXPECT_NEAR(a.unit.row(3).norm(), 1, 1e-12);
  EXPECT_EQ(a.identities, (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_FALSE(FitPeople(Draw(9, 3, 1).z, Draw(9, 3, 1).identities).ok());
  EXPECT_FALSE(FitPeople(Draw(30, 1, 1).z, Draw(30, 1, 1).identities).ok()) << "no second sample";
}

TEST(SearchStudy, AsksForRatesAndMeetsThem) {
  Sample few = Draw(60, 4, 1);
  const PeopleOf people = {few.z, few.identities};
  SearchStudyOptions options;
  options.draws = 3;
  options.calibrate_on = {100};
  const auto study = StudySearches({}, std::span(&people, 1), options);
  ASSERT_TRUE(study.ok()) << study.status();
  ASSERT_EQ(study->rows.size(), 14u);
  for (const StudyRow& row : study->rows) {
    EXPECT_EQ(row.draws, 3);
    if (row.people > 100 || row.refused > 0) continue;
    EXPECT_GT(row.ratio, 0.3) << row.asked << " " << row.people;
    EXPECT_LT(row.ratio, 3) << row.asked << " " << row.people;
  }
  EXPECT_EQ(study->rows.back().refused, 3) << "1e-2 among 10,000 from 100 people";
  EXPECT_EQ(ToJson(*study)["searches"].size(), 14u);
  options.draws = 0;
  EXPECT_FALSE(StudySearches({}, std::span(&people, 1), options).ok());
}

}  // namespace
}  // namespace heft::experiment
