// SPDX-License-Identifier: Apache-2.0
// The jobs that `heft bench` times.
#ifndef HEFT_BENCH_ROUTES_H_
#define HEFT_BENCH_ROUTES_H_

#include <cstdint>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "heft/json.h"

namespace heft::bench {

struct BenchOptions {
  int iterations = 20;
  uint32_t templates = 1024;
  std::vector<uint32_t> dimensions = {512, 512};
  uint32_t gamma = 32;
  int degree = 3;
  std::string profile = "thin";
  bool skip_paper = false;
  bool skip_million = false;
  size_t million_templates = 1000000;  // of the large gallery
  int batch = 64;                      // probes in one pass over it
};

// RunBench: medians with the spread of the repetitions, sizes, accuracy, machine. kCancelled where
// the monitor ends it.
absl::StatusOr<Json> RunBench(const Monitor& monitor, const BenchOptions& options);

}  // namespace heft::bench

#endif  // HEFT_BENCH_ROUTES_H_
