// SPDX-License-Identifier: Apache-2.0
// extension_bench: an identification through SQL (docs/postgres.md), over a socket, next to the
// library's own of the same gallery in a folder, in turn. sql/test/measure.sh calls it.
//
//   extension_bench FOLDER CONNINFO GALLERY [ROUNDS = 21]   FOLDER: of gallery_bench; prints JSON
#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "bench/gallery_world.h"
#include "experiment/stopwatch.h"
#include "heft/runtime.h"
#include "nlohmann/json.hpp"

namespace heft {
namespace {

using experiment::Median;
using experiment::Stopwatch;

// Ask: the reply's bytes.
absl::StatusOr<size_t> Ask(PGconn* database, const std::string& gallery,
                           const std::vector<SampleFile>& files, bool names) {
  const std::array<const char*, 4> values = {
      gallery.c_str(), reinterpret_cast<const char*>(files[0].bytes.data()),
      reinterpret_cast<const char*>(files[1].bytes.data()), names ? "t" : "f"};
  const std::array<int, 4> lengths = {0, static_cast<int>(files[0].bytes.size()),
                                      static_cast<int>(files[1].bytes.size()), 0};
  const std::array<int, 4> formats = {0, 1, 1, 0};
  PGresult* const result = PQexecParams(
      database,
      "SELECT heft.heft_identify($1, ARRAY[$2::bytea, $3::bytea]::heft.heft_probe[], '{}', $4)", 4,
      nullptr, values.data(), lengths.data(), formats.data(), 1);
  absl::StatusOr<size_t> size = absl::UnavailableError(PQerrorMessage(database));
  if (PQresultStatus(result) == PGRES_TUPLES_OK) {
    size = static_cast<size_t>(PQgetlength(result, 0, 0));
  }
  PQclear(result);
  return size;
}

struct Place {
  const bench::World& world;
  const Gallery& gallery;
  const SigningKey& signer;
  PGconn* database;
  std::string name;
};

// Compare: so many of each, in turn.
absl::StatusOr<nlohmann::json> Compare(const Place& at, const std::vector<SampleFile>& probe,
                                       bool names, int rounds) {
  ProbeOptions options;
  options.with_identities = names;
  std::vector<double> of_library, of_signed, of_sql;
  size_t bytes = 0;
  for (int round = -2; round < rounds; ++round) {
    const Stopwatch library;
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> scores,
                          at.world.server.Identify(at.gallery, probe, options));
    const double library_s = library.Seconds();
    HEFT_RETURN_IF_ERROR(SignReply(at.signer, at.gallery, {}, 0, {}, scores).status());
    const double signed_s = library.Seconds();
    const Stopwatch sql;
    HEFT_ASSIGN_OR_RETURN(bytes, Ask(at.database, at.name, probe, names));
    const double sql_s = sql.Seconds();
    if (round < 0) continue;
    of_library.push_back(library_s);
    of_signed.push_back(signed_s);
    of_sql.push_back(sql_s);
  }
  const double library_ms = 1e3 * Median(of_library), sql_ms = 1e3 * Median(of_sql);
  const double signed_ms = 1e3 * Median(of_signed);
  return nlohmann::json({{"reply_bytes", bytes},
                         {"library_ms", library_ms},
                         {"sql_ms", sql_ms},
                         {"library_signed_ms", signed_ms},
                         {"ratio", sql_ms / library_ms},
                         {"ratio_signed", sql_ms / signed_ms},
                         {"library_least_ms", 1e3 * *std::ranges::min_element(of_library)},
                         {"sql_least_ms", 1e3 * *std::ranges::min_element(of_sql)}});
}

absl::Status Run(const std::string& folder, const std::string& conninfo, const std::string& name,
                 int rounds) {
  HEFT_ASSIGN_OR_RETURN(const bench::World world, bench::OpenWorld(folder));
  HEFT_ASSIGN_OR_RETURN(const Gallery gallery, Gallery::Open(world.gallery));
  HEFT_ASSIGN_OR_RETURN(const std::vector<SampleFile> probe,
                        bench::Encrypt(world, 1, "probe", SampleUse::kIdentification));
  PGconn* const database = PQconnectdb(conninfo.c_str());
  if (PQstatus(database) != CONNECTION_OK) {
    return absl::UnavailableError(PQerrorMessage(database));
  }
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, GallerySigner(world.gallery));
  const Place place = {world, gallery, signer, database, name};
  const Stopwatch cold;
  HEFT_RETURN_IF_ERROR(Ask(database, name, probe, false).status());
  nlohmann::json out = {
      {"templates", gallery.size()}, {"threads", ThreadCount()}, {"cold_sql_s", cold.Seconds()}};
  HEFT_ASSIGN_OR_RETURN(out["with_identities"], Compare(place, probe, true, rounds));
  HEFT_ASSIGN_OR_RETURN(out["scores_alone"], Compare(place, probe, false, rounds));
  PQfinish(database);
  std::cout << out.dump(2) << "\n";
  return absl::OkStatus();
}

}  // namespace
}  // namespace heft

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "extension_bench FOLDER CONNINFO GALLERY [ROUNDS]\n";
    return 2;
  }
  const absl::Status done =
      heft::Run(argv[1], argv[2], argv[3], argc > 4 ? std::max(1, std::atoi(argv[4])) : 21);
  if (!done.ok()) std::cerr << "extension_bench: " << done.message() << "\n";
  return done.ok() ? 0 : 1;
}
