// SPDX-License-Identifier: Apache-2.0
#include "features/decompositions.h"

#include <gtest/gtest.h>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "features/random.h"

namespace heft {
namespace {

Eigen::MatrixXd RandomMatrix(Random& random, Eigen::Index rows, Eigen::Index columns) {
  Eigen::MatrixXd matrix(rows, columns);
  for (double& value : matrix.reshaped()) value = random.Normal();
  return matrix;
}

// Q diag(values) Q' of a random orthogonal Q.
Eigen::MatrixXd WithEigenvalues(Random& random, const Eigen::VectorXd& values) {
  const Eigen::MatrixXd any = RandomMatrix(random, values.size(), values.size());
  const Eigen::MatrixXd q = Eigen::HouseholderQR<Eigen::MatrixXd>(any).householderQ();
  return q * values.asDiagonal() * q.transpose();
}

void ExpectLeading(const Eigen::MatrixXd& matrix, Eigen::Index count) {
  const Eigen::MatrixXd lower = matrix.triangularView<Eigen::Lower>();  // the rest is not read
  const Spectrum all = SpectrumOf(matrix), leading = LeadingSpectrum(lower, count);
  const Eigen::Index found = std::min(count, matrix.rows());
  const double tolerance =
      1e-12 * static_cast<double>(matrix.rows()) * matrix.cwiseAbs().maxCoeff();
  ASSERT_EQ(leading.values.size(), found);
  ASSERT_EQ(leading.vectors.cols(), found);
  EXPECT_LT((leading.values - all.values.tail(found)).cwiseAbs().maxCoeff(), tolerance);
  EXPECT_LT((matrix * leading.vectors - leading.vectors * leading.values.asDiagonal())
                .cwiseAbs()
                .maxCoeff(),
            tolerance);
  EXPECT_LT(
      (leading.vectors.transpose() * leading.vectors - Eigen::MatrixXd::Identity(found, found))
          .cwiseAbs()
          .maxCoeff(),
      1e-11);
}

class LeadingSpectrumTest : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Counts, LeadingSpectrumTest, ::testing::Values(1, 40, 90, 200));

TEST_P(LeadingSpectrumTest, IsTheEndOfTheWholeSpectrum) {
  Random random(1);
  const Eigen::MatrixXd many = RandomMatrix(random, 360, 180);
  ExpectLeading(many.transpose() * many, GetParam());
  const Eigen::MatrixXd few = RandomMatrix(random, 60, 180);  // more directions than it has
  ExpectLeading(few.transpose() * few, GetParam());
}

// Vectors of equal or nearly equal eigenvalues are arbitrary, and orthogonal all the same.
TEST_P(LeadingSpectrumTest, EigenvaluesMayBeEqual) {
  Random random(2);
  ExpectLeading(Eigen::MatrixXd::Identity(180, 180), GetParam());
  ExpectLeading(Eigen::MatrixXd::Ones(180, 180), GetParam());
  Eigen::VectorXd values(180);
  for (Eigen::Index i = 0; i < 180; ++i) values[i] = static_cast<double>(i / 8);
  ExpectLeading(values.asDiagonal(), GetParam());
  ExpectLeading(WithEigenvalues(random, values), GetParam());
  for (Eigen::Index i = 0; i < 180; ++i) values[i] += 1e-12 * static_cast<double>(i);
  ExpectLeading(WithEigenvalues(random, values), GetParam());
  for (Eigen::Index i = 0; i < 180; ++i) values[i] = std::pow(0.8, static_cast<double>(i));
  ExpectLeading(WithEigenvalues(random, values), GetParam());
}

TEST(LeadingSpectrum, OfZeroIsZero) {
  const Spectrum spectrum = LeadingSpectrum(Eigen::MatrixXd::Zero(180, 180), 3);
  EXPECT_EQ(spectrum.values, Eigen::VectorXd::Zero(3));
}

}  // namespace
}  // namespace heft
