// SPDX-License-Identifier: Apache-2.0
// The tail of impostor scores, in depths: see heft/decisions.h.
#include "base/impostor_tail.h"

#include <algorithm>
#include <cmath>

namespace heft {
namespace {

using internal::DepthOf;

constexpr double kExponential = 1e-9;   // shapes below this are zero
constexpr double kHighest = 1 - 1e-12;  // scores that stand for all above them

double ScoreAt(double depth) {
  return depth > 0 ? std::min(std::sqrt(-std::expm1(-depth)), kHighest) : depth;
}

// Standard deviation of the logarithm of strangers' rates if the mean rate is `share`. It grows in
// proportion to the logarithm of `share`, as it does if each stranger's own tail is exponential. It
// is at most kMaxDeviations, which errs towards more false positives.
constexpr double kMaxDeviations = 3;
double DeviationsAt(const ImpostorTail& tail, double share) {
  const double at_start = std::sqrt(std::log1p(1 / tail.evenness));
  return std::min(at_start * std::log(share) / std::log(std::min(tail.rate, 0.5)), kMaxDeviations);
}

// FpirAt: the mean of 1 - exp(-people * rate) over strangers' rates, which are log-normal with the
// mean `share`, by the trapezoidal rule over six deviations.
double FpirAt(const ImpostorTail& tail, double share, double people) {
  if (!(share > 0)) return 0;
  const double deviations = DeviationsAt(tail, share);
  constexpr int kSteps = 96;
  constexpr double kEnd = 6;
  double sum = 0, weights = 0;
  for (int k = -kSteps; k <= kSteps; ++k) {
    const double z = kEnd * k / kSteps, weight = std::exp(-z * z / 2);
    const double rate = share * std::exp(deviations * (z - deviations / 2));
    sum -= weight * std::expm1(-people * rate);
    weights += weight;
  }
  return sum / weights;
}

}  // namespace

double ImpostorTail::RateAt(double threshold) const {
  const double excess = std::max(DepthOf(threshold) - DepthOf(start), 0.0) / scale;
  if (std::abs(shape) < kExponential) return rate * std::exp(-excess);
  const double base = 1 + shape * excess;
  return base <= 0 ? 0 : rate * std::pow(base, -1 / shape);
}

double ImpostorTail::Fpir(double threshold, double people) const {
  return FpirAt(*this, RateAt(threshold), people);
}

double ImpostorTail::ThresholdFor(double fpir, double people) const {
  // A search of `people` returns a name with probability people * share at most.
  double lo = std::log(fpir / people), hi = std::log(rate);
  if (lo >= hi || FpirAt(*this, rate, people) <= fpir) return start;
  for (int k = 0; k < 60; ++k) {
    const double middle = (lo + hi) / 2;
    (FpirAt(*this, std::exp(middle), people) < fpir ? lo : hi) = middle;
  }
  return internal::ScoreAtShare(*this, std::exp(lo));
}

namespace internal {

double DepthOf(double score) {
  return score > 0 ? -std::log1p(-std::pow(std::min(score, kHighest), 2)) : score;
}

double ScoreAtShare(const ImpostorTail& tail, double share) {
  if (share >= tail.rate) return tail.start;
  const double depths = std::log(tail.rate / share);  // of an exponential tail, over its scale
  const double excess =
      std::abs(tail.shape) < kExponential ? depths : std::expm1(tail.shape * depths) / tail.shape;
  return std::max(tail.start, ScoreAt(DepthOf(tail.start) + tail.scale * excess));
}

}  // namespace internal
}  // namespace heft
