// SPDX-License-Identifier: Apache-2.0
// EvaluateChebyshev: a polynomial of a ciphertext's slots in the Chebyshev basis. Its coefficients
// are as small as its values; coefficients of plain powers cancel and amplify the noise.
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

// ChebyshevLevels: levels that EvaluateChebyshev uses for a degree >= 1, constants included:
// ceil(log2(degree + 1)).
size_t ChebyshevLevels(int degree);

// EvaluateChebyshev: sum_k coefficients[k] T_k(t), where t = (x - centre) / half_width for the
// slots of `x`. |t| must be at most about 1: far outside, the powers overflow the modulus and spoil
// all slots. The result has `limbs` limbs, at most x.limbs() - ChebyshevLevels(degree), and exactly
// the scale `scale`. It takes one relinearised product for each power of two below the degree and
// for each split at one (Bossuat et al., EUROCRYPT 2021, section 3). kInvalidArgument for no
// coefficient except the constant, for too few levels, or if a scale does not fit.
absl::StatusOr<Ciphertext> EvaluateChebyshev(const Context& context, const Ciphertext& x,
                                             std::span<const double> coefficients, double centre,
                                             double half_width, size_t limbs, double scale,
                                             const EvaluationKeys& keys);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_CHEBYSHEV_H_
