// SPDX-License-Identifier: Apache-2.0
// peer_seal: fuse a pair of 512-dimensional vectors to 32 dimensions and match 1,024 templates, on
// one thread, in SEAL and with us, taking turns. Prints JSON. Times are thread CPU time, because a
// shared machine interrupts long runs more often than short ones. Wall times are printed too.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <random>

#include "base/threads.h"
#include "bench/peer_seal/route.h"
#include "experiment/random_model.h"
#include "experiment/stopwatch.h"

namespace heft::bench {
namespace {

constexpr size_t kTemplates = 1024;

using experiment::Median;
using experiment::Stopwatch;

// Times of one route's runs, in milliseconds.
struct Times {
  std::vector<double> fuse, both, fuse_wall, both_wall;

  void Run(Route& route) {
    const Stopwatch cpu(Stopwatch::kThread), wall;
    route.Fuse();
    fuse.push_back(cpu.Milliseconds());
    fuse_wall.push_back(wall.Milliseconds());
    route.Match();
    both.push_back(cpu.Milliseconds());
    both_wall.push_back(wall.Milliseconds());
  }
};

struct Contestant {
  std::string name;
  std::unique_ptr<Route> route;
  int runs = 1;  // in each iteration
  Times first, all;
  double worst_error = 0;

  void Turn() {
    for (int i = 0; i < runs; ++i) {
      all.Run(*route);
      if (i == 0) {
        first.fuse.push_back(all.fuse.back());
        first.both.push_back(all.both.back());
      }
    }
    worst_error = std::max(worst_error, route->WorstError());
  }
  void Report(Json* json) const {
    (*json)[name + "_fuse_ms"] = Median(all.fuse);
    (*json)[name + "_fuse_match_1024_ms"] = Median(all.both);
    (*json)[name + "_fuse_match_1024_min_ms"] = *std::min_element(all.both.begin(), all.both.end());
    (*json)[name + "_fuse_wall_ms"] = Median(all.fuse_wall);
    (*json)[name + "_fuse_match_1024_wall_ms"] = Median(all.both_wall);
    if (runs > 1) {
      // Right after the others' work, when caches hold nothing of ours.
      (*json)[name + "_first_fuse_ms"] = Median(first.fuse);
      (*json)[name + "_first_fuse_match_1024_ms"] = Median(first.both);
    }
    (*json)[name + "_worst_error"] = worst_error;
  }
};

Workload MakeWorkload(const Model& quadratic) {
  std::mt19937_64 random(7);
  Workload w;
  w.gamma = quadratic.gamma;
  w.projection = quadratic.projection;
  w.first = experiment::RandomUnit(quadratic.modalities[0].dimension, random);
  w.second = experiment::RandomUnit(quadratic.modalities[1].dimension, random);
  std::copy_n(quadratic.approximation.stages[0].InPowersOfS().coefficients.begin(), 3,
              w.quadratic.begin());
  const std::vector<double> fused = experiment::FusePlain(quadratic, {w.first, w.second});
  for (size_t i = 0; i < kTemplates; ++i) {
    w.gallery.push_back(experiment::RandomUnit(w.gamma, random));
    w.expected.push_back(experiment::Dot(fused, w.gallery.back()));
  }
  return w;
}

int Run(int iterations, int heft_runs, uint32_t gamma, const std::string& profile) {
  SetThreadCount(1);
  // The same projection, of the same seed.
  const Model model = experiment::RandomModel({512, 512}, gamma, 3, profile);
  const Workload workload = MakeWorkload(experiment::RandomModel({512, 512}, gamma, 2, profile));
  auto heft = MakeHeftRoute(workload, model);
  if (!heft.ok()) {
    std::cerr << heft.status() << "\n";
    return 1;
  }
  std::vector<Contestant> contestants(4);
  contestants[0].name = "paper";
  contestants[0].route = MakePaperRoute(workload);
  contestants[1].name = "improved";
  contestants[1].route = MakeImprovedRoute(workload, ProbeLayout::kDense);
  contestants[2].name = "compact_in_seal";
  contestants[2].route = MakeImprovedRoute(workload, ProbeLayout::kCompact);
  contestants[3].name = "heft";
  contestants[3].route = *std::move(heft);
  contestants[3].runs = heft_runs;
  for (Contestant& c : contestants) {  // warm
    c.route->Fuse();
    c.route->Match();
  }
  for (int i = 0; i < iterations; ++i) {
    for (Contestant& c : contestants) c.Turn();
  }

  Json json;
  json["seal_version"] = SealVersion();
  json["hexl"] = SealUsesHexl();
  json["compiler"] = __VERSION__;  // of this program; SEAL gains much from Clang, says its README
  json["profile"] = profile;
  json["gamma"] = gamma;
  json["iterations"] = iterations;
  json["heft_runs_per_iteration"] = heft_runs;
  for (const Contestant& c : contestants) c.Report(&json);
  const std::string suffix = SealUsesHexl() ? "_hexl" : "";
  const Times& ours = contestants[3].all;
  auto ratio = [&](const std::string& key, const Contestant& c) {
    json[key + suffix] = Median(c.all.both) / Median(ours.both);
    json[key + suffix + "_wall"] = Median(c.all.both_wall) / Median(ours.both_wall);
  };
  ratio("ratio_seal", contestants[0]);
  ratio("ratio_seal_improved", contestants[1]);
  ratio("ratio_seal_compact", contestants[2]);
  json["ratio_seal_cold" + suffix] =
      Median(contestants[0].all.both) / Median(contestants[3].first.both);
  std::cout << json.dump(2) << "\n";
  return 0;
}

}  // namespace
}  // namespace heft::bench

int main(int argc, char** argv) {
  CLI::App app("SEAL against us: fuse a 512 + 512 pair and match 1,024 templates, one thread");
  int iterations = 20;
  int heft_runs = 5;
  app.add_option("--iterations", iterations, "turns of every contestant")
      ->check(CLI::PositiveNumber);
  app.add_option("--heft-runs", heft_runs, "our runs in a turn")->check(CLI::PositiveNumber);
  uint32_t gamma = 32;
  app.add_option("--gamma", gamma, "fused dimension: 32 or 128")->check(CLI::IsMember({32u, 128u}));
  std::string profile = "standard";
  app.add_option("--profile", profile, "ours: standard or compact")
      ->check(CLI::IsMember({"standard", "compact"}));
  CLI11_PARSE(app, argc, argv);
  return heft::bench::Run(iterations, heft_runs, gamma, profile);
}
