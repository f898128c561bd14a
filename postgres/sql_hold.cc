// SPDX-License-Identifier: Apache-2.0
// SqlHold: the store's lock, and its recovery after a lost connection.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/files.h"
#include "postgres/sql_transactions.h"

namespace heft {
namespace {

constexpr absl::Duration kStep = absl::Milliseconds(100);

absl::StatusOr<int64_t> Generation(SqlSession& session) {
  HEFT_ASSIGN_OR_RETURN(const SqlRows rows, session.Execute("SELECT generation FROM heft.store"));
  if (rows.size() != 1) return absl::DataLossError("the table heft.store must have one row");
  return SqlInteger(rows.at(0, 0));
}

}  // namespace

absl::StatusOr<std::shared_ptr<SqlHold>> SqlHold::Take(std::shared_ptr<const SqlDatabase> database,
                                                       absl::Duration wait) {
  std::shared_ptr<SqlHold> hold(new SqlHold(std::move(database)));
  HEFT_ASSIGN_OR_RETURN(hold->session_, hold->database_->Session([&](SqlSession& session) {
    return session.Lock(wait);
  }));
  const auto generation = Generation(*hold->session_);
  if (!generation.ok()) return hold->database_->Named(generation.status());
  hold->generation_ = *generation;
  return hold;
}

SqlHold::~SqlHold() {
  if (session_ == nullptr) return;
  session_->Unlock();
  database_->Done(std::move(session_));
}

// Retake: the server ends the lost session's work before another session gets its lock.
absl::Status SqlHold::Retake(absl::Duration wait) {
  session_.reset();
  HEFT_ASSIGN_OR_RETURN(
      session_, database_->Session([&](SqlSession& session) { return session.Lock(wait); }));
  return absl::OkStatus();
}

absl::StatusOr<SqlSession*> SqlHold::Session() {
  if (session_ != nullptr && !session_->Lost()) return session_.get();
  HEFT_RETURN_IF_ERROR(Retake(absl::ZeroDuration()));
  HEFT_ASSIGN_OR_RETURN(const int64_t generation, Generation(*session_));
  if (generation == generation_) return session_.get();
  session_->Unlock();
  session_.reset();
  return absl::UnavailableError(
      "the connection was lost, and other processes have written since: begin again");
}

// Find: the token may exist only on this server, if it died before its standbys had the commit, and
// has come back. So the token is written once more: when that commit is acknowledged, all earlier
// ones are durable too.
absl::StatusOr<bool> SqlHold::Find(ByteSpan token, absl::Duration wait) {
  HEFT_RETURN_IF_ERROR(session_->Begin(SqlSession::Mode::kWrite));
  const std::vector<SqlParameter> parameters = {token};
  const auto rows = session_->Execute(
      "UPDATE heft.commits SET made = now() WHERE token = encode($1, 'hex')::uuid "
      "RETURNING uuid_send(token)",
      parameters);
  if (!rows.ok()) session_->Rollback();
  HEFT_RETURN_IF_ERROR(rows.status());
  HEFT_RETURN_IF_ERROR(session_->Commit(wait));
  return rows->size() > 0;
}

absl::StatusOr<bool> SqlHold::Resolve(ByteSpan token) {
  const absl::Time end = absl::Now() + database_->options().patience;
  absl::Status status;
  while (true) {
    status = Retake(std::max(absl::ZeroDuration(), end - absl::Now()));
    if (status.ok()) {
      const auto found = Find(token, end - absl::Now());
      if (found.ok()) return *found;
      status = found.status();
    }
    if (absl::Now() >= end) break;
    if (const absl::Status interrupted = CheckNotInterrupted(); !interrupted.ok()) break;
    absl::SleepFor(kStep);
  }
  return absl::UnknownError(
      absl::StrCat("the connection was lost during a commit, and the server has not said whether "
                   "the change was made: check for the change before you repeat it (",
                   status.message(), ")"));
}

}  // namespace heft
