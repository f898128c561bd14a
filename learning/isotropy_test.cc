// SPDX-License-Identifier: Apache-2.0
#include "learning/isotropy.h"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>

#include "features/effective_dimension.h"
#include "features/random.h"
#include "learning/projection.h"
#include "learning/recipe.h"

namespace heft {
namespace {

// 400 samples of 12 dimensions whose deviations fall from 3 to 0.5.
FeatureMatrix FallingSamples() {
  Random random(3);
  FeatureMatrix samples(400, 12);
  for (double& value : samples.reshaped()) value = random.Normal();
  for (Eigen::Index k = 0; k < samples.cols(); ++k) samples.col(k) *= 3.0 - 2.5 / 11 * k;
  return samples;
}

FeatureMatrix Projection() {
  Random random(4);
  FeatureMatrix projection(8, 12);
  for (double& value : projection.reshaped()) value = random.Normal();
  return projection;
}

TEST(IsotropyTest, WithoutALimitTheProjectionStays) {
  EXPECT_EQ(Limiter(Projection(), FallingSamples()).Projection(0), Projection());
}

// By the definition: M and its eigenvectors computed here, and each direction looked at.
TEST(IsotropyTest, StrongDirectionsAreBroughtToTheLimitAndOthersStay) {
  const FeatureMatrix projection = Projection(), samples = FallingSamples();
  constexpr double kLimit = 1.25;
  const FeatureMatrix limited = Limiter(projection, samples).Projection(kLimit);
  FeatureMatrix templates = samples * projection.transpose();
  templates.rowwise().normalize();
  const Eigen::MatrixXd moment = templates.transpose() * templates / 400.0;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solved(moment);
  const double most = kLimit * moment.trace() / 8;
  int above = 0;
  for (Eigen::Index i = 0; i < 8; ++i) {
    const Eigen::RowVectorXd before = solved.eigenvectors().col(i).transpose() * projection;
    const Eigen::RowVectorXd after = solved.eigenvectors().col(i).transpose() * limited;
    const double value = solved.eigenvalues()[i];
    above += value > most ? 1 : 0;
    const double factor = value > most ? std::sqrt(most / value) : 1;
    EXPECT_LT((after - factor * before).norm(), 1e-9 * before.norm()) << i;
  }
  EXPECT_GT(above, 0);
  EXPECT_LT(above, 8);
}

TEST(IsotropyTest, ALowerLimitHasMoreEffectiveDimensions) {
  const FeatureMatrix samples = FallingSamples();
  const Limiter limiter(Projection(), samples);
  double first = 0, last = 0;
  for (const double limit : recipe::kLimits) {
    FeatureMatrix templates = ProjectAll(limiter.Projection(limit), samples);
    templates.rowwise().normalize();
    const auto dimension = EffectiveDimension(templates);
    ASSERT_TRUE(dimension.ok()) << dimension.status();
    EXPECT_GE(*dimension, last) << limit;
    last = *dimension;
    if (limit == 0) first = last;
  }
  EXPECT_GT(last, 1.2 * first);
}

}  // namespace
}  // namespace heft
