// SPDX-License-Identifier: Apache-2.0
#include "learning/discriminant.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "features/decompositions.h"
#include "learning/projection.h"

namespace heft {
namespace {

// Class means (one row each), class sizes and the pooled within-class covariance.
struct ClassStatistics {
  FeatureMatrix means;
  Eigen::VectorXd sizes;
  Eigen::MatrixXd within;
};

ClassStatistics Measure(const FeatureMatrix& features, std::span<const int> classes) {
  std::map<int, int> numbers;
  for (int c : classes) numbers.emplace(c, numbers.size());
  ClassStatistics statistics;
  statistics.means = FeatureMatrix::Zero(numbers.size(), features.cols());
  statistics.sizes = Eigen::VectorXd::Zero(numbers.size());
  for (Eigen::Index i = 0; i < features.rows(); ++i) {
    const int c = numbers[classes[i]];
    statistics.means.row(c) += features.row(i);
    statistics.sizes[c] += 1;
  }
  statistics.means.array().colwise() /= statistics.sizes.array();
  FeatureMatrix deviations = features;
  for (Eigen::Index i = 0; i < features.rows(); ++i) {
    deviations.row(i) -= statistics.means.row(numbers[classes[i]]);
  }
  const double freedom = std::max<double>(1, features.rows() - statistics.sizes.size());
  statistics.within = GramMatrix(deviations) / freedom;
  return statistics;
}

// The leading eigenvectors (columns) and eigenvalues of a symmetric matrix; directions of
// (numerically) no variance are left out.
void LeadingEigenvectors(const Eigen::MatrixXd& matrix, Eigen::Index count,
                         Eigen::MatrixXd& vectors, Eigen::VectorXd& values) {
  const Spectrum spectrum = SpectrumOf(matrix);
  const Eigen::Index size = matrix.rows();  // eigenvalues rise
  const double floor = 1e-12 * std::max(0.0, spectrum.values[size - 1]);
  Eigen::Index usable = 0;
  while (usable < std::min(count, size) && spectrum.values[size - 1 - usable] > floor) ++usable;
  values = spectrum.values.tail(usable).reverse();
  vectors = spectrum.vectors.rightCols(usable).rowwise().reverse();
}

// The leading right singular vectors (columns) and squared singular values of `rows`.
void LeadingDirections(const Eigen::MatrixXd& rows, Eigen::Index count, Eigen::MatrixXd& vectors,
                       Eigen::VectorXd& values) {
  const bool gram = rows.rows() < rows.cols();
  const Eigen::MatrixXd product =
      gram ? Eigen::MatrixXd(rows * rows.transpose()) : Eigen::MatrixXd(rows.transpose() * rows);
  LeadingEigenvectors(product, count, vectors, values);
  if (gram) vectors = rows.transpose() * vectors * values.cwiseSqrt().cwiseInverse().asDiagonal();
}

// Signs are arbitrary in an eigenproblem; this makes them the same everywhere.
void FixSigns(FeatureMatrix& vectors) {
  for (Eigen::Index i = 0; i < vectors.rows(); ++i) {
    Eigen::Index largest;
    vectors.row(i).cwiseAbs().maxCoeff(&largest);
    if (vectors(i, largest) < 0) vectors.row(i) *= -1;
  }
}

// The samples of a modality and their classes, further people behind those of the pool.
struct ClassSamples {
  FeatureMatrix features;
  std::vector<int> classes;
};

ClassSamples AllSamples(const PoolModality& modality) {
  const Eigen::Index own = modality.features.rows(), further = modality.further.rows();
  ClassSamples all{FeatureMatrix(own + further, modality.features.cols()),
                   std::vector<int>(static_cast<std::size_t>(own))};
  all.features.topRows(own) = modality.features;
  if (further > 0) all.features.bottomRows(further) = modality.further;
  for (std::size_t identity = 0; identity < modality.rows.size(); ++identity) {
    for (int row : modality.rows[identity]) all.classes[row] = static_cast<int>(identity);
  }
  const int first = static_cast<int>(modality.rows.size());
  for (int c : modality.further_classes) all.classes.push_back(first + c);
  return all;
}

}  // namespace

absl::StatusOr<Discriminants> Lda(const FeatureMatrix& features, std::span<const int> classes,
                                  int count, const DiscriminantOptions& options) {
  ClassStatistics statistics = Measure(features, classes);
  const Eigen::Index dimension = features.cols();
  const Eigen::RowVectorXd mean = statistics.means.colwise().mean();
  double trace = statistics.within.trace();
  if (statistics.sizes.size() < 2 || !(trace > 0)) {
    return absl::InvalidArgumentError(
        "training needs two people and, in each modality, a person with two different samples: "
        "give people several samples, and leave out a modality that is the same for all");
  }
  const double classes_in_all = static_cast<double>(statistics.sizes.size());
  Eigen::MatrixXd within = statistics.within;
  if (options.suppress_mean) {
    within += mean.transpose() * mean;
    trace += mean.squaredNorm();
  }
  within *= 1 - options.shrinkage;
  within.diagonal().array() += options.shrinkage * trace / dimension + 1e-9 * trace / dimension;
  const Eigen::MatrixXd factor = CholeskyFactor(within);
  const auto lower = factor.triangularView<Eigen::Lower>();

  // Class means, centred: a column each.
  Eigen::MatrixXd centred = (statistics.means.rowwise() - mean).transpose();
  Eigen::MatrixXd vectors;
  Discriminants result;
  if (options.blend > 0) {
    const FeatureMatrix samples = features.rowwise() - features.colwise().mean();
    Eigen::MatrixXd between =
        (1 - options.blend) / classes_in_all * centred * centred.transpose() +
        options.blend / static_cast<double>(samples.rows()) * GramMatrix(samples);
    lower.solveInPlace(between);  // L^-1 S, then L^-1 (L^-1 S)^T
    between.transposeInPlace();
    lower.solveInPlace(between);
    LeadingEigenvectors(between, count, vectors, result.ratios);
  } else {
    lower.solveInPlace(centred);
    LeadingDirections(centred.transpose() / std::sqrt(classes_in_all), count, vectors,
                      result.ratios);
  }
  lower.transpose().solveInPlace(vectors);
  result.vectors = vectors.transpose();
  FixSigns(result.vectors);
  // A class mean of n samples has a within-class variance of 1 / n of its own.
  const double excess = (1 - options.blend) * statistics.sizes.cwiseInverse().mean();
  result.ratios = (result.ratios.array() - excess).max(0.0);
  return result;
}

absl::StatusOr<Discriminants> ChimericLda(const SamplePool& pool, int count,
                                          const DiscriminantOptions& options) {
  struct Candidate {
    double ratio;
    Eigen::Index column, index;
    std::size_t modality;
  };
  std::vector<Discriminants> parts;
  std::vector<Candidate> candidates;
  Eigen::Index column = 0;
  for (const PoolModality& modality : pool.modalities()) {
    const ClassSamples all = AllSamples(modality);
    HEFT_ASSIGN_OR_RETURN(Discriminants part, Lda(all.features, all.classes, count, options));
    for (Eigen::Index i = 0; i < part.ratios.size(); ++i) {
      candidates.push_back({part.ratios[i], column, i, parts.size()});
    }
    parts.push_back(std::move(part));
    column += modality.features.cols();
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.ratio > b.ratio; });
  candidates.resize(std::min<std::size_t>(candidates.size(), count));
  Discriminants merged{
      FeatureMatrix::Zero(candidates.size(), column), Eigen::VectorXd(candidates.size()), {}};
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& c = candidates[i];
    const auto vector = parts[c.modality].vectors.row(c.index);
    merged.vectors.row(i).segment(c.column, vector.size()) = vector;
    merged.ratios[i] = c.ratio;
    merged.modalities.push_back(static_cast<int>(c.modality));
  }
  return merged;
}

