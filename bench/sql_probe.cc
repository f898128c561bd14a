// SPDX-License-Identifier: Apache-2.0
#include "bench/sql_probe.h"

#include <array>

namespace heft::bench {

absl::StatusOr<Connection> Connect(const std::string& conninfo) {
  Connection database(PQconnectdb(conninfo.c_str()), &PQfinish);
  if (PQstatus(database.get()) == CONNECTION_OK) return database;
  return absl::UnavailableError(PQerrorMessage(database.get()));
}

absl::StatusOr<size_t> Ask(PGconn* database, const std::string& call, const std::string& gallery,
                           const std::vector<SampleFile>& files, bool names) {
  const std::array<const char*, 4> values = {
      gallery.c_str(), reinterpret_cast<const char*>(files[0].bytes.data()),
      reinterpret_cast<const char*>(files[1].bytes.data()), names ? "t" : "f"};
  const std::array<int, 4> lengths = {0, static_cast<int>(files[0].bytes.size()),
                                      static_cast<int>(files[1].bytes.size()), 0};
  const std::array<int, 4> formats = {0, 1, 1, 0};
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(
      PQexecParams(database, call.c_str(), 4, nullptr, values.data(), lengths.data(),
                   formats.data(), 1),
      &PQclear);
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) {
    return absl::UnavailableError(PQerrorMessage(database));
  }
  size_t bytes = 0;
  for (int row = 0; row < PQntuples(result.get()); ++row) {
    bytes += static_cast<size_t>(PQgetlength(result.get(), row, 0));
  }
  return bytes;
}

}  // namespace heft::bench
