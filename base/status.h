// SPDX-License-Identifier: Apache-2.0
// Errors are values. A library function that can fail returns absl::Status or absl::StatusOr;
// the message says what was wrong and what to do about it. heft/status.h has the short forms.
//
//   kInvalidArgument     the caller's value is wrong (dimension, NaN, unknown name)
//   kDataLoss            bytes that are not what they claim to be (truncated, flipped, wrong magic)
//   kFailedPrecondition  good objects that do not belong together (other key, model, parameters)
//   kNotFound            an identity, file or key that is not there
//   kUnavailable         the operating system refused (disk full, permission)
#ifndef HEFT_BASE_STATUS_H_
#define HEFT_BASE_STATUS_H_

#include "heft/status.h"  // IWYU pragma: export

#endif  // HEFT_BASE_STATUS_H_
