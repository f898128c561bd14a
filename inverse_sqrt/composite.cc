// SPDX-License-Identifier: Apache-2.0
// FitComposite: a greedy start, then all coefficients together.
#include "inverse_sqrt/composite.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "absl/strings/str_cat.h"
#include "inverse_sqrt/fit_internal.h"

namespace heft {
namespace {

constexpr int kSamples = 600;
constexpr int kMaxStages = 4;

// Samples: points s with their weights in the minimised sum_i weight_i (f(s_i) - 1/sqrt(s_i))^2.
struct Samples {
  Eigen::VectorXd s, weight;
};

Samples MakeSamples(const Interval& interval, FitKind kind) {
  Samples samples{Eigen::VectorXd(kSamples), Eigen::VectorXd(kSamples)};
  for (int i = 0; i < kSamples; ++i) {
    const double angle = std::numbers::pi * (i + 0.5) / kSamples;
    samples.s[i] =
        (interval.lo + interval.hi) / 2 + (interval.hi - interval.lo) / 2 * std::cos(angle);
    samples.weight[i] = kind == FitKind::kMinimax ? samples.s[i] : std::sin(angle);
  }
  return samples;
}

// FitStage: the weighted least-squares polynomial of `degree` through (t_i, 1/sqrt(s_i)).
Polynomial FitStage(const Eigen::VectorXd& t, int degree, const Samples& samples) {
  const Interval range{t.minCoeff(), t.maxCoeff()};
  const double centre = (range.lo + range.hi) / 2, half_width = (range.hi - range.lo) / 2;
  Eigen::MatrixXd design(kSamples, degree + 1);
  for (int i = 0; i < kSamples; ++i) {
    const double angle = std::acos(std::clamp((t[i] - centre) / half_width, -1.0, 1.0));
    for (int k = 0; k <= degree; ++k) {
      design(i, k) = std::sqrt(samples.weight[i]) * std::cos(k * angle);
    }
  }
  const Eigen::VectorXd target = (samples.weight.array() / samples.s.array()).sqrt();
  const Eigen::VectorXd solution = design.colPivHouseholderQr().solve(target);
  const std::vector<long double> chebyshev(solution.data(), solution.data() + solution.size());
  return internal::FromChebyshev(chebyshev, range);
}

// Residuals: sqrt(weight) (f - 1/sqrt(s)), and with `jacobian` their derivatives by the
// coefficients.
Eigen::VectorXd Residuals(const Approximation& f, const Samples& samples,
                          Eigen::MatrixXd* jacobian) {
  Eigen::VectorXd residuals(kSamples);
  for (int i = 0; i < kSamples; ++i) {
    const double root_weight = std::sqrt(samples.weight[i]);
    std::vector<double> inputs;
    double t = samples.s[i];
    for (const Polynomial& stage : f.stages) {
      inputs.push_back(t);
      t = stage(t);
    }
    residuals[i] = root_weight * (t - 1 / std::sqrt(samples.s[i]));
    if (jacobian == nullptr) continue;
    double slope = root_weight;
    int column = jacobian->cols();
    for (int k = static_cast<int>(f.stages.size()) - 1; k >= 0; --k) {
      column -= f.stages[k].coefficients.size();
      double power = slope;
      for (size_t j = 0; j < f.stages[k].coefficients.size(); ++j, power *= inputs[k]) {
        (*jacobian)(i, column + j) = power;
      }
      slope *= f.stages[k].Derivative(inputs[k]);
    }
  }
  return residuals;
}

void AddToCoefficients(const Eigen::VectorXd& step, Approximation& f) {
  int column = 0;
  for (Polynomial& stage : f.stages) {
    for (double& c : stage.coefficients) c += step[column++];
  }
}

// Refine: Levenberg-Marquardt on sum |residual|^p by reweighting; stops when no step improves it.
void Refine(double p, const Samples& samples, Approximation& f) {
  int unknowns = 0;
  for (const Polynomial& stage : f.stages) unknowns += stage.coefficients.size();
  Eigen::MatrixXd jacobian(kSamples, unknowns);
  // Scaled by the largest residual, so that high powers neither overflow nor vanish.
  const double scale = Residuals(f, samples, nullptr).cwiseAbs().maxCoeff();
  if (!(scale > 0)) return;
  auto cost = [&](const Approximation& g) {
    return (Residuals(g, samples, nullptr) / scale).array().abs().pow(p).sum();
  };
  double damping = 1e-4, best = cost(f);
  for (int iteration = 0; iteration < 60 && damping < 1e8; ++iteration) {
    const Eigen::VectorXd r = Residuals(f, samples, &jacobian);
    const Eigen::ArrayXd w = (r / scale).array().abs().pow(p - 2);
    const Eigen::MatrixXd weighted = jacobian.array().colwise() * w;
    Eigen::MatrixXd normal = (p - 1) * (weighted.transpose() * jacobian);
    const Eigen::VectorXd gradient = weighted.transpose() * r;
    for (; damping < 1e8; damping *= 10) {
      Eigen::MatrixXd damped = normal;
      damped.diagonal() *= 1 + damping;
      Approximation trial = f;
      AddToCoefficients(-damped.ldlt().solve(gradient), trial);
      const double trial_cost = cost(trial);
      if (trial_cost < best) {
        f = std::move(trial);
        best = trial_cost;
        damping = std::max(1e-12, damping / 10);
        break;
      }
    }
  }
}

}  // namespace

absl::StatusOr<Approximation> FitComposite(std::span<const int> degrees, const Interval& interval,
                                           FitKind kind) {
  if (degrees.empty() || degrees.size() > kMaxStages) {
    return absl::InvalidArgumentError(
        absl::StrCat(degrees.size(), " stages of a composite: choose 1 to ", kMaxStages));
  }
  for (int degree : degrees) HEFT_RETURN_IF_ERROR(internal::CheckFit(degree, 7, interval));
  if (degrees.size() == 1) return Fit(kind, degrees[0], interval);

  const Samples samples = MakeSamples(interval, kind);
  Approximation f{{}, interval, FitKindName(kind)};
  Eigen::VectorXd t = samples.s;
  for (int degree : degrees) {
    f.stages.push_back(FitStage(t, degree, samples));
    for (double& value : t) value = f.stages.back()(value);
  }
  Refine(2, samples, f);
  if (kind == FitKind::kMinimax) {
    for (double p : {4, 8, 16, 32, 64}) Refine(p, samples, f);
  }
  return f;
}

Approximation PaperDegree2() {
  return {{Polynomial{{2.51308415, -1.81897596, 0.42084296}}}, kPaperInterval, "paper"};
}

}  // namespace heft
