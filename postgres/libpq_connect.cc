// SPDX-License-Identifier: Apache-2.0
#include "postgres/libpq_connect.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace heft {
namespace {

// kAnswer: how long a connected server may take for a statement without work.
constexpr absl::Duration kAnswer = absl::Seconds(5);

}  // namespace

std::string MessageOf(const PGconn* connection) {
  std::string why = PQerrorMessage(connection);
  while (!why.empty() && why.back() == '\n') why.pop_back();
  std::ranges::replace(why, '\n', ' ');
  return why;
}

absl::StatusOr<LibpqConnection> ConnectToService(const std::string& service, const char* options) {
  // A server that does not answer is given up for the next of the service's hosts. The system's own
  // timeouts are a quarter of an hour, and two hours for a missing answer.
  const std::array<std::pair<const char*, const char*>, 9> parameters = {
      {{"service", service.c_str()},
       {"connect_timeout", "5"},
       {"tcp_user_timeout", "30000"},
       {"keepalives_idle", "10"},
       {"keepalives_interval", "5"},
       {"keepalives_count", "3"},
       {"application_name", "heft"},
       {"client_encoding", "UTF8"},
       {"options", options}}};
  std::array<const char*, parameters.size() + 1> keys{}, values{};
  for (size_t i = 0; i < parameters.size(); ++i) {
    std::tie(keys[i], values[i]) = parameters[i];
  }
  LibpqConnection connection(PQconnectdbParams(keys.data(), values.data(), /*expand_dbname=*/0));
  if (connection == nullptr) return absl::ResourceExhaustedError("no memory for a connection");
  if (PQstatus(connection.get()) == CONNECTION_OK) return connection;
  return absl::UnavailableError(
      absl::StrCat("cannot connect to the service \"", service, "\": ", MessageOf(connection.get()),
                   ": check pg_service.conf ($PGSERVICEFILE, ~/.pg_service.conf) and the server"));
}

absl::StatusOr<std::string> ServerOf(const std::string& service) {
  HEFT_ASSIGN_OR_RETURN(const LibpqConnection connection, ConnectToService(service));
  PGconn* const c = connection.get();
  const absl::Time end = absl::Now() + kAnswer;
  bool good = PQsendQuery(c, absl::StrCat("SELECT ", kServerStarted).c_str()) == 1;
  while (good && PQisBusy(c) == 1) {
    pollfd descriptor = {PQsocket(c), POLLIN, 0};
    const int64_t left = absl::ToInt64Milliseconds(end - absl::Now());
    good = left > 0 && poll(&descriptor, 1, static_cast<int>(left)) > 0 && PQconsumeInput(c) == 1;
  }
  const LibpqResult result(good ? PQgetResult(c) : nullptr);
  if (result == nullptr || PQresultStatus(result.get()) != PGRES_TUPLES_OK) {
    return absl::UnavailableError("the server does not return its identity");
  }
  return std::string(PQgetvalue(result.get(), 0, 0));
}

}  // namespace heft
