// SPDX-License-Identifier: Apache-2.0
#include "postgres/node_calls.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <utility>

#include "absl/strings/str_cat.h"
#include "postgres/libpq_connect.h"
#include "postgres/libpq_values.h"

namespace heft {
namespace {

using Clock = NodeCalls::Clock;

// kConnect: seconds for each host of an address.
constexpr char kConnect[] = "5";
// kEndsAlone: a database checks once a second whether the connection of a running call still
// exists. So it ends an abandoned call itself, and no request to cancel can hang.
constexpr char kEndsAlone[] = "-c client_connection_check_interval=1s -c statement_timeout=0";
constexpr size_t kKeptOfNode = 16;

absl::StatusOr<LibpqConnection> ConnectToNode(const NodeCall& call) {
  // Values of the address replace those before it.
  const std::pair<const char*, const char*> parameters[] = {
      {"options", kEndsAlone},       {"user", call.user.c_str()},  {"connect_timeout", kConnect},
      {"tcp_user_timeout", "30000"}, {"keepalives_idle", "10"},    {"keepalives_interval", "5"},
      {"keepalives_count", "3"},     {"application_name", "heft"}, {"dbname", call.address.c_str()},
      {"client_encoding", "UTF8"}};
  std::vector<const char*> keys, values;
  for (const auto& [key, value] : parameters) {
    if (*value == '\0') continue;
    keys.push_back(key);
    values.push_back(value);
  }
  keys.push_back(nullptr);
  values.push_back(nullptr);
  LibpqConnection connection(PQconnectdbParams(keys.data(), values.data(), /*expand_dbname=*/1));
  if (connection == nullptr) return absl::ResourceExhaustedError("no memory for a connection");
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    return absl::UnavailableError(absl::StrCat("cannot connect: ", MessageOf(connection.get())));
  }
  if (PQsetnonblocking(connection.get(), 1) != 0) {
    return absl::UnavailableError("the connection cannot be used");
  }
  return connection;
}

int MillisecondsUntil(Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
}

}  // namespace

// Connections: those without a call, by user and address.
struct NodeCalls::Connections {
  using Place = std::pair<std::string, std::string>;
  static Place PlaceOf(const NodeCall& call) { return {call.user, call.address}; }

  LibpqConnection Take(const NodeCall& call) {
    const std::lock_guard lock(mutex);
    std::vector<LibpqConnection>& there = kept[PlaceOf(call)];
    if (there.empty()) return nullptr;
    LibpqConnection connection = std::move(there.back());
    there.pop_back();
    return connection;
  }
  void Keep(const NodeCall& call, LibpqConnection connection) {
    const std::lock_guard lock(mutex);
    std::vector<LibpqConnection>& there = kept[PlaceOf(call)];
    if (there.size() < kKeptOfNode) there.push_back(std::move(connection));
  }

  mutable std::mutex mutex;
  std::map<Place, std::vector<LibpqConnection>> kept;
};

// Call: one call and its state.
class NodeCalls::Call {
 public:
  Call(const NodeCall& call, Connections* connections)
      : call_(call),
        parameters_(call.parameters),
        connections_(connections),
        connection_(connections->Take(call)),
        kept_(connection_ != nullptr) {}

