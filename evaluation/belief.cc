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

}  // namespace

Belief BeliefOf(const FeatureMatrix& rows) {
  Belief out;
  out.mean = rows.colwise().mean().transpose();
  const FeatureMatrix centred = rows.rowwise() - out.mean.transpose();
  Matrix covariance = centred.transpose() * centred / static_cast<double>(rows.rows());
  const double average = covariance.trace() / static_cast<double>(covariance.rows());
  covariance *= 1 - kShrinkage;
  covariance.diagonal().array() += kShrinkage * average;
  out.covariance = SpectrumOf(covariance);
  out.covariance.values = out.covariance.values.cwiseMax(0);
  return out;
}

Measurement Measure(const Belief& prior, const Matrix& probes, double noise) {
  const Matrix& vectors = prior.covariance.vectors;
  const Matrix covariance = vectors * prior.covariance.values.asDiagonal() * vectors.transpose();
  const Matrix seen = probes * covariance;
  Matrix expected = seen * probes.transpose();
  expected.diagonal().array() += noise;
  Measurement out;
  out.probes = probes;
  out.gain = SolveSymmetric(expected, seen).transpose();
  const Matrix left = covariance - out.gain * seen;
  out.left = SpectrumOf((left + left.transpose()) / 2);
  out.left.values = out.left.values.cwiseMax(0);
  return out;
}

Measurement MeasureLargest(const Belief& prior, int count, double noise) {
  Measurement out;
  out.left = prior.covariance;
  auto largest = out.left.values.tail(count);
  const Vector share = (largest.array() / (largest.array() + noise)).matrix();
  out.probes = out.left.vectors.rightCols(count).transpose();
  out.gain = out.probes.transpose() * share.asDiagonal();
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
  for (int i = 0; i < kSteps; ++i) consider(1 - std::pow(10.0, -4.0 * i / (kSteps - 1)));
  return covariance.vectors * best;
}

}  // namespace heft
