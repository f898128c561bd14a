// SPDX-License-Identifier: Apache-2.0
// The last stage of a normalisation, and its errors: what planning and computing one share.
#ifndef HEFT_PAPER_METHODS_NORMALISATION_INTERNAL_H_
#define HEFT_PAPER_METHODS_NORMALISATION_INTERNAL_H_

#include <vector>

#include "base/status.h"
#include "ckks/params.h"
#include "fusion/factored.h"
#include "inverse_sqrt/approximation.h"
#include "inverse_sqrt/goldschmidt.h"
#include "paper/methods/normalisation.h"

namespace heft::paper {

inline constexpr int kMaxFactoredDegree = 3;

// Prime: the modulus of a limb, as a number.
inline double Prime(const ckks::Params& params, size_t index) {
  return params.modulus(index).value();
}

// Centre and HalfWidth of an interval: where the arguments of Chebyshev polynomials come from.
inline double Centre(const Interval& interval) { return (interval.hi + interval.lo) / 2; }
inline double HalfWidth(const Interval& interval) { return (interval.hi - interval.lo) / 2; }

// LastStage: the last polynomial of a composite, which is applied to z: its factors and what they
// do to scales.
struct LastStage {
  FactoredPolynomial factored;  // degrees 1 to 3; a degree of 0 marks a larger one

  static absl::StatusOr<LastStage> Of(const Polynomial& stage);
  bool IsFactored() const { return factored.degree != 0; }
  // ArgumentScale: the scale of the argument, of `limbs` limbs, for which a factored stage brings z
  // at z_scale to `target`; the products divide by the primes from limbs - 1 down.
  double ArgumentScale(const ckks::Params& params, size_t limbs, double z_scale,
                       double target) const;
  // ZScale: the scale of z for which it is so with its own squared norm as the argument.
  double ZScale(const ckks::Params& params, size_t z_limbs, double target) const;
};

// ---- What errors of z and of its squared norm do to the length of z f(s), for the noise
// estimates: bounds that are propagated product by product would count the same error again and
// again.

// ErrorThroughNorm: what errors of z's coordinates and of s itself do to the length by way of f:
// the largest sqrt(s) |f'(s)| times the error of s, which from z is 2 sqrt(s) times a coordinate's.
double ErrorThroughNorm(const NormalisationSpec& spec, double z_error, double s_error);

// GoldschmidtError: the error of the iterates, in slot units. The iteration corrects an error that
// x and h share, so bounds by products explode where the error does not: its variance is followed
// through the iteration's derivative instead, over points of the interval.
class GoldschmidtError {
 public:
  // The deviations of y's and of x's own errors.
  GoldschmidtError(const Goldschmidt& g, double y_error, double x_error);
  // Step: r = 3/2 - x h, x = x r, h = h r, each with an error of its own.
  void Step(double r_error, double x_error, double h_error);
  // OfLength: of sqrt(s) 2 h, the length of a normalised vector; the largest over the interval.
  double OfLength() const;

 private:
  struct Point {
    double s, x, h;
    double xx, xh, hh;  // variances and covariance of the errors of x and h
  };
  std::vector<Point> points_;
};

}  // namespace heft::paper

#endif  // HEFT_PAPER_METHODS_NORMALISATION_INTERNAL_H_