  bool connected() const { return connection_ != nullptr; }
  bool ended() const { return ended_; }
  absl::Status Connect() {
    HEFT_ASSIGN_OR_RETURN(connection_, ConnectToNode(call_));
    return absl::OkStatus();
  }
  absl::Status Send() {
    HEFT_RETURN_IF_ERROR(parameters_.status());
    if (PQsendQueryParams(connection_.get(), std::string(call_.statement).c_str(),
                          parameters_.count(), parameters_.types(), parameters_.values(),
                          parameters_.lengths(), parameters_.formats(),
                          /*resultFormat=*/1) == 0 ||
        PQsetSingleRowMode(connection_.get()) == 0) {
      return Lost();
    }
    return Flush();
  }
  pollfd Awaited() const {
    return {PQsocket(connection_.get()), static_cast<short>(sending_ ? POLLIN | POLLOUT : POLLIN),
            0};
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
  // Again: whether the loss of a kept connection is the only reason for the error.
  bool Again() const { return kept_ && lost_ && rows_.empty(); }
  void Restart() {
    connection_.reset();
    kept_ = lost_ = sending_ = false;
    error_ = absl::OkStatus();
  }
  absl::Status Named(const absl::Status& error) const {
    return {error.code(), absl::StrCat("node ", call_.node, ": ", std::string(error.message()))};
  }
  std::vector<SqlRows> TakeRows() { return std::move(rows_); }

 private:
  absl::Status Lost() {
    lost_ = true;
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
    connections_->Keep(call_, std::move(connection_));
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
    for (int column = 0; column < static_cast<int>(row.columns); ++column) {
      if (PQgetisnull(result.get(), 0, column) == 1) {
        row.values.emplace_back();
        continue;
      }
      const auto size = static_cast<size_t>(PQgetlength(result.get(), 0, column));
      if (size > *left) {
        return absl::FailedPreconditionError("the answers of all nodes together are too large");
      }
      *left -= size;
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
    error_ = SqlStateError(state, message);
    lost_ = severity == nullptr || severity != std::string_view("ERROR");
    return lost_ ? error_ : absl::OkStatus();
  }

  const NodeCall& call_;
  const LibpqParameters parameters_;
  Connections* const connections_;
  LibpqConnection connection_;
  bool kept_;  // the connection is of an earlier call
  bool sending_ = false, ended_ = false, lost_ = false;
  absl::Status error_;  // of the statement
  std::vector<SqlRows> rows_;
};

NodeCalls::NodeCalls() : connections_(std::make_unique<Connections>()) {}
NodeCalls::~NodeCalls() = default;

size_t NodeCalls::Kept() const {
  const std::lock_guard lock(connections_->mutex);
  size_t count = 0;
  for (const auto& [place, there] : connections_->kept) count += there.size();
  return count;
}

absl::StatusOr<std::vector<std::vector<SqlRows>>> NodeCalls::Ask(const std::vector<NodeCall>& calls,
                                                                 uint64_t most_bytes,
                                                                 Clock::time_point until) {
  std::vector<std::unique_ptr<Call>> running;
  for (const NodeCall& call : calls) {
    running.push_back(std::make_unique<Call>(call, connections_.get()));
  }
  // Connecting may block for some seconds for each host, so each connection has a thread.
  std::vector<std::pair<Call*, std::future<absl::Status>>> connecting;
  for (const auto& call : running) {
    if (call->connected()) continue;
    connecting.emplace_back(call.get(), std::async(std::launch::async | std::launch::deferred,
                                                   [&call] { return call->Connect(); }));
  }
  absl::Status failed;
  for (auto& [call, connected] : connecting) {
    if (const absl::Status status = connected.get(); !status.ok()) failed = call->Named(status);
  }
  HEFT_RETURN_IF_ERROR(failed);
  // Try: one step. A lost connection that was kept is replaced once.
  const auto attempt = [](Call& call, const auto& step) -> absl::Status {
    absl::Status status = step();
    if (!status.ok() && call.Again()) {
      call.Restart();
      status = call.Connect();
      if (status.ok()) status = call.Send();
    }
    return status.ok() ? status : call.Named(status);
  };
  for (const auto& call : running) {
    HEFT_RETURN_IF_ERROR(attempt(*call, [&call] { return call->Send(); }));
  }
  std::vector<pollfd> awaited;
  std::vector<Call*> of;
  while (true) {
    awaited.clear();
    of.clear();
    for (const auto& call : running) {
      if (call->ended()) continue;
      awaited.push_back(call->Awaited());
      of.push_back(call.get());
    }
    if (of.empty()) break;
    const int ready = poll(awaited.data(), awaited.size(), MillisecondsUntil(until));
    if (ready < 0 && errno != EINTR) return absl::UnavailableError("poll fails");
    if (Clock::now() >= until) {
      return of[0]->Named(absl::DeadlineExceededError("it has not answered in time"));
    }
    for (size_t i = 0; ready > 0 && i < of.size(); ++i) {
      if (awaited[i].revents == 0) continue;
      HEFT_RETURN_IF_ERROR(attempt(*of[i], [&] { return of[i]->Advance(&most_bytes); }));
    }
  }
  std::vector<std::vector<SqlRows>> out;
  for (const auto& call : running) out.push_back(call->TakeRows());
  return out;
}

}  // namespace heft
