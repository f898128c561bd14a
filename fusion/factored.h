// SPDX-License-Identifier: Apache-2.0
// FactoredPolynomial: quadratics and cubics in the form whose encrypted evaluation needs the fewest
// levels.
#ifndef HEFT_FUSION_FACTORED_H_
#define HEFT_FUSION_FACTORED_H_

#include "base/status.h"
#include "heft/model.h"

namespace heft {

// FactoredPolynomial: degree 2 is leading * ((s + a)^2 + b), degree 3 is leading * ((s + a)^2 + b)
// * (s + d). The leading factor is moved into a scale or into the projected vector, so no level is
// needed for a constant.
struct FactoredPolynomial {
  int degree = 2;
  double leading = 0.0;
  double a = 0.0;
  double b = 0.0;
  double d = 0.0;  // degree 3 only

  // Evaluate: the value at s.
  double Evaluate(double s) const;
};

// FactorForEvaluation: kInvalidArgument unless the degree is 2 or 3 and the leading coefficient is
// not zero. A cubic always has a real root; Cauchy's bound brackets it, and bisection finds it.
absl::StatusOr<FactoredPolynomial> FactorForEvaluation(const Polynomial& polynomial);

}  // namespace heft

#endif  // HEFT_FUSION_FACTORED_H_
