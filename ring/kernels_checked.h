// SPDX-License-Identifier: Apache-2.0
// CheckedKernels: a table that asserts the contracts of ring/kernels.h around another one. What
// ActiveKernels returns in debug builds; internal to ring/.
#ifndef HEFT_RING_KERNELS_CHECKED_H_
#define HEFT_RING_KERNELS_CHECKED_H_

#include "ring/kernels.h"

namespace heft::ring {

// CheckedKernels: `kernels`, one of AllKernels(), behind assertions of ranges, lengths, alignment
// and aliases. One table is behind them at a time: the one of the last call.
const Kernels& CheckedKernels(const Kernels& kernels);

}  // namespace heft::ring

#endif  // HEFT_RING_KERNELS_CHECKED_H_
