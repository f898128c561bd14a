// SPDX-License-Identifier: Apache-2.0
// extension_bench: an identification through SQL (docs/postgres.md), over a socket, next to the
// library's own of the same gallery in a folder, in turn. sql/test/measure.sh calls it.
//
//   extension_bench FOLDER CONNINFO GALLERY [ROUNDS = 21 [NAME]]
//       FOLDER: of gallery_bench, or of shards_bench, whose gallery NAME it is; prints JSON
//
// CPU times are means, of all threads, and of SQL those of the backend and of its client.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "bench/gallery_world.h"
#include "bench/sql_probe.h"
#include "experiment/stopwatch.h"
#include "heft/base.h"
#include "nlohmann/json.hpp"

namespace heft {
namespace {

using bench::Ask;
using experiment::Median;
using experiment::Stopwatch;

// CpuSeconds: of this process, of all its threads.
double CpuSeconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

// CpuSecondsOf: of another process of this machine, in clock ticks (proc(5), fields 14 and 15).
double CpuSecondsOf(int process) {
  std::ifstream stat(absl::StrCat("/proc/", process, "/stat"));
  std::string text;
  std::getline(stat, text);
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
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
  double library_cpu = 0, sql_cpu = 0;
  const int backend = PQbackendPID(at.database);
  for (int round = -2; round < rounds; ++round) {
    const double before = CpuSeconds();
    const Stopwatch library;
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> scores,
                          at.world.server.Identify(at.gallery, probe, options));
    const double library_s = library.Seconds();
    const double matched = CpuSeconds();
    HEFT_RETURN_IF_ERROR(SignReply(at.signer, at.gallery, {}, 0, {}, scores).status());
    const double signed_s = library.Seconds();
    const double asked = CpuSeconds(), backend_before = CpuSecondsOf(backend);
    const Stopwatch sql;
    HEFT_ASSIGN_OR_RETURN(bytes, Ask(at.database, bench::kIdentify, at.name, probe, names));
    const double sql_s = sql.Seconds();
    if (round < 0) continue;
    library_cpu += matched - before;
    sql_cpu += CpuSeconds() - asked + CpuSecondsOf(backend) - backend_before;
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
                         {"library_cpu_ms", 1e3 * library_cpu / rounds},
                         {"sql_cpu_ms", 1e3 * sql_cpu / rounds},
                         {"cpu_ratio", sql_cpu / library_cpu},
                         {"ratio_signed", sql_ms / signed_ms},
                         {"library_least_ms", 1e3 * *std::ranges::min_element(of_library)},
                         {"sql_least_ms", 1e3 * *std::ranges::min_element(of_sql)}});
}

absl::Status Run(const std::string& folder, const std::string& conninfo, const std::string& name,
                 int rounds, const std::string& of_shards) {
  HEFT_ASSIGN_OR_RETURN(bench::World world, bench::OpenWorld(folder));
  if (!of_shards.empty()) world.gallery += ":" + of_shards;
  HEFT_ASSIGN_OR_RETURN(const Gallery gallery, Gallery::Open(world.gallery));
  HEFT_ASSIGN_OR_RETURN(const std::vector<SampleFile> probe,
                        bench::Encrypt(world, 1, "probe", SampleUse::kIdentification));
  HEFT_ASSIGN_OR_RETURN(const bench::Connection database, bench::Connect(conninfo));
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, GallerySigner(world.gallery));
  const Place place = {world, gallery, signer, database.get(), name};
  const Stopwatch cold;
  HEFT_RETURN_IF_ERROR(Ask(database.get(), bench::kIdentify, name, probe, false).status());
  nlohmann::json out = {
      {"templates", gallery.size()}, {"threads", ThreadCount()}, {"cold_sql_s", cold.Seconds()}};
  HEFT_ASSIGN_OR_RETURN(out["with_identities"], Compare(place, probe, true, rounds));
  HEFT_ASSIGN_OR_RETURN(out["scores_alone"], Compare(place, probe, false, rounds));
  std::cout << out.dump(2) << "\n";
  return absl::OkStatus();
}

}  // namespace
}  // namespace heft

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "extension_bench FOLDER CONNINFO GALLERY [ROUNDS [NAME]]\n";
    return 2;
  }
  const absl::Status done =
      heft::Run(argv[1], argv[2], argv[3], argc > 4 ? std::max(1, std::atoi(argv[4])) : 21,
                argc > 5 ? argv[5] : "");
  if (!done.ok()) std::cerr << "extension_bench: " << done.message() << "\n";
  return done.ok() ? 0 : 1;
}
