// SPDX-License-Identifier: Apache-2.0
// store_bench: one gallery in two stores, a folder's and a database's, identified in turn.
//
//   store_bench FOLDER STORE [ROUNDS = 9]
//
// FOLDER: made by gallery_bench. STORE: "postgres:SERVICE". FOLDER's gallery is copied into it
// unless one is there.
//
// Prints JSON: seconds to copy, and seconds of the first identification, which fills the cache;
// medians of the later ones, which alternate between the stores, and their ratio; and the same for
// opening the newest state alone.
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "base/files.h"
#include "bench/gallery_world.h"
#include "experiment/stopwatch.h"
#include "heft/gallery_admin.h"
#include "heft/runtime.h"
#include "nlohmann/json.hpp"
#include "postgres/use_postgres.h"

namespace heft {
namespace {

using experiment::Median;
using experiment::Stopwatch;
using nlohmann::json;

absl::Status Identify(const bench::World& world, Gallery* gallery, std::vector<double>* newest_ms,
                      std::vector<double>* all_ms) {
  HEFT_ASSIGN_OR_RETURN(auto files, bench::Encrypt(world, 3, "probe", SampleUse::kIdentification));
  const Stopwatch watch;
  HEFT_ASSIGN_OR_RETURN(*gallery, gallery->Newest());
  newest_ms->push_back(watch.Milliseconds());
  HEFT_RETURN_IF_ERROR(world.server.Identify(*gallery, std::move(files)).status());
  all_ms->push_back(watch.Milliseconds());
  return absl::OkStatus();
}

absl::Status Compare(const std::string& folder, const std::string& store, size_t rounds) {
  setenv("HEFT_STATE_DIR", (folder + ".state").c_str(), 0);
  UsePostgres();
  HEFT_ASSIGN_OR_RETURN(const bench::World world, bench::OpenWorld(folder));
  json out = {{"threads", ThreadCount()}, {"rounds", rounds}};
  if (absl::IsNotFound(DescribeGallery(store).status())) {
    bench::Say("copying");
    const Stopwatch watch;
    HEFT_RETURN_IF_ERROR(ImportGallery(world.gallery, store).status());
    out["copy_s"] = watch.Seconds();
  }
  std::vector<double> first[2], first_newest[2], newest[2], all[2];
  Gallery galleries[2] = {*Gallery::Open(world.gallery), *Gallery::Open(store)};
  out["templates"] = galleries[1].size();
  bench::Say("identifying");
  for (int which = 0; which < 2; ++which) {
    HEFT_RETURN_IF_ERROR(Identify(world, &galleries[which], &first_newest[which], &first[which]));
  }
  for (size_t round = 0; round < rounds; ++round) {
    for (int which = 0; which < 2; ++which) {
      HEFT_RETURN_IF_ERROR(Identify(world, &galleries[which], &newest[which], &all[which]));
    }
  }
  const char* const names[2] = {"folder", "database"};
  for (int which = 0; which < 2; ++which) {
    out[names[which]] = {{"first_ms", first[which].front()},
                         {"newest_ms", Median(newest[which])},
                         {"identify_ms", Median(all[which])}};
  }
  out["database_over_folder"] = Median(all[1]) / Median(all[0]);
  std::cout << out.dump(2) << "\n";
  return absl::OkStatus();
}

}  // namespace
}  // namespace heft

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  size_t rounds = 9;
  absl::Status status =
      absl::InvalidArgumentError("usage: store_bench FOLDER postgres:SERVICE [ROUNDS]");
  if ((arguments.size() == 2 || arguments.size() == 3) &&
      (arguments.size() < 3 || absl::SimpleAtoi(arguments[2], &rounds)) && rounds > 0) {
    status = heft::Compare(arguments[0], arguments[1], rounds);
  }
  if (status.ok()) return 0;
  std::cerr << "store_bench: " << status.message() << "\n";
  return 1;
}
