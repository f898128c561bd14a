// SPDX-License-Identifier: Apache-2.0
// The tables of postgres/schema.sql, for their users.
#ifndef HEFT_POSTGRES_SCHEMA_H_
#define HEFT_POSTGRES_SCHEMA_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "postgres/sql_session.h"
#include "store/store.h"

namespace heft {

inline constexpr int64_t kSqlSchemaVersion = 2;
// kSqlBlob: values of at least this many bytes are blobs.
inline constexpr size_t kSqlBlob = size_t{64} << 10;

// SqlSchemaText: postgres/schema.sql, whose second part follows from store/layout.h
// (sql_tables_test.cc).
std::string_view SqlSchemaText();

// FindSqlSchema: whether the tables exist. kFailedPrecondition for tables of another version.
absl::StatusOr<bool> FindSqlSchema(SqlSession& session);
// MakeSqlSchema: creates the tables, unless they exist. Concurrent calls create them once.
absl::Status MakeSqlSchema(SqlSession& session);

}  // namespace heft

#endif  // HEFT_POSTGRES_SCHEMA_H_
