// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "cli/commands.h"
#include "heft/evaluate.h"
#include "program/common.h"

namespace heft::cli {
namespace {

struct BenchFlags {
  BenchmarkOptions bench;
  std::vector<uint32_t> templates;
  std::string pictures;
};

// BenchmarkOf: the sizes of the gallery and, if there are two, of the large one.
absl::StatusOr<BenchmarkOptions> BenchmarkOf(const BenchFlags& options) {
  BenchmarkOptions bench = options.bench;
  const auto& sizes = options.templates;
  if (sizes.empty()) return bench;
  if (sizes[0] > 8192 || sizes.size() > 2) {
    return WrongUsage(
        "--templates: give the size of a gallery, at most 8192, and perhaps that of a large one");
  }
  bench.templates = sizes[0];
  bench.skip_large = sizes.size() == 1;
  if (!bench.skip_large) bench.large_templates = sizes[1];
  return bench;
}

absl::Status RunBench(const Common& common, const BenchFlags& options) {
  HEFT_ASSIGN_OR_RETURN(const BenchmarkOptions bench, BenchmarkOf(options));
  if (options.pictures.empty()) {
    HEFT_ASSIGN_OR_RETURN(const Json result, RunBenchmark(bench, common.monitor));
    Print(common, result, BenchmarkTable(result));
    return absl::OkStatus();
  }
  HEFT_RETURN_IF_ERROR(MakeDirectories(options.pictures));
  HEFT_ASSIGN_OR_RETURN(const Sweep sweep, RunSweep(bench, common.monitor));
  HEFT_RETURN_IF_ERROR(WritePictures(options.pictures, sweep.pictures));
  Print(common, sweep.result, sweep.result.dump(2));
  return absl::OkStatus();
}

}  // namespace

void AddBench(Command app) {
  const auto [command, options] =
      AddCommand(app, "bench", "measure whole operations on this machine, by fused dimension",
                 "heft bench --threads 1 --iterations 20", RunBench);
  command.Add("--iterations", &options->bench.iterations, "repetitions of each operation")
      .Range(1, 100000)
      .ShowDefault();
  command
      .Add("--templates", &options->templates,
           "gallery sizes for matching: one of up to 8,192 templates and, if given, a large one of "
           "up to 2 GiB (default: 1024 1000000)")
      .Range(1, 100000000);
  command.Add("--dimensions", &options->bench.dimensions, "dimension of each modality")
      .Range(1, 4096)
      .ShowDefault();
  command
      .Add("--gamma", &options->bench.gammas,
           "fused dimensions, each a power of two (default: all of 32 to 1024 that fit)")
      .Range(2, kMaxGamma);
  command.Add("--degree", &options->bench.degree, "degree of the normalisation")
      .Range(2, 3)
      .ShowDefault();
  command.Add("--profile", &options->bench.profile, "profile of the model")
      .Choices({"standard", "flooded"})
      .ShowDefault();
  command.Add("--pictures", &options->pictures,
              "measure instead how times grow with gallery, dimensions and pairs, by stage and "
              "instruction set; write pictures into this folder");
}

}  // namespace heft::cli
