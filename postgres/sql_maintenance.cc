// SPDX-License-Identifier: Apache-2.0
#include "postgres/sql_maintenance.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/files.h"
#include "postgres/schema.h"
#include "store/layout_sql.h"

namespace heft {
namespace {

constexpr absl::Duration kSweepStep = absl::Milliseconds(50);

// OfTables: `make` of each table of entries, or of those with long values, separated by `between`.
template <typename Make>
std::string OfTables(std::string_view between, bool opaque, const Make& make) {
  std::vector<std::string> all;
  for (size_t i = 0; i < kLayouts; ++i) {
    const Layout& layout = LayoutAt(i);
    if (!opaque || layout.opaque)
      all.push_back(make(layout, TableText(layout, Dialect::kPostgres)));
  }
  return absl::StrJoin(all, std::string(between));
}

absl::StatusOr<std::vector<int64_t>> Integers(SqlSession& session, const std::string& statement,
                                              std::span<const SqlParameter> parameters = {}) {
  HEFT_ASSIGN_OR_RETURN(const SqlRows rows, session.Execute(statement, parameters));
  if (rows.size() != 1) return absl::DataLossError("the database did not return one row");
  std::vector<int64_t> integers;
  for (size_t i = 0; i < rows.columns; ++i) {
    HEFT_ASSIGN_OR_RETURN(const int64_t integer, SqlInteger(rows.at(0, i)));
    integers.push_back(integer);
  }
  return integers;
}

std::string AllTables() {
  return absl::StrCat(
      "heft.store, heft.commits, heft.blobs, ",
      OfTables(", ", false, [](const Layout&, const std::string& name) { return name; }));
}

// Ours: the tables, and the TOAST tables behind them.
std::string Ours() {
  return absl::StrCat(
      "WITH named AS (SELECT c.oid, c.reltoastrelid FROM pg_class c WHERE c.oid = ANY ('{",
      AllTables(),
      "}'::regclass[])), ours AS (SELECT oid FROM named UNION ALL SELECT reltoastrelid FROM named "
      "WHERE reltoastrelid <> 0) ");
}

// Vacuum: how many deleted rows are still seen by some transaction. VACUUM reports it, after this
// session's deletions are counted. Returning room to the disk would wait for readers. If it lacks
// the right to VACUUM a table, that table's last VACUUM was before this one began.
absl::StatusOr<int64_t> Vacuum(SqlSession& session) {
  HEFT_ASSIGN_OR_RETURN(
      const auto start,
      Integers(session, "SELECT (extract(epoch FROM clock_timestamp()) * 1e6)::bigint"));
  HEFT_RETURN_IF_ERROR(session.Execute("SELECT pg_stat_force_next_flush()").status());
  HEFT_RETURN_IF_ERROR(session.Run("VACUUM (TRUNCATE false) " + AllTables()));
  const std::vector<SqlParameter> parameters = {start[0]};
  HEFT_ASSIGN_OR_RETURN(
      const auto found,
      Integers(session,
               absl::StrCat(Ours(),
                            "SELECT coalesce(sum(s.n_dead_tup), 0)::bigint, count(*) FILTER (WHERE "
                            "s.last_vacuum IS NULL OR s.last_vacuum < to_timestamp($1 / 1e6)) FROM "
                            "ours LEFT JOIN pg_stat_all_tables s ON s.relid = ours.oid"),
               parameters));
  if (found[1] == 0) return found[0];
  return absl::PermissionDeniedError(
      "this role may not VACUUM all of the tables: make it the owner of the tables in schema heft");
}

absl::Status WipeCache(const SqlDatabase& database, SqlSession& session) {
  if (database.options().cache == nullptr) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(const SqlRows rows, session.Execute("SELECT hash FROM heft.blobs"));
  std::set<Hash> live;
  for (size_t i = 0; i < rows.size(); ++i) {
    Hash hash{};
    const auto& bytes = rows.at(i, 0);
    if (!bytes || bytes->size() != hash.size()) return absl::DataLossError("a blob has no hash");
    std::ranges::copy(*bytes, hash.begin());
    live.insert(hash);
  }
  return database.options().cache->Wipe([&](const Hash& hash) { return live.contains(hash); });
}

}  // namespace

absl::Status ScrubDatabase(SqlHold& hold, absl::Duration wait) {
  const absl::Time end = absl::Now() + wait;
  HEFT_ASSIGN_OR_RETURN(SqlSession* const session, hold.Session());
  while (true) {
    HEFT_ASSIGN_OR_RETURN(const int64_t seen, Vacuum(*session));
    if (seen == 0) break;
    if (absl::Now() >= end) {
      return absl::UnavailableError(
          "other transactions read the data to scrub, or a standby or a replication slot holds it: "
          "try again later");
    }
    HEFT_RETURN_IF_ERROR(CheckNotInterrupted());
    absl::SleepFor(kSweepStep);
  }
  return WipeCache(hold.database(), *session);
}

absl::StatusOr<StoreStatistics> DatabaseStatistics(SqlSession& session) {
  const std::string live =
      OfTables(" + ", false, [](const Layout& layout, const std::string& name) {
        return absl::StrCat(
            "(SELECT coalesce(sum(",
            layout.opaque ? "coalesce(octet_length(value), 40)" : "pg_column_size(t)",
            "), 0) FROM ", name, " t)");
      });
  HEFT_ASSIGN_OR_RETURN(
      const auto found,
      Integers(session,
               absl::StrCat(
                   Ours(), "SELECT (SELECT sum(pg_total_relation_size(oid))::bigint FROM named), (",
                   live,
                   " + (SELECT coalesce(sum(octet_length(bytes)), 0) FROM heft.blobs))::bigint, "
                   "(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND "
                   "database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
                   "AND classid = ",
                   kSqlLockClass, " AND objid = ", kSqlLockReader, ")")));
  StoreStatistics statistics;
  statistics.bytes = static_cast<uint64_t>(found[0]);
  statistics.live_bytes = static_cast<uint64_t>(found[1]);
  statistics.readers = static_cast<uint64_t>(found[2]);
  return statistics;
}

absl::Status CheckDatabase(SqlSession& session) {
  const std::string named =
      OfTables(" UNION ALL ", true, [](const Layout&, const std::string& name) {
        return absl::StrCat("SELECT gallery, hash FROM ", name, " WHERE hash IS NOT NULL");
      });
  HEFT_ASSIGN_OR_RETURN(
      const auto found,
      Integers(session, absl::StrCat("SELECT count(*) FILTER (WHERE b.hash IS NULL)::bigint, "
                                     "count(*) FILTER (WHERE b.hash IS NOT NULL AND b.uses IS "
                                     "DISTINCT FROM coalesce(n.uses, 0))::bigint FROM (SELECT "
                                     "gallery, hash, count(*) AS uses FROM (",
                                     named,
                                     ") AS all_named GROUP BY gallery, hash) AS n FULL JOIN "
                                     "heft.blobs AS b ON b.hash = n.hash AND b.gallery = "
                                     "n.gallery")));
  if (found[0] > 0) {
    return absl::DataLossError(absl::StrCat(
        found[0], " blobs that entries name are missing: restore the database from a backup"));
  }
  if (found[1] > 0) {
    return absl::DataLossError(absl::StrCat(
        found[1],
        " blobs have a wrong number of uses: another program than HEFT has changed the tables"));
  }
  return absl::OkStatus();
}

}  // namespace heft
