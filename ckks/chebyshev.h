// SPDX-License-Identifier: Apache-2.0
// EvaluateChebyshev: a polynomial in a ciphertext's slots, in the Chebyshev basis: its coefficients
// are as small as its values, where those of plain powers cancel and magnify the noise.
#ifndef HEFT_CKKS_CHEBYSHEV_H_
#define HEFT_CKKS_CHEBYSHEV_H_

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/context.h"
#include "ckks/keys.h"

namespace heft::ckks {

// ChebyshevLevels that EvaluateChebyshev takes for a degree >= 1, constants included:
// ceil(log2(degree + 1)).
size_t ChebyshevLevels(int degree);

// EvaluateChebyshev: sum_k coefficients[k] T_k(t) with t = (x - centre) / half_width the slots of
// `x`, where |t| is to be at most about 1: far outside, the powers overflow the modulus, which
// spoils all slots. The result has `limbs` limbs, at most x.limbs() - ChebyshevLevels(degree), and
// exactly the scale `scale`. One relinearised product for each power of two below the degree and
// for each split at one (Bossuat et al., EUROCRYPT 2021, section 3). kInvalidArgument for no
// coefficient above the constant, for too few levels, or where a scale does not fit.
absl::StatusOr<Ciphertext> EvaluateChebyshev(const Context& context, const Ciphertext& x,
                                             std::span<const double> coefficients, double centre,
                                             double half_width, size_t limbs, double scale,
                                             const EvaluationKeys& keys);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_CHEBYSHEV_H_
