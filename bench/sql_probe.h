// SPDX-License-Identifier: Apache-2.0
// Identifications through SQL, over a connection of libpq, as extension_bench and shards_bench
// measure them.
#ifndef HEFT_BENCH_SQL_PROBE_H_
#define HEFT_BENCH_SQL_PROBE_H_

#include <libpq-fe.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/server.h"

namespace heft::bench {

using Connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;
// Connect: kUnavailable with what libpq says.
absl::StatusOr<Connection> Connect(const std::string& conninfo);

// kIdentify: the extension's call (docs/postgres.md), as Ask wants one.
inline constexpr char kIdentify[] =
    "SELECT heft.heft_identify($1, ARRAY[$2::bytea, $3::bytea]::heft.heft_probe[], '{}', $4)";

// Ask: the bytes of all replies that `call` returns, a reply a row: of gallery $1, to a probe of
// two files $2 and $3, with names where $4.
absl::StatusOr<size_t> Ask(PGconn* database, const std::string& call, const std::string& gallery,
                           const std::vector<SampleFile>& files, bool names);

}  // namespace heft::bench

#endif  // HEFT_BENCH_SQL_PROBE_H_
