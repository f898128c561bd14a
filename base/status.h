// SPDX-License-Identifier: Apache-2.0
// Errors are values. A library function that can fail returns absl::Status or absl::StatusOr;
// the message says what was wrong and what to do about it.
//
//   kInvalidArgument     the caller's value is wrong (dimension, NaN, unknown name)
//   kDataLoss            bytes that are not what they claim to be (truncated, flipped, wrong magic)
//   kFailedPrecondition  good objects that do not belong together (other key, model, parameters)
//   kNotFound            an identity, file or key that is not there
//   kUnavailable         the operating system refused (disk full, permission)
#ifndef HEFT_BASE_STATUS_H_
#define HEFT_BASE_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// HEFT_RETURN_IF_ERROR(FunctionThatReturnsStatus());
#define HEFT_RETURN_IF_ERROR(expr) HEFT_RETURN_IF_ERROR_(HEFT_CONCAT_(heft_status_, __LINE__), expr)
#define HEFT_RETURN_IF_ERROR_(status, expr) \
  do {                                      \
    ::absl::Status status = (expr);         \
    if (!status.ok()) return status;        \
  } while (false)

#define HEFT_CONCAT_INNER_(a, b) a##b
#define HEFT_CONCAT_(a, b) HEFT_CONCAT_INNER_(a, b)

// HEFT_ASSIGN_OR_RETURN(auto value, FunctionThatReturnsStatusOr());
#define HEFT_ASSIGN_OR_RETURN(lhs, expr) \
  HEFT_ASSIGN_OR_RETURN_(HEFT_CONCAT_(heft_statusor_, __LINE__), lhs, expr)
#define HEFT_ASSIGN_OR_RETURN_(tmp, lhs, expr) \
  auto tmp = (expr);                           \
  if (!tmp.ok()) return tmp.status();          \
  lhs = std::move(*tmp)

#endif  // HEFT_BASE_STATUS_H_
