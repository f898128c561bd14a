// SPDX-License-Identifier: Apache-2.0
#include "learning/discriminant.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "features/decompositions.h"
#include "learning/projection.h"

namespace heft {
namespace {

// The leading eigenvectors (columns) and eigenvalues of a symmetric matrix; directions of
// (numerically) no variance are left out.
void LeadingEigenvectors(const Eigen::MatrixXd& matrix, Eigen::Index count,
                         Eigen::MatrixXd& vectors, Eigen::VectorXd& values) {
  const Spectrum spectrum = LeadingSpectrum(matrix, count);
  const Eigen::Index size = spectrum.values.size();  // eigenvalues rise
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

// (1 - blend) times the covariance of class means, plus `blend` times that of all samples. Samples
// vary within their class and with its mean, so neither needs the samples themselves.
Eigen::MatrixXd BlendedCovariance(const ClassScatter& scatter, double blend) {
  const Eigen::RowVectorXd of_means = scatter.means.colwise().mean();
  const double classes = static_cast<double>(scatter.sizes.size()), samples = scatter.sizes.sum();
  const Eigen::RowVectorXd of_samples = scatter.sizes.transpose() * scatter.means / samples;
  const Eigen::VectorXd shares = (1 - blend) / classes + blend / samples * scatter.sizes.array();
  FeatureMatrix rows = scatter.means.rowwise() - of_samples;
  rows.array().colwise() *= shares.array().sqrt();
  const Eigen::RowVectorXd between = of_means - of_samples;
  return GramMatrix(rows) - (1 - blend) * between.transpose() * between +
         blend / samples * scatter.within;
}

std::vector<int> ClassesOf(const PoolModality& modality) {
  std::vector<int> classes(static_cast<std::size_t>(modality.features.rows()));
  for (std::size_t identity = 0; identity < modality.rows.size(); ++identity) {
    for (int row : modality.rows[identity]) classes[row] = static_cast<int>(identity);
  }
  return classes;
}

}  // namespace

ClassScatter ScatterOf(const FeatureMatrix& features, std::span<const int> classes) {
  std::map<int, int> numbers;
  for (int c : classes) numbers.emplace(c, numbers.size());
  ClassScatter scatter;
  scatter.means = FeatureMatrix::Zero(numbers.size(), features.cols());
  scatter.sizes = Eigen::VectorXd::Zero(numbers.size());
  for (Eigen::Index i = 0; i < features.rows(); ++i) {
    const int c = numbers[classes[i]];
    scatter.means.row(c) += features.row(i);
    scatter.sizes[c] += 1;
  }
  scatter.means.array().colwise() /= scatter.sizes.array();
  FeatureMatrix deviations = features;
  for (Eigen::Index i = 0; i < features.rows(); ++i) {
    deviations.row(i) -= scatter.means.row(numbers[classes[i]]);
  }
  scatter.within = GramMatrix(deviations);
  return scatter;
}

ClassScatter ScatterOf(const PoolModality& modality, std::optional<ClassScatter>* further) {
  ClassScatter own = ScatterOf(modality.features, ClassesOf(modality));
  if (modality.further.rows() == 0) return own;
  if (!*further) *further = ScatterOf(modality.further, modality.further_classes);
  ClassScatter both{FeatureMatrix(own.means.rows() + (*further)->means.rows(), own.means.cols()),
                    Eigen::VectorXd(own.sizes.size() + (*further)->sizes.size()),
                    own.within + (*further)->within};
  both.means << own.means, (*further)->means;
  both.sizes << own.sizes, (*further)->sizes;
  return both;
}

absl::StatusOr<Discriminants> Lda(const FeatureMatrix& features, std::span<const int> classes,
                                  int count, const DiscriminantOptions& options) {
  return Lda(ScatterOf(features, classes), count, options);
}

absl::StatusOr<Discriminants> Lda(const ClassScatter& scatter, int count,
                                  const DiscriminantOptions& options) {
  const Eigen::Index dimension = scatter.means.cols();
  const Eigen::RowVectorXd mean = scatter.means.colwise().mean();
  const double freedom =
      std::max(1.0, scatter.sizes.sum() - static_cast<double>(scatter.sizes.size()));
  Eigen::MatrixXd within = scatter.within / freedom;
  double trace = within.trace();
  if (scatter.sizes.size() < 2 || !(trace > 0)) {
    return absl::InvalidArgumentError(
        "training needs two people and, in each modality, a person with two different samples: "
        "give people several samples, and leave out a modality that is the same for all");
  }
  if (options.suppress_mean) {
    within += mean.transpose() * mean;
    trace += mean.squaredNorm();
  }
  within *= 1 - options.shrinkage;
  within.diagonal().array() += options.shrinkage * trace / dimension + 1e-9 * trace / dimension;
  const Eigen::MatrixXd factor = CholeskyFactor(within);
  const auto lower = factor.triangularView<Eigen::Lower>();

  Eigen::MatrixXd vectors;
  Discriminants result;
  if (options.blend > 0) {
    Eigen::MatrixXd between = BlendedCovariance(scatter, options.blend);
    lower.solveInPlace(between);  // L^-1 S, then L^-1 (L^-1 S)^T
    between.transposeInPlace();
    lower.solveInPlace(between);
    LeadingEigenvectors(between, count, vectors, result.ratios);
  } else {
    // Class means, centred: a column each.
    Eigen::MatrixXd centred = (scatter.means.rowwise() - mean).transpose();
    lower.solveInPlace(centred);
    LeadingDirections(centred.transpose() / std::sqrt(static_cast<double>(scatter.sizes.size())),
                      count, vectors, result.ratios);
  }
  lower.transpose().solveInPlace(vectors);
  result.vectors = vectors.transpose();
  FixSigns(result.vectors);
  // A class mean of n samples has a within-class variance of 1 / n of its own.
  const double excess = (1 - options.blend) * scatter.sizes.cwiseInverse().mean();
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
    std::optional<ClassScatter> further;
    HEFT_ASSIGN_OR_RETURN(Discriminants part, Lda(ScatterOf(modality, &further), count, options));
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

absl::StatusOr<Basis> DiscriminantBasis(const ClassScatter& scatter, int count,
                                        const DiscriminantOptions& options) {
  HEFT_ASSIGN_OR_RETURN(Discriminants found, Lda(scatter, count, options));
  return Basis{std::move(found.vectors), found.ratios.array() + 1};
}

absl::StatusOr<Basis> PrincipalBasis(const PoolModality& modality, int count) {
  FeatureMatrix samples(modality.features.rows() + modality.further.rows(),
                        modality.features.cols());
  samples.topRows(modality.features.rows()) = modality.features;
  if (modality.further.rows() > 0) {
    samples.bottomRows(modality.further.rows()) = modality.further;
  }
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
