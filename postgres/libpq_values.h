// SPDX-License-Identifier: Apache-2.0
// Parameters and errors as libpq has them.
#ifndef HEFT_POSTGRES_LIBPQ_VALUES_H_
#define HEFT_POSTGRES_LIBPQ_VALUES_H_

#include <libpq-fe.h>

#include <span>
#include <string>
#include <vector>

#include "postgres/sql_session.h"

namespace heft {

// LibpqParameters: the parameters of PQsendQueryPrepared. Its arrays point into the caller's
// memory.
class LibpqParameters {
 public:
  explicit LibpqParameters(std::span<const SqlParameter> parameters);
  int count() const { return static_cast<int>(types_.size()); }
  const Oid* types() const { return types_.data(); }
  const char* const* values() const { return values_.data(); }
  const int* lengths() const { return lengths_.data(); }
  const int* formats() const { return formats_.data(); }
  // kInvalidArgument if a value is too long to be sent.
  const absl::Status& status() const { return status_; }

 private:
  void Add(Oid type, ByteSpan bytes, bool null = false);

  std::vector<Oid> types_;
  std::vector<const char*> values_;
  std::vector<int> lengths_, formats_;
  std::vector<std::vector<uint8_t>> made_;  // values with another form on the wire
  absl::Status status_;
};

// SqlStateError: the status for an error code of PostgreSQL, five characters (SqlSession).
absl::Status SqlStateError(std::string_view state, std::string_view message);

}  // namespace heft

#endif  // HEFT_POSTGRES_LIBPQ_VALUES_H_
