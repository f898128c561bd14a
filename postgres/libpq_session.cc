// SPDX-License-Identifier: Apache-2.0
#include "postgres/libpq_session.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/files.h"
#include "postgres/libpq_connect.h"
#include "postgres/libpq_values.h"

namespace heft {
namespace {

// kTick: how often a wait checks for an interrupt of the program.
constexpr int kTickMilliseconds = 100;
// kAskAgain: the pause between attempts to take a lock.
constexpr absl::Duration kAskAgain = absl::Milliseconds(20);

using Result = LibpqResult;

class LibpqSession : public SqlSession {
 public:
  LibpqSession(LibpqConnection connection, std::string service, absl::Duration silence)
      : service_(std::move(service)),
        silence_(silence),
        connection_(connection.release()),
        cancel_(PQgetCancel(connection_)) {
    PQsetNoticeReceiver(
        connection_,
        [](void* session, const PGresult* notice) {
          static_cast<LibpqSession*>(session)->Noticed(notice);
        },
        this);
  }
  ~LibpqSession() override {
    // In a forked child: PQfinish would tell the parent's server to end the session.
    if (getpid() != process_) return;
    PQfreeCancel(cancel_);
    PQfinish(connection_);
  }

  absl::Status Configure();
  absl::StatusOr<SqlRows> Execute(std::string_view statement,
                                  std::span<const SqlParameter> parameters) override;
  absl::Status Run(std::string_view statements) override {
    return Simple(std::string(statements)).status();
  }
  absl::Status Begin(Mode mode) override;
  using SqlSession::Commit;
  absl::Status Commit(absl::Duration wait) override;
  void Rollback() override {
    if (!Lost() && PQtransactionStatus(connection_) != PQTRANS_IDLE)
      Simple("ROLLBACK").IgnoreError();
  }
  absl::Status Lock(absl::Duration wait) override;
  void Unlock() override {
    if (Lost()) return;
    Simple(absl::StrCat("SELECT pg_advisory_unlock(", kSqlLockClass, ", ", kSqlLockWriter, ")"))
        .IgnoreError();
  }
  bool Lost() const override { return lost_ || PQstatus(connection_) != CONNECTION_OK; }
  void Interrupt() override {
    std::array<char, 256> ignored;
    if (cancel_ != nullptr) PQcancel(cancel_, ignored.data(), ignored.size());
  }

 private:
  absl::Status CheckUsable() const;
  absl::StatusOr<Result> Simple(const std::string& statements);
  absl::StatusOr<std::string> Prepare(std::string_view statement, const LibpqParameters& types);
  absl::StatusOr<Result> Results();
  void Noticed(const PGresult* notice);
  bool LedElsewhere() const;
  absl::Status Flush();
  absl::Status WaitFor(short events);
  absl::Status LostNow();
  absl::Status Error(const PGresult* result);

