// SPDX-License-Identifier: Apache-2.0
#include "postgres/node_calls.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "postgres/libpq_connect.h"
#include "postgres/libpq_values.h"

namespace heft {
namespace {

using Clock = NodeCalls::Clock;
using Connecting = std::future<absl::StatusOr<LibpqConnection>>;

// kEndsAlone: a database checks once a second whether the connection of a running call still
// exists. So it ends an abandoned call itself, and no request to cancel can hang.
constexpr char kEndsAlone[] = "-c client_connection_check_interval=1s -c statement_timeout=0";
constexpr size_t kKeptOfNode = 16;
// kMostKept: libpq keeps the memory of the largest answer, so larger ones end their connection.
constexpr uint64_t kMostKept = uint64_t{16} << 20;
// kLooks: how often a call looks whether its connection is made.
constexpr int kLooksMilliseconds = 2;

int MillisecondsUntil(Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
}

// Quiet: an idle connection from which nothing comes. Its end, too, is something.
bool Quiet(const LibpqConnection& connection) {
  pollfd descriptor = {PQsocket(connection.get()), POLLIN, 0};
  return poll(&descriptor, 1, 0) == 0;
}

}  // namespace

// Connections: those without a call, and those that are being made for calls that have ended.
struct NodeCalls::Connections {
  LibpqConnection Take(const std::string& service) {
    const std::lock_guard lock(mutex);
    std::vector<LibpqConnection>& there = kept[service];
    while (!there.empty()) {
      LibpqConnection connection = std::move(there.back());
      there.pop_back();
      if (Quiet(connection)) return connection;
    }
    return nullptr;
  }
  void Keep(const std::string& service, LibpqConnection connection) {
    const std::lock_guard lock(mutex);
    std::vector<LibpqConnection>& there = kept[service];
    if (there.size() < kKeptOfNode) there.push_back(std::move(connection));
  }
  void Abandon(Connecting connecting) {
    const std::lock_guard lock(mutex);
    std::erase_if(abandoned, [](const Connecting& one) {
      return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    abandoned.push_back(std::move(connecting));
  }

  mutable std::mutex mutex;
  std::map<std::string, std::vector<LibpqConnection>> kept;  // by service
  std::vector<Connecting> abandoned;
};

// Call: one call and its state.
class NodeCalls::Call {
 public:
  Call(const NodeCall& call, Connections* connections)
      : call_(call), parameters_(call.parameters), connections_(connections) {}
  ~Call() {
    if (connecting_.valid()) connections_->Abandon(std::move(connecting_));
  }

  bool connecting() const { return connecting_.valid(); }
  bool ended() const { return ended_; }
  // Start: on a kept connection, or on one that another thread makes: that may take long.
  absl::Status Start() {
    HEFT_RETURN_IF_ERROR(parameters_.status());
    connection_ = connections_->Take(call_.service);
    if (connection_ != nullptr) return Send();
    try {
      connecting_ = std::async(std::launch::async, [service = call_.service] {
        return ConnectToService(service, kEndsAlone);
      });
    } catch (const std::system_error&) {
      return absl::UnavailableError("no thread is free to connect");
    }
    return absl::OkStatus();
  }
  pollfd Awaited() const {
    return {PQsocket(connection_.get()), static_cast<short>(sending_ ? POLLIN | POLLOUT : POLLIN),
            0};
  }
  // Connected: sends the call if its connection is made by now.
  absl::Status Connected() {
    if (connecting_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      return absl::OkStatus();
    }
    HEFT_ASSIGN_OR_RETURN(connection_, connecting_.get());
    // A node's notices are not lines of this program's log.
    PQsetNoticeReceiver(
        connection_.get(), [](void*, const PGresult*) {}, nullptr);
    if (PQsetnonblocking(connection_.get(), 1) != 0) return Lost();
    return Send();
  }
  // Advance: takes the input that arrived. `left`: bytes that may still arrive.
  absl::Status Advance(uint64_t* left) {
    if (PQconsumeInput(connection_.get()) == 0) return Lost();
    if (sending_) HEFT_RETURN_IF_ERROR(Flush());
    while (PQisBusy(connection_.get()) == 0) {
      LibpqResult result(PQgetResult(connection_.get()));
      if (result == nullptr) return End();
      HEFT_RETURN_IF_ERROR(Take(std::move(result), left));
    }
    return absl::OkStatus();
  }
  absl::Status Named(const absl::Status& error) const {
    if (error.ok()) return error;
    return {error.code(), absl::StrCat("node ", call_.service, ": ", std::string(error.message()))};
  }
  std::vector<SqlRows> TakeRows() { return std::move(rows_); }

 private:
  absl::Status Send() {
    if (PQsendQueryParams(connection_.get(), std::string(call_.statement).c_str(),
                          parameters_.count(), parameters_.types(), parameters_.values(),
                          parameters_.lengths(), parameters_.formats(),
                          /*resultFormat=*/1) == 0 ||
        PQsetSingleRowMode(connection_.get()) == 0) {
      return Lost();
    }
    return Flush();
  }
  absl::Status Lost() {
    return absl::UnavailableError(
        absl::StrCat("the connection is lost: ", MessageOf(connection_.get())));
  }
  absl::Status Flush() {
    const int left = PQflush(connection_.get());
    if (left < 0) return Lost();
    sending_ = left > 0;
    return absl::OkStatus();
  }
  // End: the connection is as before the call, also after an error of the statement.
  absl::Status End() {
    ended_ = true;
    if (bytes_ <= kMostKept) connections_->Keep(call_.service, std::move(connection_));
    connection_.reset();
    return error_;
  }
  absl::Status Take(LibpqResult result, uint64_t* left) {
    const ExecStatusType kind = PQresultStatus(result.get());
    if (kind == PGRES_TUPLES_OK) return absl::OkStatus();  // after the last row
    if (kind != PGRES_SINGLE_TUPLE) return Error(result.get());
    if (rows_.size() == call_.most_rows) {
      return absl::InternalError(absl::StrCat("more than ", call_.most_rows, " rows"));
    }
    SqlRows row;
    row.columns = static_cast<size_t>(PQnfields(result.get()));
    if (row.columns != call_.columns) {
      return absl::InternalError(
          absl::StrCat("rows of ", row.columns, " columns, not ", call_.columns));
    }
    for (int column = 0; column < static_cast<int>(row.columns); ++column) {
      if (PQgetisnull(result.get(), 0, column) == 1) {
        row.values.emplace_back();
        continue;
      }
      const auto size = static_cast<size_t>(PQgetlength(result.get(), 0, column));
      if (size > *left) {
        return absl::InternalError("the answers of all nodes together are too large");
      }
      *left -= size;
      bytes_ += size;
      row.values.emplace_back(
          ByteSpan(reinterpret_cast<const uint8_t*>(PQgetvalue(result.get(), 0, column)), size));
    }
    row.memory = std::shared_ptr<const PGresult>(result.release(), PQclear);
    rows_.push_back(std::move(row));
    return absl::OkStatus();
  }
  absl::Status Error(const PGresult* result) {
    const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char* const message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (state == nullptr || message == nullptr) return Lost();
    const char* const severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    const absl::Status error = NodeError(state, message);
    if (severity == nullptr || severity != std::string_view("ERROR")) return error;
    error_ = error;
    return absl::OkStatus();
  }

  const NodeCall& call_;
  const LibpqParameters parameters_;
  Connections* const connections_;
  Connecting connecting_;
  LibpqConnection connection_;
  bool sending_ = false, ended_ = false;
  absl::Status error_;  // of the statement
  std::vector<SqlRows> rows_;
  uint64_t bytes_ = 0;  // of rows_
};

absl::Status NodeError(std::string_view state, std::string_view message) {
  using absl::StatusCode;
  static constexpr std::pair<std::string_view, StatusCode> kCodes[] = {
      {"22023", StatusCode::kInvalidArgument},
      {"22P03", StatusCode::kDataLoss},
      {"55000", StatusCode::kFailedPrecondition},
      {"P0002", StatusCode::kNotFound},
      {"42704", StatusCode::kNotFound},
      {"53200", StatusCode::kResourceExhausted},
      {"HF002", StatusCode::kAborted},
      {"HF003", StatusCode::kUnavailable}};
  for (const auto& [code, its] : kCodes) {
    if (state == code) return {its, absl::string_view(message.data(), message.size())};
  }
  const absl::Status other = SqlStateError(state, message);
  // A table or function that is missing is not the caller's error, nor is damage of the database.
  if (absl::IsNotFound(other) || absl::IsDataLoss(other)) {
    return absl::InternalError(other.message());
  }
  return other;
}

NodeCalls::NodeCalls() : connections_(std::make_unique<Connections>()) {}
NodeCalls::~NodeCalls() = default;

size_t NodeCalls::Kept() const {
  const std::lock_guard lock(connections_->mutex);
  size_t count = 0;
  for (const auto& [service, there] : connections_->kept) count += there.size();
  return count;
}

absl::StatusOr<std::vector<std::vector<SqlRows>>> NodeCalls::Ask(const std::vector<NodeCall>& calls,
                                                                 uint64_t most_bytes,
                                                                 Clock::time_point until) {
  std::vector<std::unique_ptr<Call>> running;
  for (const NodeCall& call : calls) {
    running.push_back(std::make_unique<Call>(call, connections_.get()));
    HEFT_RETURN_IF_ERROR(running.back()->Named(running.back()->Start()));
  }
  std::vector<pollfd> awaited;
  std::vector<Call*> of;
  while (true) {
    awaited.clear();
    of.clear();
    const Call* unfinished = nullptr;
    int patience = MillisecondsUntil(until);
    for (const auto& call : running) {
      if (call->connecting()) HEFT_RETURN_IF_ERROR(call->Named(call->Connected()));
      if (call->ended()) continue;
      unfinished = call.get();
      if (call->connecting()) {
        patience = std::min(patience, kLooksMilliseconds);
        continue;
      }
      awaited.push_back(call->Awaited());
      of.push_back(call.get());
    }
    if (unfinished == nullptr) break;
    const int ready = poll(awaited.data(), awaited.size(), patience);
    if (ready < 0 && errno != EINTR) return absl::UnavailableError("poll fails");
    if (Clock::now() >= until) {
      return unfinished->Named(absl::DeadlineExceededError("it has not answered in time"));
    }
    for (size_t i = 0; ready > 0 && i < of.size(); ++i) {
      if (awaited[i].revents == 0) continue;
      HEFT_RETURN_IF_ERROR(of[i]->Named(of[i]->Advance(&most_bytes)));
    }
  }
  std::vector<std::vector<SqlRows>> out;
  for (const auto& call : running) out.push_back(call->TakeRows());
  return out;
}

}  // namespace heft
