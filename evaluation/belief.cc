// SPDX-License-Identifier: Apache-2.0
#include "evaluation/belief.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heft {
namespace {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

constexpr double kShrinkage = 0.05;
// kFewest: fewer rows might span fewer directions than are measured.
constexpr Eigen::Index kFewest = 64;
// kClosest: the largest k of LikeliestAccepted, which is the hardest to solve for.
constexpr double kClosest = 1 - 1e-4, kConverged = 1e-12;

// Converged: whether (1 - k covariance)^-1 mean is known for all k up to the closest, and the
// largest eigenvalue; `left_over` is the length of the next vector of the iteration.
bool Converged(const Spectrum& reduced, double left_over) {
  const Eigen::Index last = reduced.values.size() - 1;
  const double largest = reduced.values[last];
  if (!(largest > 0) || std::abs(reduced.vectors(last, last)) * left_over > 1e-7 * largest) {
    return false;
  }
  const double k = kClosest / largest;
  const Vector solved =
      reduced.vectors.row(0).transpose().array() / (1 - k * reduced.values.array());
  const double error = k * left_over * std::abs(reduced.vectors.row(last).dot(solved));
  return error <= kConverged * solved.norm();
}

}  // namespace

Belief BeliefOf(const FeatureMatrix& rows) {
  // Fewer rows cost less in the space that they span. Outside of it all variances are equal.
  const bool few = rows.rows() >= kFewest && rows.rows() < rows.cols();
  const Matrix span = few ? OrthonormalSpan(rows.transpose()) : Matrix();
  Belief out;
  out.mean = rows.colwise().mean().transpose();
  FeatureMatrix centred = rows.rowwise() - out.mean.transpose();
  if (few) centred = (centred * span).eval();
  Matrix covariance = centred.transpose() * centred / static_cast<double>(rows.rows());
  const double average = covariance.trace() / static_cast<double>(rows.cols());
  covariance *= 1 - kShrinkage;
  covariance.diagonal().array() += kShrinkage * average;
  out.covariance = SpectrumOf(covariance);
  out.covariance.values = out.covariance.values.cwiseMax(0);
  if (few) out.covariance.vectors = (span * out.covariance.vectors).eval();
  const auto outside = static_cast<double>(rows.cols() - out.covariance.values.size());
  out.norm = std::hypot(out.covariance.values.norm(), std::sqrt(outside) * kShrinkage * average);
  return out;
}

Measurement Measure(const Belief& prior, const Matrix& probes, double noise) {
  const Matrix along = probes * prior.covariance.vectors;
  Measurement out;
  out.probes = probes;
  out.seen = along * prior.covariance.values.asDiagonal();
  Matrix expected = out.seen * along.transpose();
  expected.diagonal().array() += noise;
  out.gain_along = SolveSymmetric(expected, out.seen).transpose();
  out.gain = prior.covariance.vectors * out.gain_along;
  return out;
}

// By Lanczos's iteration from `mean`, with every vector made orthogonal to all before (G. H. Golub
// and C. F. Van Loan, Matrix Computations, 4th edition, 2013, section 10.3).
Spectrum LeftAfter(const Belief& prior, const Measurement& measurement, const Vector& mean) {
  constexpr Eigen::Index kFirst = 16, kStep = 8;
  const Spectrum& covariance = prior.covariance;
  const Eigen::Index size = covariance.values.size();
  const double scale = covariance.values.maxCoeff();
  Vector next = covariance.vectors.transpose() * mean;
  Matrix basis(size, size);
  Vector diagonal(size), beside(size);
  Spectrum reduced;
  Eigen::Index count = 0;
  for (double length = next.norm(); count < size && length > 0;) {
    basis.col(count) = next / length;
    const auto last = basis.col(count);
    next = covariance.values.cwiseProduct(last) -
           measurement.gain_along * (measurement.seen * last).eval();
    diagonal[count++] = last.dot(next);
    const auto before = basis.leftCols(count);
    for (int pass = 0; pass < 2; ++pass) next -= before * (before.transpose() * next).eval();
    length = next.norm();
    const bool ends = count == size || length <= kConverged * scale;
    if (!ends) beside[count - 1] = length;
    if (ends || (count >= kFirst && count % kStep == 0)) {
      reduced = TridiagonalSpectrum(diagonal.head(count), beside.head(count - 1));
      if (ends || Converged(reduced, length)) break;
    }
  }
  if (count == 0) return {Vector::Zero(1), Matrix::Zero(mean.size(), 1)};
  reduced.values = reduced.values.cwiseMax(0);
  reduced.vectors = covariance.vectors * (basis.leftCols(count) * reduced.vectors).eval();
  return reduced;
}

Largest MeasureLargest(const Belief& prior, int count, double noise) {
  Largest out;
  out.left = prior.covariance;
  auto largest = out.left.values.tail(count);
  const Vector share = (largest.array() / (largest.array() + noise)).matrix();
  out.measurement.probes = out.left.vectors.rightCols(count).transpose();
  out.measurement.gain = out.measurement.probes.transpose() * share.asDiagonal();
  largest = largest.cwiseProduct(Vector::Ones(count) - share);
  return out;
}

Vector After(const Belief& prior, const Measurement& measurement, const Vector& scores) {
  return prior.mean + measurement.gain * (scores - measurement.probes * prior.mean);
}

Vector LikeliestAccepted(const Vector& mean, const Spectrum& covariance, double threshold) {
  // k times the largest eigenvalue: below 0 where the mean reaches the threshold, and up to 1.
  constexpr int kSteps = 40;
  const double largest = covariance.values.maxCoeff();
  const Vector along = covariance.vectors.transpose() * mean;
  const Vector relative = largest > 0 ? Vector(covariance.values / largest) : covariance.values;
  Vector best = along;
  double most = -std::numeric_limits<double>::infinity();
  const auto consider = [&](double k) {
    const Vector guess = (along.array() / (1 - k * relative.array())).matrix().normalized();
    const double variance = guess.cwiseAbs2().dot(covariance.values);
    const double reach = (guess.dot(along) - threshold) / std::sqrt(std::max(variance, 1e-12));
    if (!(reach > most)) return;
    most = reach;
    best = guess;
  };
  for (const double k : {-3.0, -1.0, -0.3, 0.0}) consider(k);
  for (int i = 0; i < kSteps; ++i) consider(1 - std::pow(1 - kClosest, i / (kSteps - 1.0)));
  return covariance.vectors * best;
}

}  // namespace heft
