// SPDX-License-Identifier: Apache-2.0
// What profile standard is measured by beside the route itself: probes that a client has fused, and
// one identification by a process that has just begun.
#ifndef HEFT_BENCH_THIN_H_
#define HEFT_BENCH_THIN_H_

#include "base/progress.h"
#include "base/status.h"
#include "experiment/roles.h"
#include "heft/evaluate.h"
#include "heft/files.h"

namespace heft::bench {

// RunClientFused adds client_fused_match_1024_ms, for probes that the client fuses, and its ratio
// to probes that the server fuses. The two are timed alternately, against a block of the gallery's
// size. `roles` are of profile standard.
absl::Status RunClientFused(const BenchmarkOptions& options, const Progress& progress,
                            const experiment::Roles& roles, Json* result);

// RunCold adds identify_cold_ms and verify_cold_ms: CPU time, user and system, of `identify` and
// `verify` as processes of their own (heft-server's), from the start to the written reply, without
// prepared keys. Makes keys and a gallery of options.templates in a folder of its own.
absl::Status RunCold(const BenchmarkOptions& options, uint32_t gamma, const Progress& progress,
                     Json* result);

}  // namespace heft::bench

#endif  // HEFT_BENCH_THIN_H_
