// SPDX-License-Identifier: Apache-2.0
// The tables of postgres/schema.sql, for those who use them.
#ifndef HEFT_POSTGRES_SCHEMA_H_
#define HEFT_POSTGRES_SCHEMA_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gallery/store.h"
#include "postgres/sql_session.h"

namespace heft {

inline constexpr int64_t kSqlSchemaVersion = 1;
// kSqlBlob: values of so many bytes and more are blobs.
inline constexpr size_t kSqlBlob = size_t{64} << 10;

// SqlSchemaText: postgres/schema.sql.
std::string_view SqlSchemaText();
// SqlTableName: of a table of the store, with its schema: "heft.block_info".
const std::string& SqlTableName(Table table);

// FindSqlSchema: whether the tables are there. kFailedPrecondition for those of another version.
absl::StatusOr<bool> FindSqlSchema(SqlSession& session);
// MakeSqlSchema: the tables, unless they are there. Two who do it at a time make them once.
absl::Status MakeSqlSchema(SqlSession& session);

}  // namespace heft

#endif  // HEFT_POSTGRES_SCHEMA_H_
