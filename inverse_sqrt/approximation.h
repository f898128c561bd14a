// SPDX-License-Identifier: Apache-2.0
// Implements heft/approximation.h, and has the interval of the paper.
#ifndef HEFT_INVERSE_SQRT_APPROXIMATION_H_
#define HEFT_INVERSE_SQRT_APPROXIMATION_H_

#include "heft/approximation.h"

namespace heft {

// kPaperInterval: the interval of the paper (appendix, practical considerations).
inline constexpr Interval kPaperInterval{0.05, 3.0};

}  // namespace heft

#endif  // HEFT_INVERSE_SQRT_APPROXIMATION_H_
