// SPDX-License-Identifier: Apache-2.0
// Fitting a generalised Pareto distribution to a tail of scores (evaluation/open_set.h says how).
// Internal to this folder.
#ifndef HEFT_EVALUATION_TAIL_FIT_H_
#define HEFT_EVALUATION_TAIL_FIT_H_

#include <span>

#include "heft/decisions.h"

namespace heft::internal {

inline constexpr double kTailShare = 0.05;  // of the comparisons, above `start`
inline constexpr double kEven = 1e6;        // an evenness above which strangers are alike

// A value and how often resampling drew it.
struct Weighted {
  double value, weight;
};

// FitPareto: scale and shape of `tail` from depths `above` its start, falling, of the total weight
// `total`. `start` is a depth.
void FitPareto(std::span<const Weighted> above, double start, double total, ImpostorTail* tail);

}  // namespace heft::internal

#endif  // HEFT_EVALUATION_TAIL_FIT_H_
