// SPDX-License-Identifier: Apache-2.0
#include "postgres/schema.h"

#include "absl/strings/str_cat.h"
#include "postgres/schema_text.h"

namespace heft {
namespace {

// kPatience: the longest wait for another process that makes the tables.
constexpr absl::Duration kPatience = absl::Seconds(60);

// CheckOwner: any role that may create schemas could have created this one, and its contents run
// with the rights of each user. A superuser is a member of every role, so its own role is compared.
absl::Status CheckOwner(SqlSession& session) {
  HEFT_ASSIGN_OR_RETURN(
      const SqlRows rows,
      session.Execute(
          "SELECT o.rolsuper OR o.oid = me.oid OR (NOT me.rolsuper AND "
          "pg_catalog.pg_has_role(o.oid, 'USAGE')), o.rolname::text FROM pg_catalog.pg_namespace n "
          "JOIN pg_catalog.pg_roles o ON o.oid = n.nspowner "
          "JOIN pg_catalog.pg_roles me ON me.rolname = current_user WHERE n.nspname = 'heft'"));
  const auto believed = rows.size() == 1 ? rows.at(0, 0) : std::nullopt;
  if (believed && believed->size() == 1 && (*believed)[0] != 0) return absl::OkStatus();
  const auto owner = rows.size() == 1 ? rows.at(0, 1) : std::nullopt;
  return absl::FailedPreconditionError(
      absl::StrCat("the schema heft belongs to role \"",
                   owner ? std::string(owner->begin(), owner->end()) : std::string(),
                   "\", which could run its own code with the rights of any user of the schema. "
                   "Connect as that role or as a member, or, if nothing of yours is in it, drop it "
                   "and let no other role create schemas in this database"));
}

}  // namespace

absl::StatusOr<int64_t> SqlInteger(const std::optional<ByteSpan>& value) {
  if (!value || value->size() != sizeof(int64_t)) {
    return absl::DataLossError("the database did not return an integer");
  }
  uint64_t integer = 0;
  for (const uint8_t byte : *value) integer = integer << 8 | byte;
  return static_cast<int64_t>(integer);
}

std::string_view SqlSchemaText() { return kSqlSchemaText; }

absl::StatusOr<bool> FindSqlSchema(SqlSession& session) {
  HEFT_ASSIGN_OR_RETURN(const SqlRows there,
                        session.Execute("SELECT 1::bigint WHERE to_regclass('heft.store') "
                                        "IS NOT NULL"));
  if (there.size() == 0) return false;
  HEFT_RETURN_IF_ERROR(CheckOwner(session));
  HEFT_ASSIGN_OR_RETURN(const SqlRows rows, session.Execute("SELECT version FROM heft.store"));
  if (rows.size() == 0) return absl::DataLossError("the table heft.store is empty");
  HEFT_ASSIGN_OR_RETURN(const int64_t version, SqlInteger(rows.at(0, 0)));
  if (version == kSqlSchemaVersion) return true;
  return absl::FailedPreconditionError(absl::StrCat(
      "the database's schema heft has version ", version, ", but this program needs version ",
      kSqlSchemaVersion, ": use the version of HEFT that made it, or a later one"));
}

absl::Status MakeSqlSchema(SqlSession& session) {
  HEFT_RETURN_IF_ERROR(session.Lock(kPatience));
  const auto make = [&]() -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(const bool there, FindSqlSchema(session));
    // All or nothing: statements sent together are one transaction.
    return there ? absl::OkStatus() : session.Run(SqlSchemaText());
  };
  const absl::Status made = make();
  session.Unlock();
  return made;
}

}  // namespace heft
