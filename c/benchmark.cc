// SPDX-License-Identifier: Apache-2.0
#include "c/handles.h"
#include "c/options.h"
#include "heft/c/evaluate.h"
#include "heft/evaluate.h"

namespace heft::c {
namespace {

absl::StatusOr<BenchmarkOptions> ReadBenchmarkOptions(const heft_options* options) {
  BenchmarkOptions run;
  OptionReader read(options);
  read.Integer("iterations", &run.iterations, 1).Integer("templates", &run.templates, 1);
  read.Integers("dimensions", &run.dimensions).Integers("gammas", &run.gammas);
  read.Integer("degree", &run.degree, 1, 31).Text("profile", &run.profile);
  read.Flag("skip_large", &run.skip_large).Integer("large_templates", &run.large_templates);
  read.Integer("batch", &run.batch, 1);
  HEFT_RETURN_IF_ERROR(read.Finish());
  return run;
}

}  // namespace
}  // namespace heft::c

using heft::c::AsMonitor;
using heft::c::Call;
using heft::c::Given;

heft_status heft_run_benchmark(const heft_options* options, heft_monitor monitor, void* user,
                               heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto run, heft::c::ReadBenchmarkOptions(options));
    HEFT_ASSIGN_OR_RETURN(heft::Json times, heft::RunBenchmark(run, AsMonitor(monitor, user)));
    *result = new heft_result(std::move(times));
    return absl::OkStatus();
  });
}

heft_status heft_run_sweep(const heft_options* options, heft_monitor monitor, void* user,
                           heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto run, heft::c::ReadBenchmarkOptions(options));
    HEFT_ASSIGN_OR_RETURN(const heft::Sweep sweep, heft::RunSweep(run, AsMonitor(monitor, user)));
    heft::Json pictures = heft::Json::object();
    for (const auto& [file, svg] : sweep.pictures) pictures[file] = svg;
    *result = new heft_result(heft::Json({{"result", sweep.result}, {"pictures", pictures}}));
    return absl::OkStatus();
  });
}