FeatureMatrix Pca(const FeatureMatrix& features, int count) {
  const FeatureMatrix centred = features.rowwise() - features.colwise().mean();
  Eigen::MatrixXd vectors;
  Eigen::VectorXd values;
  LeadingDirections(centred, count, vectors, values);
  FeatureMatrix result = vectors.transpose();
  FixSigns(result);
  return result;
}

absl::StatusOr<Basis> DiscriminantBasis(const PoolModality& modality, int count,
                                        const DiscriminantOptions& options) {
  const ClassSamples all = AllSamples(modality);
  HEFT_ASSIGN_OR_RETURN(Discriminants found, Lda(all.features, all.classes, count, options));
  return Basis{std::move(found.vectors), found.ratios.array() + 1};
}

absl::StatusOr<Basis> PrincipalBasis(const PoolModality& modality, int count) {
  const FeatureMatrix samples = AllSamples(modality).features;
  const Eigen::RowVectorXd mean = samples.colwise().mean();
  FeatureMatrix centred = samples.rowwise() - mean;
  const double length = mean.norm();
  if (length > 1e-9) {
    const Eigen::RowVectorXd shared = mean / length;
    centred -= (centred * shared.transpose()).eval() * shared;
  }
  Eigen::MatrixXd vectors;
  Eigen::VectorXd values;
  LeadingDirections(centred, count, vectors, values);
  if (values.size() == 0) {
    return absl::InvalidArgumentError(
        "all samples of a modality are the same: leave that modality out, or use other samples");
  }
  Basis basis{vectors.transpose(), values / static_cast<double>(samples.rows())};
  // The components are orthogonal to the mean but for rounding, which the mean would multiply.
  if (length > 1e-9) {
    const Eigen::RowVectorXd shared = mean / length;
    basis.vectors -= (basis.vectors * shared.transpose()).eval() * shared;
  }
  FixSigns(basis.vectors);
  return basis;
}

}  // namespace heft
