// SPDX-License-Identifier: Apache-2.0
// The jobs that `heft bench` times.
#ifndef HEFT_BENCH_ROUTES_H_
#define HEFT_BENCH_ROUTES_H_

#include <cstdint>
#include <string>
#include <utility>
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
  bool skip_million = false;
  size_t million_templates = 1000000;  // of the large gallery
  int batch = 64;                      // probes in one pass over it
};

// RunBench: medians with the spread of the repetitions, sizes, accuracy, machine. kCancelled where
// the monitor ends it.
absl::StatusOr<Json> RunBench(const Monitor& monitor, const BenchOptions& options);

// Sweep: how times grow with the gallery, the dimensions, the number of pairs; by stage and by
// instruction set. The pictures of docs/benchmarks.md.
struct Sweep {
  Json result;
  std::vector<std::pair<std::string, std::string>> pictures;  // file name, SVG
};

// RunSweep: `options.iterations` repetitions a point; galleries up to `options.million_templates`
// templates.
absl::StatusOr<Sweep> RunSweep(const Monitor& monitor, const BenchOptions& options);

}  // namespace heft::bench

#endif  // HEFT_BENCH_ROUTES_H_
