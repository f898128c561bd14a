// SPDX-License-Identifier: Apache-2.0
// What profile thin is measured by beside the route itself: probes that a client has fused, and one
// identification by a process that has just begun.
#ifndef HEFT_BENCH_THIN_H_
#define HEFT_BENCH_THIN_H_

#include "base/progress.h"
#include "base/status.h"
#include "experiment/roles.h"
#include "heft/benchmark.h"
#include "heft/json.h"

namespace heft::bench {

// RunClientFused adds client_fused_match_1024_ms, and its ratio to what the server fuses, timed in
// turn, against a block of the gallery's size. `roles` are of profile thin.
absl::Status RunClientFused(const BenchmarkOptions& options, const Progress& progress,
                            const experiment::Roles& roles, Json* result);

// RunCold adds identify_cold_ms: CPU time, user and system, of `identify` as a process of its own
// (this program's), from its start to the written reply. Makes keys and a gallery of
// options.templates in a folder of its own.
absl::Status RunCold(const BenchmarkOptions& options, const Progress& progress, Json* result);

}  // namespace heft::bench

#endif  // HEFT_BENCH_THIN_H_
