// SPDX-License-Identifier: Apache-2.0
// LastStage: the last polynomial of a composite, which is applied to z: its factors and what they
// do to scales.
#ifndef HEFT_PAPER_METHODS_LAST_STAGE_H_
#define HEFT_PAPER_METHODS_LAST_STAGE_H_

#include "base/status.h"
#include "ckks/params.h"
#include "inverse_sqrt/approximation.h"
#include "inverse_sqrt/factored.h"

namespace heft::paper {

inline constexpr int kMaxFactoredDegree = 3;

// Prime: the modulus of a limb, as a number.
inline double Prime(const ckks::Params& params, size_t index) {
  return params.modulus(index).value();
}

// Centre and HalfWidth of an interval: where the arguments of Chebyshev polynomials come from.
inline double Centre(const Interval& interval) { return (interval.hi + interval.lo) / 2; }
inline double HalfWidth(const Interval& interval) { return (interval.hi - interval.lo) / 2; }

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

}  // namespace heft::paper

#endif  // HEFT_PAPER_METHODS_LAST_STAGE_H_
