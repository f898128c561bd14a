// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "heft/benchmark.h"
#include "program/common.h"

namespace heft::cli {
namespace {

struct Options {
  BenchmarkOptions bench;
  std::string pictures;
};

absl::Status Run(const Common& common, const Options& options) {
  if (options.pictures.empty()) {
    HEFT_ASSIGN_OR_RETURN(const Json result, RunBenchmark(options.bench, common.monitor));
    Print(common, result, BenchmarkTable(result));
    return absl::OkStatus();
  }
  HEFT_RETURN_IF_ERROR(MakeDirectories(options.pictures));
  HEFT_ASSIGN_OR_RETURN(const Sweep sweep, RunSweep(options.bench, common.monitor));
  HEFT_RETURN_IF_ERROR(WritePictures(options.pictures, sweep.pictures));
  Print(common, sweep.result, sweep.result.dump(2));
  return absl::OkStatus();
}

}  // namespace

void AddBench(Command app) {
  const auto [command, options] =
      AddCommand(app, "bench", "measure whole operations on this machine, by fused dimension",
                 "heft bench --threads 1 --iterations 20", Run);
  command.Add("--iterations", &options->bench.iterations, "repetitions of each operation")
      .Range(1, 100000)
      .ShowDefault();
  command.Add("--templates", &options->bench.templates, "gallery size for matching")
      .Range(1, 8192)
      .ShowDefault();
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
  command.Add("--large", &options->bench.large_templates, "size of the large gallery, up to 2 GiB")
      .Range(1, 100000000)
      .ShowDefault();
  command.Add("--sweep", &options->pictures,
              "measure instead how times grow with gallery, dimensions and pairs, by stage and "
              "instruction set; write pictures into this folder");
  command.Add("--no-large", &options->bench.skip_large, "leave out the large gallery");
}

}  // namespace heft::cli
