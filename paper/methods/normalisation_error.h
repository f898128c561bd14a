// SPDX-License-Identifier: Apache-2.0
// What errors of z and of its squared norm do to the length of z f(s), for the noise estimates:
// bounds that are propagated product by product would count the same error again and again.
#ifndef HEFT_PAPER_METHODS_NORMALISATION_ERROR_H_
#define HEFT_PAPER_METHODS_NORMALISATION_ERROR_H_

#include <vector>

#include "inverse_sqrt/goldschmidt.h"
#include "paper/methods/normalisation_plan.h"

namespace heft::paper {

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

#endif  // HEFT_PAPER_METHODS_NORMALISATION_ERROR_H_
