// SPDX-License-Identifier: Apache-2.0
#include "learning/discriminant.h"

#include <gtest/gtest.h>

#include "features/random.h"
#include "learning/projection.h"

namespace heft {
namespace {

// 40 classes of two to five samples about their own means, away from 0.
struct Samples {
  FeatureMatrix features;
  std::vector<int> classes;
};

Samples Unequal(uint64_t seed) {
  Random random(seed);
  Samples out;
  for (int c = 0; c < 40; ++c) out.classes.insert(out.classes.end(), 2 + c % 4, c);
  out.features.resize(static_cast<Eigen::Index>(out.classes.size()), 6);
  FeatureMatrix means(40, 6);
  for (double& value : means.reshaped()) value = 1 + random.Normal();
  for (Eigen::Index i = 0; i < out.features.rows(); ++i) {
    for (Eigen::Index k = 0; k < 6; ++k) {
      const double deviation = 0.2 * static_cast<double>(k + 1) * random.Normal();
      out.features(i, k) = means(out.classes[static_cast<size_t>(i)], k) + deviation;
    }
  }
  return out;
}

Eigen::MatrixXd Covariance(const FeatureMatrix& rows) {
  const FeatureMatrix centred = rows.rowwise() - rows.colwise().mean();
  return centred.transpose() * centred / static_cast<double>(rows.rows());
}

// The sum is computed in chunks of rows, and some of them are empty.
TEST(DiscriminantTest, FewRowsHaveAGramMatrix) {
  Random random(3);
  for (const Eigen::Index rows : {0, 1, 3, 9}) {
    FeatureMatrix x(rows, 64);
    for (double& value : x.reshaped()) value = random.Normal();
    EXPECT_TRUE(GramMatrix(x).isApprox(x.transpose() * x)) << rows;
  }
}

// By the definition of `blend`, from the samples themselves.
TEST(DiscriminantTest, BlendedRatiosAreThoseOfTheDefinition) {
  const Samples samples = Unequal(1);
  const ClassScatter scatter = ScatterOf(samples.features, samples.classes);
  for (const double blend : {0.0, 0.3, 1.0}) {
    const Eigen::MatrixXd between =
        (1 - blend) * Covariance(scatter.means) + blend * Covariance(samples.features);
    const auto found = Lda(scatter, 6, {.shrinkage = 0, .blend = blend, .suppress_mean = false});
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_EQ(found->vectors.rows(), 6);
    const Eigen::MatrixXd within =
        scatter.within / static_cast<double>(samples.features.rows() - scatter.means.rows());
    const FeatureMatrix& v = found->vectors;
    const double own = (1 - blend) * scatter.sizes.cwiseInverse().mean();
    const Eigen::VectorXd ratios = (v * between * v.transpose()).diagonal().array() - own;
    EXPECT_LT((ratios.cwiseMax(0) - found->ratios).cwiseAbs().maxCoeff(), 1e-6) << blend;
    EXPECT_LT((v * within * v.transpose() - Eigen::MatrixXd::Identity(6, 6)).norm(), 1e-6) << blend;
  }
}

TEST(DiscriminantTest, FurtherPeopleAreMoreClasses) {
  const Samples own = Unequal(2), others = Unequal(3);
  PoolModality modality;
  modality.features = own.features;
  modality.rows.resize(40);
  for (size_t i = 0; i < own.classes.size(); ++i) {
    modality.rows[static_cast<size_t>(own.classes[i])].push_back(static_cast<int>(i));
  }
  modality.further = others.features;
  modality.further_classes = others.classes;
  Samples all = own;
  all.features.conservativeResize(own.features.rows() + others.features.rows(), Eigen::NoChange);
  all.features.bottomRows(others.features.rows()) = others.features;
  for (const int c : others.classes) all.classes.push_back(40 + c);
  const ClassScatter expected = ScatterOf(all.features, all.classes);
  std::optional<ClassScatter> further;
  for (int call = 0; call < 2; ++call) {  // the second has `further` already
    const ClassScatter scatter = ScatterOf(modality, &further);
    ASSERT_TRUE(further.has_value());
    EXPECT_EQ(scatter.sizes, expected.sizes);
    EXPECT_LT((scatter.means - expected.means).norm(), 1e-12);
    EXPECT_LT((scatter.within - expected.within).norm(), 1e-9);
  }
}

}  // namespace
}  // namespace heft
