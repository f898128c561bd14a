// SPDX-License-Identifier: Apache-2.0
// The tools' short forms for errors (heft/heft.h), the same as the library's own.
#ifndef HEFT_PROGRAM_STATUS_H_
#define HEFT_PROGRAM_STATUS_H_

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

#endif  // HEFT_PROGRAM_STATUS_H_
