// SPDX-License-Identifier: Apache-2.0
// Short forms for passing errors on, as the library and the tools use them; no other public header
// needs this one. Inside a function that returns absl::Status or absl::StatusOr:
//
//   HEFT_RETURN_IF_ERROR(model.Check());
//   HEFT_ASSIGN_OR_RETURN(const auto client, heft::Client::Create(model, key));
//
// Each evaluates its argument once. The second is two statements, so it cannot be the body of an
// `if` without braces.
#ifndef HEFT_STATUS_H_
#define HEFT_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define HEFT_RETURN_IF_ERROR(expr) HEFT_RETURN_IF_ERROR_(HEFT_CONCAT_(heft_status_, __LINE__), expr)
#define HEFT_RETURN_IF_ERROR_(status, expr) \
  do {                                      \
    ::absl::Status status = (expr);         \
    if (!status.ok()) return status;        \
  } while (false)

#define HEFT_CONCAT_INNER_(a, b) a##b
#define HEFT_CONCAT_(a, b) HEFT_CONCAT_INNER_(a, b)

#define HEFT_ASSIGN_OR_RETURN(lhs, expr) \
  HEFT_ASSIGN_OR_RETURN_(HEFT_CONCAT_(heft_statusor_, __LINE__), lhs, expr)
#define HEFT_ASSIGN_OR_RETURN_(tmp, lhs, expr) \
  auto tmp = (expr);                           \
  if (!tmp.ok()) return tmp.status();          \
  lhs = std::move(*tmp)

#endif  // HEFT_STATUS_H_
