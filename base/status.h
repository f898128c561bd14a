// SPDX-License-Identifier: Apache-2.0
// Errors are values. A library function that can fail returns absl::Status or absl::StatusOr; the
// message states the problem and the remedy. heft/base.h has the short forms.
//
//     kInvalidArgument     a wrong value of the caller (dimension, NaN, unknown name)
//     kDataLoss            damaged bytes (truncated, flipped, wrong magic)
//     kFailedPrecondition  valid objects that do not belong together (other key, model, parameters)
//     kNotFound            an identity, file or key that does not exist
//     kUnavailable         the operating system refused (disk full, permission)
#ifndef HEFT_BASE_STATUS_H_
#define HEFT_BASE_STATUS_H_

#include <utility>

#include "heft/base.h"  // IWYU pragma: export

namespace heft {

// OfStore: marks kDataLoss as damage of what a gallery's server has stored. Without the mark,
// damage is that of what a caller gave: services and SQL tell the two apart. IsOfStore: whether it
// is so marked.
absl::Status OfStore(absl::Status status);
template <typename T>
absl::StatusOr<T> OfStore(absl::StatusOr<T> value) {
  if (value.ok()) return value;
  return OfStore(value.status());
}
bool IsOfStore(const absl::Status& status);

}  // namespace heft

#endif  // HEFT_BASE_STATUS_H_
