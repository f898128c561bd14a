// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "postgres/schema.h"
#include "postgres/sql_store.h"

namespace heft {
namespace {

// kMaxIdle: the most idle sessions that are kept for reuse.
constexpr size_t kMaxIdle = 8;

}  // namespace

SqlDatabase::SqlDatabase(SqlConnect connect, SqlOptions options)
    : connect_(std::move(connect)), options_(std::move(options)), process_(getpid()) {}

absl::StatusOr<std::shared_ptr<SqlDatabase>> SqlDatabase::Open(SqlConnect connect, StoreMode mode,
                                                               SqlOptions options) {
  std::shared_ptr<SqlDatabase> database(new SqlDatabase(std::move(connect), std::move(options)));
  bool there = false;
  auto session = database->Session([&](SqlSession& s) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(there, FindSqlSchema(s));
    return there || mode != StoreMode::kCreate ? absl::OkStatus() : MakeSqlSchema(s);
  });
  HEFT_RETURN_IF_ERROR(session.status());
  database->Done(*std::move(session));
  if (there || mode == StoreMode::kCreate) return database;
  return absl::NotFoundError(absl::StrCat("there is no store in ", database->options().name,
                                          ": enrol a person, which makes its tables (schema heft), "
                                          "or name the database that has them"));
}

absl::Status SqlDatabase::Named(const absl::Status& status) const {
  if (status.ok() || options_.name.empty()) return OfStore(status);
  return OfStore(absl::Status(
      status.code(), absl::StrCat("the store in ", options_.name, ": ", status.message())));
}

std::unique_ptr<SqlSession> SqlDatabase::Idle() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (idle_.empty()) return nullptr;
  auto session = std::move(idle_.back());
  idle_.pop_back();
  return session;
}

absl::StatusOr<std::unique_ptr<SqlSession>> SqlDatabase::Session(
    const std::function<absl::Status(SqlSession&)>& first) const {
  if (getpid() != process_) {
    return Named(absl::FailedPreconditionError("it was opened before a fork: open it again"));
  }
  while (auto session = Idle()) {
    const absl::Status begun = first(*session);
    if (begun.ok()) return session;
    if (!session->Lost()) {
      session->Rollback();
      Done(std::move(session));
      return Named(begun);
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.clear();  // they are older than this one
  }
  auto session = connect_();
  if (!session.ok()) return Named(session.status());
  if (const absl::Status begun = first(**session); !begun.ok()) return Named(begun);
  return session;
}

void SqlDatabase::Done(std::unique_ptr<SqlSession> session) const {
  if (session == nullptr || session->Lost()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(session));
}

}  // namespace heft
