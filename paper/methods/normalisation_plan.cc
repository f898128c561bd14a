// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ckks/chebyshev.h"
#include "ckks/noise.h"
#include "fusion/plan.h"
#include "heft/train.h"
#include "inverse_sqrt/composite.h"
#include "paper/methods/normalisation.h"
#include "paper/methods/normalisation_internal.h"

namespace heft::paper {
namespace {

using ckks::Params;

constexpr int kMaxDegree = 31;
constexpr int kPaperIterations = 4;

absl::Status CheckSpec(const NormalisationSpec& spec) {
  const Interval& range = spec.Range();
  if (!(range.lo > 0 && range.hi > range.lo && std::isfinite(range.hi))) {
    return absl::InvalidArgumentError("normalisation on an interval that is not positive");
  }
  if (spec.method == NormalisationMethod::kPolynomial) {
    if (spec.approximation.stages.empty()) return absl::InvalidArgumentError("no polynomial");
    for (const Polynomial& stage : spec.approximation.stages) {
      if (stage.Degree() < 1 || stage.Degree() > kMaxDegree) {
        return absl::InvalidArgumentError(absl::StrCat("a polynomial of degree ", stage.Degree(),
                                                       ": 1 to ", kMaxDegree, " supported"));
      }
    }
  }
  const int iterations = spec.goldschmidt.iterations;
  if (spec.method == NormalisationMethod::kGoldschmidt &&
      (iterations < 1 || iterations > kMaxGoldschmidtIterations)) {
    return absl::InvalidArgumentError(absl::StrCat(iterations, " iterations of Goldschmidt's"));
  }
  return absl::OkStatus();
}

}  // namespace

NormalisationSpec NormalisationSpec::Polynomials(const Approximation& approximation) {
  return {.method = NormalisationMethod::kPolynomial, .approximation = approximation};
}

NormalisationSpec NormalisationSpec::Iteration(const Goldschmidt& goldschmidt) {
  return {.method = NormalisationMethod::kGoldschmidt, .goldschmidt = goldschmidt};
}

NormalisationSpec NormalisationSpec::Deferred(const Interval& interval) {
  return {.method = NormalisationMethod::kDeferred, .interval = interval};
}

const Interval& NormalisationSpec::Range() const {
  if (method == NormalisationMethod::kPolynomial) return approximation.interval;
  return method == NormalisationMethod::kGoldschmidt ? goldschmidt.interval : interval;
}

double NormalisationSpec::operator()(double s) const {
  if (method == NormalisationMethod::kPolynomial) return approximation(s);
  return method == NormalisationMethod::kGoldschmidt ? goldschmidt(s) : 1;
}

size_t NormalisationSpec::Levels() const {
  if (method == NormalisationMethod::kDeferred) return 0;
  // s; the line y; x = s y; two levels an iteration, the last with z.
  if (method == NormalisationMethod::kGoldschmidt) return 3 + 2 * goldschmidt.iterations;
  size_t levels = 1;
  for (const Polynomial& stage : approximation.stages) {
    const int degree = stage.Degree();
    if (&stage != &approximation.stages.back()) {
      levels += ckks::ChebyshevLevels(degree);
    } else if (degree > kMaxFactoredDegree) {
      levels += ckks::ChebyshevLevels(degree) + 1;
    } else {
      levels += degree == 1 ? 1 : 2;
    }
  }
  return levels;
}

absl::StatusOr<PaperNormalisations> MakePaperNormalisations() {
  HEFT_ASSIGN_OR_RETURN(const Approximation two, FitLeastSquares(2, kPaperInterval));
  const int cubics[] = {3, 3};
  HEFT_ASSIGN_OR_RETURN(const Approximation six,
                        FitComposite(cubics, kPaperInterval, FitKind::kLeastSquares));
  HEFT_ASSIGN_OR_RETURN(const Goldschmidt iteration,
                        FitGoldschmidt(kPaperIterations, kPaperInterval));
  return PaperNormalisations{NormalisationSpec::Polynomials(two),
                             NormalisationSpec::Polynomials(six),
                             NormalisationSpec::Iteration(iteration)};
}

absl::StatusOr<NormalisationPlan> PlanNormalisation(const Params& params,
                                                    const NormalisationSpec& spec, uint32_t gamma,
                                                    size_t input_limbs, double output_scale,
                                                    bool folds) {
  HEFT_RETURN_IF_ERROR(CheckSpec(spec));
  NormalisationPlan plan;
  plan.spec = spec;
  plan.gamma = gamma;
  plan.folds = folds;
  plan.input_limbs = input_limbs;
  plan.output_scale = output_scale;
  const size_t levels = spec.Levels();
  const size_t needed = std::max<size_t>(levels, 1) + 1;  // |z|^2 takes one in any case
  if (input_limbs > params.limbs() || input_limbs < needed) {
    return absl::InvalidArgumentError(
        absl::StrCat("this normalisation takes ", levels, " levels, so z needs ", needed,
                     " limbs or more, not ", input_limbs, ": use deeper parameters"));
  }
  plan.output_limbs = input_limbs - levels;
  const double q_s = Prime(params, input_limbs - 1);
  const double q_next = Prime(params, std::max<size_t>(input_limbs, 2) - 2);
  if (spec.method == NormalisationMethod::kDeferred) {
    plan.input_scale = output_scale;
  } else if (spec.method == NormalisationMethod::kGoldschmidt) {
    plan.input_scale = std::sqrt(q_s * q_next);
  } else {
    HEFT_ASSIGN_OR_RETURN(const LastStage last, LastStage::Of(spec.approximation.stages.back()));
    if (spec.approximation.stages.size() == 1 && last.IsFactored()) {
      plan.input_scale = last.ZScale(params, input_limbs, output_scale);
    } else {
      // s, as the argument of T_1, stands at the scale of the prime that the first product drops.
      plan.input_scale = std::sqrt(q_s * q_next / HalfWidth(spec.Range()));
    }
  }
  plan.keys.Relinearisation(input_limbs);
  for (uint32_t k = 1; folds && k < gamma; k *= 2) plan.keys.Rotation(params, k, input_limbs - 1);
  return plan;
}

absl::StatusOr<LastStage> LastStage::Of(const Polynomial& stage) {
  LastStage out;
  const int degree = stage.Degree();
  if (degree == 1) {
    const Polynomial line = stage.InPowersOfS();
    if (line.coefficients[1] == 0) return absl::InvalidArgumentError("a constant approximation");
    out.factored.degree = 1;
    out.factored.leading = line.coefficients[1];
    out.factored.d = line.coefficients[0] / line.coefficients[1];
  } else if (degree <= kMaxFactoredDegree) {
    HEFT_ASSIGN_OR_RETURN(out.factored, FactorForEvaluation(stage));
  } else {
    out.factored.degree = 0;
  }
  return out;
}

double LastStage::ArgumentScale(const ckks::Params& params, size_t limbs, double z_scale,
                                double target) const {
  const double first = Prime(params, limbs - 1);
  const double product = target * std::abs(factored.leading) / z_scale;
  if (factored.degree == 1) return product * first;
  const double second = Prime(params, limbs - 2);
  if (factored.degree == 2) return std::sqrt(product * first * second);
  return std::cbrt(product * first * first * second);
}

double LastStage::ZScale(const ckks::Params& params, size_t z_limbs, double target) const {
  if (factored.degree > 1) return ScaleBeforeNormalisation(params, factored, z_limbs, target);
  return std::cbrt(target * std::abs(factored.leading) * Prime(params, z_limbs - 1) *
                   Prime(params, z_limbs - 2));
}

namespace {

// ForPoints calls fn(s) for points of the interval, denser at its lower end.
template <typename Fn>
void ForPoints(const Interval& interval, const Fn& fn) {
  constexpr int kPoints = 128;
  for (int i = 0; i <= kPoints; ++i) {
    fn(interval.lo * std::pow(interval.hi / interval.lo, double(i) / kPoints));
  }
}

}  // namespace

double ErrorThroughNorm(const NormalisationSpec& spec, double z_error, double s_error) {
  double largest = 0;
  ForPoints(spec.Range(), [&](double s) {
    const double step = 1e-5 * s;
    const double slope = (spec(s + step) - spec(s - step)) / (2 * step);
    const double error = ckks::Combine(2 * std::sqrt(s) * z_error, s_error);
    largest = std::max(largest, std::sqrt(s) * std::abs(slope) * error);
  });
  return largest;
}

GoldschmidtError::GoldschmidtError(const Goldschmidt& g, double y_error, double x_error) {
  ForPoints(g.interval, [&](double at) {
    const double y = g.slope * at + g.offset;
    const double yy = y_error * y_error;
    points_.push_back({at, at * y, y / 2, at * at * yy + x_error * x_error, at / 2 * yy, yy / 4});
  });
}

void GoldschmidtError::Step(double r_error, double x_error, double h_error) {
  for (Point& p : points_) {
    const double r = 1.5 - p.x * p.h;
    const double a = r - p.x * p.h, b = -p.x * p.x, c = -p.h * p.h;
    const Point old = p;
    const double rr = r_error * r_error;
    p.xx = a * a * old.xx + 2 * a * b * old.xh + b * b * old.hh + old.x * old.x * rr +
           x_error * x_error;
    p.xh = a * c * old.xx + (a * a + b * c) * old.xh + a * b * old.hh + old.x * old.h * rr;
    p.hh = c * c * old.xx + 2 * a * c * old.xh + a * a * old.hh + old.h * old.h * rr +
           h_error * h_error;
    p.x *= r;
    p.h *= r;
  }
}

double GoldschmidtError::OfLength() const {
  double largest = 0;
  for (const Point& p : points_) largest = std::max(largest, 2 * std::sqrt(p.s * p.hh));
  return largest;
}

}  // namespace heft::paper
