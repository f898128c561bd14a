// SPDX-License-Identifier: Apache-2.0
// CheckedKernels: a table that asserts the contracts of ring/kernels.h and calls another table.
// ActiveKernels returns it in debug builds; internal to ring/.
#ifndef HEFT_RING_KERNELS_CHECKED_H_
#define HEFT_RING_KERNELS_CHECKED_H_

#include "ring/kernels.h"

namespace heft::ring {

// CheckedKernels: assertions of ranges, lengths, alignment and aliases around `kernels`, one of
// AllKernels(). Only one table is wrapped at a time: that of the last call.
const Kernels& CheckedKernels(const Kernels& kernels);

}  // namespace heft::ring

#endif  // HEFT_RING_KERNELS_CHECKED_H_
