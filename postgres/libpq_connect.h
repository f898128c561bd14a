// SPDX-License-Identifier: Apache-2.0
// Connections through libpq, and the server that they lead to.
#ifndef HEFT_POSTGRES_LIBPQ_CONNECT_H_
#define HEFT_POSTGRES_LIBPQ_CONNECT_H_

#include <libpq-fe.h>

#include <memory>
#include <string>

#include "base/status.h"

namespace heft {

struct FinishConnection {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
using LibpqConnection = std::unique_ptr<PGconn, FinishConnection>;
struct ClearResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using LibpqResult = std::unique_ptr<PGresult, ClearResult>;

// ConnectToService: waits some seconds for each of the service's hosts. `options`: settings of the
// session, instead of the service's. kUnavailable, with what to do.
absl::StatusOr<LibpqConnection> ConnectToService(const std::string& service,
                                                 const char* options = nullptr);

// kServerStarted: SQL for a text that distinguishes a server from its standbys and from itself
// before a restart.
inline constexpr char kServerStarted[] =
    "pg_catalog.to_char(pg_catalog.pg_postmaster_start_time() AT TIME ZONE 'UTC', 'J SSSS US')";
// ServerOf: that text, for the server to which the service leads now. kUnavailable.
absl::StatusOr<std::string> ServerOf(const std::string& service);

// MessageOf: the connection's last error, on one line.
std::string MessageOf(const PGconn* connection);

}  // namespace heft

#endif  // HEFT_POSTGRES_LIBPQ_CONNECT_H_
