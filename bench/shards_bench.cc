// SPDX-License-Identifier: Apache-2.0
// shards_bench: sends a probe to a gallery in buckets (docs/scale.md), through the router's SQL and
// as heft-matcher does, and to a gallery of as many templates on one node. They alternate, over
// sockets. sql/test/measure_shards.sh calls it.
//
//   shards_bench make FOLDER [TEMPLATES = 100000]
//       galleries whole, two.000, two.001, four.000 ... four.003 in FOLDER/gallery
//   shards_bench ask FOLDER NODE ROUTER [ROUNDS = 21 [names | scores [GALLERY...]]]
//       conninfo of the node, service of the router; `names`: replies with names in them too;
//       galleries of the router, which has one, two, four, four_on_one otherwise. Prints JSON
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "bench/gallery_world.h"
#include "bench/sql_probe.h"
#include "experiment/stopwatch.h"
#include "heft/base.h"
#include "heft/shards.h"
#include "nlohmann/json.hpp"
#include "service/matcher/bucket_nodes.h"

namespace heft {
namespace {

using bench::Ask;
using bench::Connection;
using experiment::Median;
using experiment::Stopwatch;

absl::Status Make(const std::string& folder, size_t templates) {
  HEFT_ASSIGN_OR_RETURN(bench::World world, bench::MakeWorld(folder));
  nlohmann::json ignored;
  world.gallery = folder + "/gallery:whole";
  HEFT_RETURN_IF_ERROR(bench::Fill(world, templates, &ignored));
  for (const auto& [name, buckets] : {std::pair("two", 2), std::pair("four", 4)}) {
    for (int b = 0; b < buckets; ++b) {
      world.gallery = BucketAddress(absl::StrCat(folder, "/gallery:", name), b);
      HEFT_RETURN_IF_ERROR(bench::Fill(world, templates / buckets, &ignored));
    }
  }
  return absl::OkStatus();
}

// Way: a name, and how the probe is answered: the bytes of the replies.
struct Way {
  std::string name;
  std::function<absl::StatusOr<size_t>(bool names)> ask;
};

Way InSql(const std::string& name, PGconn* database, const std::string& call,
          const std::string& gallery, const std::vector<SampleFile>& probe) {
  return {name, [=, &probe](bool names) { return Ask(database, call, gallery, probe, names); }};
}

Way AsMatcher(const std::string& gallery, service::BucketNodes* nodes,
              const std::vector<SampleFile>& probe) {
  return {gallery + "_matcher", [=, &probe](bool names) -> absl::StatusOr<size_t> {
            ProbeRequest request = {probe};
            request.options.with_identities = names;
            const auto until = service::BucketNodes::Clock::now() + std::chrono::minutes(1);
            HEFT_ASSIGN_OR_RETURN(const auto got, nodes->Identify(gallery, request, until));
            size_t bytes = 0;
            for (const auto& reply : got.replies) bytes += reply.size();
            return bytes;
          }};
}

absl::StatusOr<nlohmann::json> Compare(const std::vector<Way>& ways, bool names, int rounds) {
  std::map<std::string, std::vector<double>> times;
  nlohmann::json out;
  for (int round = -2; round < rounds; ++round) {
    for (const Way& way : ways) {
      const Stopwatch watch;
      HEFT_ASSIGN_OR_RETURN(const size_t bytes, way.ask(names));
      if (round >= 0) times[way.name].push_back(watch.Milliseconds());
      out[way.name]["reply_bytes"] = bytes;
    }
  }
  const double whole = Median(times["whole"]);
  const double least = *std::ranges::min_element(times["whole"]);
  for (const Way& way : ways) {
    const std::vector<double>& of = times[way.name];
    out[way.name]["ms"] = Median(of);
    out[way.name]["least_ms"] = *std::ranges::min_element(of);
    out[way.name]["added_ms"] = Median(of) - whole;
    out[way.name]["least_added_ms"] = *std::ranges::min_element(of) - least;
  }
  return out;
}

struct Asking {
  std::string folder, node, router;
  int rounds = 21;
  bool names = true;
  std::vector<std::string> galleries = {"one", "two", "four", "four_on_one"};
};

absl::Status RunAsk(const Asking& asking) {
  HEFT_ASSIGN_OR_RETURN(const bench::World world, bench::OpenWorld(asking.folder));
  HEFT_ASSIGN_OR_RETURN(const std::vector<SampleFile> probe,
                        bench::Encrypt(world, 1, "probe", SampleUse::kIdentification));
  HEFT_ASSIGN_OR_RETURN(const Connection of_node, bench::Connect(asking.node));
  HEFT_ASSIGN_OR_RETURN(const Connection of_router, bench::Connect("service=" + asking.router));
  service::BucketNodes nodes(asking.router, asking.galleries);
  std::vector<Way> ways = {InSql("whole", of_node.get(), bench::kIdentify, "whole", probe)};
  for (const std::string& gallery : asking.galleries) {
    ways.push_back(InSql(
        gallery, of_router.get(),
        "SELECT reply FROM heft_router.heft_identify($1, ARRAY[$2::bytea, $3::bytea], '{}', $4)",
        gallery, probe));
    ways.push_back(AsMatcher(gallery, &nodes, probe));
  }
  nlohmann::json out = {{"threads", ThreadCount()}, {"probe_bytes", 0}};
  for (const SampleFile& file : probe) {
    out["probe_bytes"] = out["probe_bytes"].get<size_t>() + file.bytes.size();
  }
  // Caches are empty.
  for (const Way& way : ways) {
    const Stopwatch watch;
    HEFT_RETURN_IF_ERROR(way.ask(false).status());
    out["first_s"][way.name] = watch.Seconds();
  }
  if (asking.names) {
    HEFT_ASSIGN_OR_RETURN(out["with_identities"], Compare(ways, true, asking.rounds));
  }
  HEFT_ASSIGN_OR_RETURN(out["scores_alone"], Compare(ways, false, asking.rounds));
  std::cout << out.dump(2) << "\n";
  return absl::OkStatus();
}

absl::Status Run(const std::vector<std::string>& arguments) {
  const auto number = [&](size_t i, int otherwise) {
    return arguments.size() > i ? std::max(1, std::atoi(arguments[i].c_str())) : otherwise;
  };
  if (arguments.size() >= 2 && arguments[0] == "make") {
    return Make(arguments[1], static_cast<size_t>(number(2, 100000)));
  }
  if (arguments.size() >= 4 && arguments[0] == "ask") {
    Asking asking = {arguments[1], arguments[2], arguments[3], number(4, 21)};
    asking.names = arguments.size() < 6 || arguments[5] != "scores";
    if (arguments.size() > 6) asking.galleries.assign(arguments.begin() + 6, arguments.end());
    return RunAsk(asking);
  }
  return absl::InvalidArgumentError(
      "shards_bench make FOLDER [TEMPLATES] | ask FOLDER NODE ROUTER [ROUNDS [names|scores "
      "[GALLERY...]]]");
}

}  // namespace
}  // namespace heft

int main(int argc, char** argv) {
  const absl::Status done = heft::Run({argv + 1, argv + argc});
  if (!done.ok()) std::cerr << "shards_bench: " << done.message() << "\n";
  return done.ok() ? 0 : 1;
}
