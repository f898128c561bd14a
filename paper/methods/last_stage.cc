// SPDX-License-Identifier: Apache-2.0
#include "paper/methods/last_stage.h"

#include <cmath>

#include "fusion/plan.h"

namespace heft::paper {

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

}  // namespace heft::paper
