// SPDX-License-Identifier: Apache-2.0
// Normalisation of encrypted vectors by every method that the paper compares and ours: composite
// polynomials of any degrees, Goldschmidt's iteration, and deferred exact normalisation. The
// shipped route (fusion/normalise.h) is the special case of one quadratic or cubic. docs/design.md,
// "Normalisation".
#ifndef HEFT_PAPER_METHODS_NORMALISATION_PLAN_H_
#define HEFT_PAPER_METHODS_NORMALISATION_PLAN_H_

#include <cstdint>

#include "base/status.h"
#include "ckks/params.h"
#include "fusion/key_needs.h"
#include "inverse_sqrt/approximation.h"
#include "inverse_sqrt/goldschmidt.h"

namespace heft::paper {

enum class NormalisationMethod {
  kPolynomial,   // composite polynomials, each of degree 1 to 31
  kGoldschmidt,  // the iteration
  kDeferred,     // none: z and |z|^2 go on, and the key owner divides
};

struct NormalisationSpec {
  NormalisationMethod method = NormalisationMethod::kPolynomial;
  Approximation approximation;  // kPolynomial
  Goldschmidt goldschmidt;      // kGoldschmidt
  Interval interval;            // of |z|^2, kDeferred

  static NormalisationSpec Polynomials(const Approximation& approximation);
  static NormalisationSpec Iteration(const Goldschmidt& goldschmidt);
  static NormalisationSpec Deferred(const Interval& interval);

  // Range: the interval of |z|^2.
  const Interval& Range() const;
  // The number that z is multiplied with where |z|^2 = s; 1 for kDeferred.
  double operator()(double s) const;
  // Levels from z to z f(|z|^2): the square, f, and its application; 0 for kDeferred, whose |z|^2
  // takes one. A last stage of degree 2 or 3 is applied in factored form and takes 2 with its
  // application, degree 1 takes 1, Goldschmidt's last iteration 2.
  size_t Levels() const;
};

// PaperNormalisations: those of the paper's tables, on its interval. "Degree 6" is a cubic of a
// cubic in the published code; the iterations start from our linear fit, which needs four.
struct PaperNormalisations {
  NormalisationSpec degree2, degree6, goldschmidt;
};
absl::StatusOr<PaperNormalisations> MakePaperNormalisations();

struct NormalisationPlan {
  NormalisationSpec spec;
  uint32_t gamma = 0;
  bool folds = true;        // sum the squares over gamma slots; false for SIMD coordinates
  size_t input_limbs = 0;   // of z
  size_t output_limbs = 0;  // of z f(|z|^2)
  // z is expected at exactly this scale, and its result comes out at the other.
  double input_scale = 0, output_scale = 0;
  KeyNeeds keys;
};

// PlanNormalisation from z with `input_limbs` limbs to templates at `output_scale`. The plan says
// which scale z must have (give it to PlanProjection). kInvalidArgument where levels lack: it says
// how many.
absl::StatusOr<NormalisationPlan> PlanNormalisation(const ckks::Params& params,
                                                    const NormalisationSpec& spec, uint32_t gamma,
                                                    size_t input_limbs, double output_scale,
                                                    bool folds = true);

}  // namespace heft::paper

#endif  // HEFT_PAPER_METHODS_NORMALISATION_PLAN_H_
