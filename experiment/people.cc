// SPDX-License-Identifier: Apache-2.0
#include "experiment/people.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "features/decompositions.h"
#include "features/random.h"

namespace heft::experiment {
namespace {

constexpr size_t kFewest = 10;
constexpr int kNormal = 60;  // degrees of freedom beyond which tails are normal

// People's means, their samples less the means, and how many samples they have.
struct Parts {
  FeatureMatrix means, left;
  double samples = 0;  // a person, harmonic mean
};

absl::StatusOr<Parts> PartsOf(const FeatureMatrix& z, std::span<const int> identities) {
  std::map<int, std::vector<Eigen::Index>> rows;
  for (size_t i = 0; i < identities.size(); ++i) {
    rows[identities[i]].push_back(static_cast<Eigen::Index>(i));
  }
  if (rows.size() < kFewest || z.rows() == static_cast<Eigen::Index>(rows.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat(rows.size(), " people with ", z.rows(),
                     " samples are too few to measure how people differ: ", kFewest,
                     " are needed, and some of them with a second sample"));
  }
  Parts parts;
  parts.means.resize(static_cast<Eigen::Index>(rows.size()), z.cols());
  parts.left = z;
  Eigen::Index next = 0;
  double inverse = 0;
  for (const auto& [identity, own] : rows) {
    Eigen::RowVectorXd mean = Eigen::RowVectorXd::Zero(z.cols());
    for (Eigen::Index row : own) mean += z.row(row) / static_cast<double>(own.size());
    for (Eigen::Index row : own) parts.left.row(row) -= mean;
    parts.means.row(next++) = mean;
    inverse += 1 / static_cast<double>(own.size());
  }
  parts.samples = static_cast<double>(rows.size()) / inverse;
  return parts;
}

FeatureMatrix RootOf(const FeatureMatrix& covariance) {
  const Spectrum spectrum = SpectrumOf(covariance);
  const Eigen::VectorXd roots = spectrum.values.cwiseMax(0).cwiseSqrt();
  return spectrum.vectors * roots.asDiagonal() * spectrum.vectors.transpose();
}

// Without eigenvalues below 0.
FeatureMatrix Positive(const FeatureMatrix& covariance) {
  const FeatureMatrix root = RootOf(covariance);
  return root * root;
}

// The mean square of the cosines of samples of two people.
double ScatterOf(const FeatureMatrix& z, std::span<const int> identities) {
  const FeatureMatrix unit = z.rowwise().normalized();
  const FeatureMatrix scores = unit * unit.transpose();
  double sum = 0, pairs = 0;
  for (Eigen::Index i = 0; i < z.rows(); ++i) {
    for (Eigen::Index j = i + 1; j < z.rows(); ++j) {
      if (identities[static_cast<size_t>(i)] == identities[static_cast<size_t>(j)]) continue;
      sum += scores(i, j) * scores(i, j);
      pairs += 1;
    }
  }
  return sum / pairs;
}

// The same of vectors with these second moments.
double ScatterOf(const FeatureMatrix& moments) {
  return moments.squaredNorm() / std::pow(moments.trace(), 2);
}

// `between` shrunk towards a sphere of the same trace.
FeatureMatrix Shrunk(const FeatureMatrix& between, double share) {
  const Eigen::Index d = between.rows();
  return (1 - share) * between +
         share * between.trace() / static_cast<double>(d) * FeatureMatrix::Identity(d, d);
}

// Degrees of freedom of Student's law that gives squared lengths the scatter that these rows' have;
// of normal rows with this covariance it would be 1 + 2 tr(C^2) / tr(C)^2 times the squared mean.
int FreedomOf(const FeatureMatrix& rows, const FeatureMatrix& covariance) {
  const Eigen::VectorXd squares = rows.rowwise().squaredNorm();
  const double normal = 1 + 2 * ScatterOf(covariance);
  const double excess = squares.squaredNorm() / static_cast<double>(squares.size()) /
                        std::pow(squares.mean(), 2) / normal;
  if (excess <= 1) return 0;
  const double freedom = (4 * excess - 2) / (excess - 1);  // (f - 2) / (f - 4) = excess
  return freedom > kNormal ? 0 : std::max(5, static_cast<int>(std::lround(freedom)));
}

Eigen::RowVectorXd Spherical(Random& random, Eigen::Index dimension, int freedom) {
  Eigen::RowVectorXd v(dimension);
  for (double& x : v) x = random.Normal();
  if (freedom == 0) return v;
  double chi = 0;
  for (int k = 0; k < freedom; ++k) chi += std::pow(random.Normal(), 2);
  return v * std::sqrt((freedom - 2) / chi);
}

}  // namespace

absl::StatusOr<PeopleLaw> FitPeople(const FeatureMatrix& z, std::span<const int> identities) {
  if (z.rows() != static_cast<Eigen::Index>(identities.size())) {
    return absl::InvalidArgumentError("samples and identities have different sizes");
  }
  HEFT_RETURN_IF_ERROR(CheckFinite(z, "fused templates"));
  HEFT_ASSIGN_OR_RETURN(const Parts parts, PartsOf(z, identities));
  PeopleLaw law;
  law.mean = parts.means.colwise().mean();
  const FeatureMatrix centred = parts.means.rowwise() - law.mean;
  const auto people = static_cast<double>(centred.rows());
  const FeatureMatrix within =
      parts.left.transpose() * parts.left / (static_cast<double>(z.rows()) - people);
  const FeatureMatrix of_means = centred.transpose() * centred / (people - 1);
  const FeatureMatrix between = Positive(of_means - within / parts.samples);
  // What the data's cosines scatter beyond a sphere's.
  const double wanted = ScatterOf(z, identities);
  const FeatureMatrix rest = within + law.mean.transpose() * law.mean;
  double lo = 0, hi = 1;
  for (int k = 0; k < 40; ++k) {
    const double middle = (lo + hi) / 2;
    (ScatterOf(Shrunk(between, middle) + rest) > wanted ? lo : hi) = middle;
  }
  law.between = RootOf(Shrunk(between, hi));
  law.within = RootOf(within);
  law.between_freedom = FreedomOf(centred, of_means);
  law.within_freedom = FreedomOf(parts.left, within);
  return law;
}

Crowd DrawCrowd(const PeopleLaw& law, size_t people, size_t samples, uint64_t seed) {
  Random random(seed);
  Crowd crowd;
  const Eigen::Index dimension = law.mean.size();
  crowd.unit.resize(static_cast<Eigen::Index>(people * samples), dimension);
  Eigen::Index row = 0;
  for (size_t p = 0; p < people; ++p) {
    const Eigen::RowVectorXd own =
        law.mean + Spherical(random, dimension, law.between_freedom) * law.between;
    for (size_t s = 0; s < samples; ++s) {
      const Eigen::RowVectorXd e = Spherical(random, dimension, law.within_freedom);
      crowd.unit.row(row++) = (own + e * law.within).normalized();
      crowd.identities.push_back(static_cast<int>(p));
    }
  }
  return crowd;
}

}  // namespace heft::experiment
