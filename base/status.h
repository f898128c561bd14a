// SPDX-License-Identifier: Apache-2.0
// Errors are values. A library function that can fail returns absl::Status or absl::StatusOr; the
// message states the problem and the remedy. heft/status.h has the short forms.
//
//     kInvalidArgument     a wrong value of the caller (dimension, NaN, unknown name)
//     kDataLoss            damaged bytes (truncated, flipped, wrong magic)
//     kFailedPrecondition  valid objects that do not belong together (other key, model, parameters)
//     kNotFound            an identity, file or key that does not exist
//     kUnavailable         the operating system refused (disk full, permission)
#ifndef HEFT_BASE_STATUS_H_
#define HEFT_BASE_STATUS_H_

#include "heft/status.h"  // IWYU pragma: export

#endif  // HEFT_BASE_STATUS_H_
