// SPDX-License-Identifier: Apache-2.0
// Beliefs after scores, by hand.
#include "evaluation/belief.h"

#include <gtest/gtest.h>

#include <cmath>

#include "features/random.h"

namespace heft {
namespace {

// Mean (1, 2), covariance ((4, 2), (2, 3)).
Belief Prior() {
  Eigen::MatrixXd covariance(2, 2);
  covariance << 4, 2, 2, 3;
  return {Eigen::Vector2d(1, 2), SpectrumOf(covariance)};
}

Eigen::MatrixXd MatrixOf(const Spectrum& s) {
  return s.vectors * s.values.asDiagonal() * s.vectors.transpose();
}

// A score of the first axis with error 1 has variance 5, so the gain is (4, 2) / 5. A score of 6 is
// 5 above the expected one: the mean moves by (4, 2). ((4, 2), (2, 3)) - (4, 2)' (4, 2) / 5 is
// left.
TEST(BeliefTest, AScoreOfOneAxis) {
  const Belief prior = Prior();
  const Measurement m = Measure(prior, Eigen::RowVector2d(1, 0), 1);
  EXPECT_NEAR(m.gain(0, 0), 0.8, 1e-12);
  EXPECT_NEAR(m.gain(1, 0), 0.4, 1e-12);
  const Eigen::VectorXd after = After(prior, m, Eigen::VectorXd::Constant(1, 6));
  EXPECT_NEAR(after(0), 5, 1e-12);
  EXPECT_NEAR(after(1), 4, 1e-12);
  const Eigen::MatrixXd left = MatrixOf(LeftAfter(prior, m, after));
  EXPECT_NEAR(left(0, 0), 0.8, 1e-12);
  EXPECT_NEAR(left(0, 1), 0.4, 1e-12);
  EXPECT_NEAR(left(1, 1), 2.2, 1e-12);
}

// Two exact scores of independent probes are the template.
TEST(BeliefTest, AsManyExactScoresAsDimensions) {
  const Belief prior = Prior();
  Eigen::MatrixXd probes(2, 2);
  probes << 1, 1, 0, 2;
  const Eigen::Vector2d truth(-3, 0.5);
  const Eigen::VectorXd after = After(prior, Measure(prior, probes, 1e-14), probes * truth);
  EXPECT_NEAR((after - truth).norm(), 0, 1e-9);
}

TEST(BeliefTest, TheLargestDirectionsAreMeasuredAsAnyOthers) {
  const Belief prior = Prior();
  const Largest largest = MeasureLargest(prior, 1, 0.25);
  const Measurement same = Measure(prior, largest.measurement.probes, 0.25);
  EXPECT_NEAR((largest.measurement.gain - same.gain).norm(), 0, 1e-12);
  const Eigen::MatrixXd left = MatrixOf(LeftAfter(prior, same, prior.mean));
  EXPECT_NEAR((MatrixOf(largest.left) - left).norm(), 0, 1e-12);
}

// Along which direction is a sample of this Gaussian most likely to reach the threshold?
double BestOfAllAngles(const Eigen::VectorXd& mean, const Eigen::MatrixXd& covariance,
                       double threshold) {
  double best = -1e9;
  for (int i = 0; i < 100000; ++i) {
    const double a = 2e-5 * M_PI * i;
    const Eigen::Vector2d g(std::cos(a), std::sin(a));
    best = std::max(best, (g.dot(mean) - threshold) / std::sqrt(g.dot(covariance * g)));
  }
  return best;
}

TEST(BeliefTest, TheLikeliestVectorIsTheBestOfAll) {
  Eigen::MatrixXd covariance(2, 2);
  covariance << 0.09, 0.02, 0.02, 0.04;
  const Spectrum spectrum = SpectrumOf(covariance);
  for (const Eigen::Vector2d& mean :
       {Eigen::Vector2d(0.1, 0.2), Eigen::Vector2d(0, 0.1), Eigen::Vector2d(0.3, 0.6)}) {
    const Eigen::VectorXd g = LikeliestAccepted(mean, spectrum, 0.5);
    EXPECT_NEAR(g.norm(), 1, 1e-12);
    const double reach = (g.dot(mean) - 0.5) / std::sqrt(g.dot(covariance * g));
    EXPECT_NEAR(reach, BestOfAllAngles(mean, covariance, 0.5), 0.01);
  }
}

TEST(BeliefTest, MeanAndCovarianceOfRows) {
  FeatureMatrix rows(4, 2);
  rows << 1, 0, 3, 0, 1, 4, 3, 4;
  const Belief belief = BeliefOf(rows);
  EXPECT_NEAR(belief.mean(0), 2, 1e-12);
  EXPECT_NEAR(belief.mean(1), 2, 1e-12);
  // 1 and 4, moved by a twentieth towards their mean of 2.5.
  EXPECT_NEAR(belief.covariance.values(0), 0.95 + 0.125, 1e-12);
  EXPECT_NEAR(belief.covariance.values(1), 3.8 + 0.125, 1e-12);
}

FeatureMatrix RandomRows(int count, int dimensions) {
  Random random(7);
  FeatureMatrix rows(count, dimensions);
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < dimensions; ++j) rows(i, j) = 0.3 + random.Normal() / (1 + j);
  }
  return rows;
}

// Fewer rows than dimensions: the space of the rows, and one variance outside of it.
TEST(BeliefTest, FewRowsHaveTheCovarianceOfAllDimensions) {
  const FeatureMatrix rows = RandomRows(70, 100);
  const FeatureMatrix centred = rows.rowwise() - rows.colwise().mean();
  Eigen::MatrixXd expected = 0.95 / 70 * centred.transpose() * centred;
  const double added = 0.05 * centred.squaredNorm() / 70 / 100;
  expected.diagonal().array() += added;
  const Belief belief = BeliefOf(rows);
  const Eigen::MatrixXd& vectors = belief.covariance.vectors;
  ASSERT_EQ(vectors.cols(), 70);
  const Eigen::MatrixXd outside =
      Eigen::MatrixXd::Identity(100, 100) - vectors * vectors.transpose();
  EXPECT_NEAR((MatrixOf(belief.covariance) + added * outside - expected).norm(), 0, 1e-12);
  EXPECT_NEAR(belief.norm, expected.norm(), 1e-12);
  EXPECT_NEAR((outside * rows.transpose()).norm(), 0, 1e-10);
}

// Differential: the vector most likely to be accepted, from the part that is left and from all of
// it.
TEST(BeliefTest, TheLeftPartIsEnough) {
  for (const int count : {70, 300}) {
    const FeatureMatrix rows = RandomRows(count, 100);
    const Belief prior = BeliefOf(rows);
    for (const int probes : {1, 4, 30}) {
      const Measurement m = Measure(prior, rows.topRows(probes), 1e-4);
      const Eigen::VectorXd mean = After(prior, m, Eigen::VectorXd::Constant(probes, 0.5));
      const Eigen::MatrixXd left =
          MatrixOf(prior.covariance) - m.gain * m.probes * MatrixOf(prior.covariance);
      const Spectrum all = SpectrumOf((left + left.transpose()) / 2);
      for (const double threshold : {0.3, 0.9}) {
        const Eigen::VectorXd expected =
            LikeliestAccepted(mean, {all.values.cwiseMax(0), all.vectors}, threshold);
        const Eigen::VectorXd found = LikeliestAccepted(mean, LeftAfter(prior, m, mean), threshold);
        EXPECT_NEAR((found - expected).norm(), 0, 1e-6) << count << " " << probes;
      }
    }
  }
}

}  // namespace
}  // namespace heft
