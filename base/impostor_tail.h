// SPDX-License-Identifier: Apache-2.0
// The tail of impostor scores (heft/decisions.h) in the coordinate of its fit.
#ifndef HEFT_BASE_IMPOSTOR_TAIL_H_
#define HEFT_BASE_IMPOSTOR_TAIL_H_

#include "heft/decisions.h"

namespace heft::internal {

// DepthOf: -log(1 - s^2) for a positive score s; it rises with s. Of random directions in d
// dimensions the share with a cosine beyond s is close to (1 - s^2)^((d - 1) / 2). In depths such a
// tail is exponential for every d, and nearly so for most distributions of people; in scores it
// never is. A score below 0 is its own depth.
double DepthOf(double score);

// ScoreAtShare: the score that a share of comparisons reaches; `start` for shares above the tail's.
double ScoreAtShare(const ImpostorTail& tail, double share);

}  // namespace heft::internal

#endif  // HEFT_BASE_IMPOSTOR_TAIL_H_
