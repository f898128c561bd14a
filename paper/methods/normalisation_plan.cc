// SPDX-License-Identifier: Apache-2.0
#include "paper/methods/normalisation_plan.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ckks/chebyshev.h"
#include "inverse_sqrt/fit.h"
#include "paper/methods/last_stage.h"

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
  NormalisationSpec spec;
  spec.method = NormalisationMethod::kPolynomial;
  spec.approximation = approximation;
  return spec;
}

NormalisationSpec NormalisationSpec::Iteration(const Goldschmidt& goldschmidt) {
  NormalisationSpec spec;
  spec.method = NormalisationMethod::kGoldschmidt;
  spec.goldschmidt = goldschmidt;
  return spec;
}

NormalisationSpec NormalisationSpec::Deferred(const Interval& interval) {
  NormalisationSpec spec;
  spec.method = NormalisationMethod::kDeferred;
  spec.interval = interval;
  return spec;
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

}  // namespace heft::paper
