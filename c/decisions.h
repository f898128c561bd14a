// SPDX-License-Identifier: Apache-2.0
// Approximations as JSON.
#ifndef HEFT_C_DECISIONS_H_
#define HEFT_C_DECISIONS_H_

#include "heft/files.h"
#include "heft/model.h"

namespace heft::c {

// ApproximationJson: the members of heft_approximation_fit's result.
Json ApproximationJson(const Approximation& approximation);

}  // namespace heft::c

#endif  // HEFT_C_DECISIONS_H_