  const std::string service_;
  const absl::Duration silence_;
  PGconn* const connection_;
  PGcancel* const cancel_;
  const pid_t process_ = getpid();
  std::string server_;  // as kServerStarted says
  bool lost_ = false;
  bool committing_ = false;
  absl::Time commit_ends_;
  std::string warning_;                                       // the last one of a commit
  std::map<std::string, std::string, std::less<>> prepared_;  // names, by statement
};

// Configure: settings for the whole session.
absl::Status LibpqSession::Configure() {
  // No function or table of another schema is used instead of ours. Commits wait for the disk even
  // if the database's default is not to.
  HEFT_ASSIGN_OR_RETURN(
      const Result result,
      Simple(absl::StrCat("SELECT ", kServerStarted,
                          ", set_config('search_path', 'pg_catalog', false), CASE WHEN "
                          "current_setting('synchronous_commit') IN ('off', 'local') THEN "
                          "set_config('synchronous_commit', 'on', false) END")));
  server_ = PQgetvalue(result.get(), 0, 0);
  return absl::OkStatus();
}

void LibpqSession::Noticed(const PGresult* notice) {
  const char* const severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (!committing_ || severity == nullptr || severity != std::string_view("WARNING")) return;
  const char* const message = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
  warning_ = message == nullptr ? "it warns" : message;
}

absl::Status LibpqSession::CheckUsable() const {
  if (getpid() != process_) {
    return absl::FailedPreconditionError(
        "this session with the database began before a fork: begin another");
  }
  if (Lost()) return absl::UnavailableError("the connection to the database is lost");
  return absl::OkStatus();
}

absl::Status LibpqSession::LostNow() {
  lost_ = true;
  return absl::UnavailableError(
      absl::StrCat("the connection to the database is lost: ", MessageOf(connection_)));
}

// LedElsewhere: whether the service leads to another server. Then ours hangs and was replaced.
bool LibpqSession::LedElsewhere() const {
  const absl::StatusOr<std::string> now = ServerOf(service_);
  return now.ok() && *now != server_;
}

// WaitFor: waits for the socket. An interrupt of the program cancels the server's work for it,
// except a commit: a server that stops waiting for its standby says that it has committed.
absl::Status LibpqSession::WaitFor(short events) {
  absl::Time ask = absl::Now() + silence_;
  while (true) {
    pollfd descriptor = {PQsocket(connection_), events, 0};
    const int ready = poll(&descriptor, 1, kTickMilliseconds);
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return LostNow();
    if (const absl::Status status = CheckNotInterrupted(); !status.ok()) {
      if (committing_) lost_ = true;
      if (!committing_) Interrupt();
      return status;
    }
    if (committing_ && absl::Now() >= commit_ends_) {
      lost_ = true;
      return absl::UnavailableError("the database waits for its standbys");
    }
    if (server_.empty() || absl::Now() < ask) continue;
    if (LedElsewhere()) {
      lost_ = true;
      return absl::UnavailableError(
          absl::StrCat("the database has not answered for ", absl::FormatDuration(silence_),
                       ", and the service \"", service_, "\" leads to another server now"));
    }
    ask = absl::Now() + silence_;
  }
}

absl::Status LibpqSession::Flush() {
  while (true) {
    const int left = PQflush(connection_);
    if (left < 0) return LostNow();
    if (left == 0) return absl::OkStatus();
    // The server may need to send before it reads on.
    HEFT_RETURN_IF_ERROR(WaitFor(POLLIN | POLLOUT));
    if (PQconsumeInput(connection_) == 0) return LostNow();
  }
}

absl::Status LibpqSession::Error(const PGresult* result) {
  const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* const severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  const char* const message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  if (severity != nullptr && severity != std::string_view("ERROR")) lost_ = true;
  if (state == nullptr || message == nullptr) return LostNow();
  return SqlStateError(state, message);
}

// Results: the last result of the statements sent, or an error if any failed. All are read, even
// after an interrupt, so that the session can continue.
absl::StatusOr<Result> LibpqSession::Results() {
  absl::Status status = Flush();
  // The rest of a partly sent message cannot be taken back.
  if (!status.ok()) lost_ = true;
  Result last;
  while (!lost_) {
    while (PQisBusy(connection_) == 1) {
      if (const absl::Status waited = WaitFor(POLLIN); !waited.ok() && status.ok()) status = waited;
      if (lost_) return status;
      if (PQconsumeInput(connection_) == 0) return LostNow();
    }
    Result result(PQgetResult(connection_));
    if (result == nullptr) break;
    const ExecStatusType kind = PQresultStatus(result.get());
    if (kind != PGRES_COMMAND_OK && kind != PGRES_TUPLES_OK && kind != PGRES_EMPTY_QUERY) {
      const absl::Status error = Error(result.get());
      if (status.ok()) status = error;
    }
    last = std::move(result);
  }
  if (status.ok() && last == nullptr) return LostNow();
  if (!status.ok()) return status;
  return last;
}

absl::StatusOr<Result> LibpqSession::Simple(const std::string& statements) {
  HEFT_RETURN_IF_ERROR(CheckUsable());
  if (PQsendQuery(connection_, statements.c_str()) == 0) return LostNow();
  return Results();
}

absl::StatusOr<std::string> LibpqSession::Prepare(std::string_view statement,
                                                  const LibpqParameters& parameters) {
  const auto known = prepared_.find(statement);
  if (known != prepared_.end()) return known->second;
  const std::string name = absl::StrCat("heft", prepared_.size());
  if (PQsendPrepare(connection_, name.c_str(), std::string(statement).c_str(), parameters.count(),
                    parameters.types()) == 0) {
    return LostNow();
  }
  HEFT_RETURN_IF_ERROR(Results().status());
  prepared_.emplace(statement, name);
  return name;
}

absl::StatusOr<SqlRows> LibpqSession::Execute(std::string_view statement,
                                              std::span<const SqlParameter> parameters) {
  HEFT_RETURN_IF_ERROR(CheckUsable());
  const LibpqParameters sent(parameters);
  HEFT_RETURN_IF_ERROR(sent.status());
  HEFT_ASSIGN_OR_RETURN(const std::string name, Prepare(statement, sent));
  if (PQsendQueryPrepared(connection_, name.c_str(), sent.count(), sent.values(), sent.lengths(),
                          sent.formats(), /*resultFormat=*/1) == 0) {
    return LostNow();
  }
  HEFT_ASSIGN_OR_RETURN(Result result, Results());
  SqlRows rows;
  rows.columns = static_cast<size_t>(PQnfields(result.get()));
  const int count = PQntuples(result.get());
  rows.values.reserve(rows.columns * static_cast<size_t>(count));
  for (int row = 0; row < count; ++row) {
    for (int column = 0; column < static_cast<int>(rows.columns); ++column) {
      if (PQgetisnull(result.get(), row, column) == 1) {
        rows.values.emplace_back();
        continue;
      }
      rows.values.emplace_back(
          ByteSpan(reinterpret_cast<const uint8_t*>(PQgetvalue(result.get(), row, column)),
                   static_cast<size_t>(PQgetlength(result.get(), row, column))));
    }
  }
  rows.memory = std::shared_ptr<const PGresult>(result.release(), PQclear);
  return rows;
}

absl::Status LibpqSession::Begin(Mode mode) {
  if (mode == Mode::kWrite)
    return Simple("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE").status();
  // The first statement fixes the state that is seen. The lock makes readers countable.
  return Simple(absl::StrCat("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
                             "SELECT pg_advisory_xact_lock_shared(",
                             kSqlLockClass, ", ", kSqlLockReader, ")"))
      .status();
}

// Commit: a warning says that the server has not waited for its standbys, so the commit may be lost
// with this server.
absl::Status LibpqSession::Commit(absl::Duration wait) {
  warning_.clear();
  committing_ = true;
  commit_ends_ = absl::Now() + wait;
  const absl::StatusOr<Result> result = Simple("COMMIT");
  committing_ = false;
  HEFT_RETURN_IF_ERROR(result.status());
  if (!warning_.empty()) {
    lost_ = true;
    return absl::UnavailableError(absl::StrCat(
        "the database may have committed only on this server, not on its standbys: ", warning_));
  }
  if (std::string_view(PQcmdStatus(result->get())) == "COMMIT") return absl::OkStatus();
  return absl::AbortedError("the transaction had failed before, and was rolled back");
}

// Polls: a waiting statement would hold a snapshot, and the holder of the lock may be scrubbing,
// which waits for all that see deleted data.
absl::Status LibpqSession::Lock(absl::Duration wait) {
  const absl::Time end = absl::Now() + wait;
  const std::string ask =
      absl::StrCat("SELECT pg_try_advisory_lock(", kSqlLockClass, ", ", kSqlLockWriter, ")");
  while (true) {
    HEFT_ASSIGN_OR_RETURN(const Result got, Simple(ask));
    if (PQgetvalue(got.get(), 0, 0)[0] == 't') return absl::OkStatus();
    HEFT_RETURN_IF_ERROR(CheckNotInterrupted());
    const absl::Duration left = end - absl::Now();
    if (left <= absl::ZeroDuration()) break;
    absl::SleepFor(std::min(left, kAskAgain));
  }
  return absl::UnavailableError(absl::StrCat("other processes write to this store, and have for ",
                                             absl::FormatDuration(wait),
                                             ": wait longer, or end them"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqlSession>> ConnectByService(const std::string& service,
                                                             absl::Duration silence) {
  HEFT_ASSIGN_OR_RETURN(LibpqConnection connection, ConnectToService(service));
  PGconn* const raw = connection.get();
  auto session = std::make_unique<LibpqSession>(std::move(connection), service, silence);
  if (PQsetnonblocking(raw, 1) != 0) return absl::UnavailableError("cannot use the connection");
  HEFT_RETURN_IF_ERROR(session->Configure());
  return session;
}

}  // namespace heft
