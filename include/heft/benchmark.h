// SPDX-License-Identifier: Apache-2.0
// Measuring time on this machine: whole jobs of all roles in this process, on random vectors. For
// a machine that does nothing else. Link heft::heft.
#ifndef HEFT_BENCHMARK_H_
#define HEFT_BENCHMARK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/export.h"
#include "heft/json.h"
#include "heft/progress.h"

namespace heft {

struct BenchmarkOptions {
  int iterations = 20;  // of each job
  uint32_t templates = 1024;
  std::vector<uint32_t> dimensions = {512, 512};  // as in heft/model.h
  uint32_t gamma = 32;
  int degree = 3;
  std::string profile = "thin";
  bool skip_million = false;           // the large gallery
  size_t million_templates = 1000000;  // of the large gallery, gamma x 32 KB / 4096 each in memory
  int batch = 64;                      // probes in one pass over it
};

// RunBenchmark: medians with the spread of the repetitions (NAME_ms), sizes (NAME_bytes), accuracy,
// machine. Minutes, on the threads that are set (heft/runtime.h). kInvalidArgument for a model that
// cannot be evaluated; kCancelled.
HEFT_EXPORT absl::StatusOr<Json> RunBenchmark(const BenchmarkOptions& options = {},
                                              const Monitor& monitor = {});

// Sweep: how times grow: with the gallery, the dimensions, the number of pairs; by stage and by
// instruction set.
struct Sweep {
  Json result;
  std::vector<std::pair<std::string, std::string>> pictures;  // file name, SVG
};
// RunSweep: `options.iterations` repetitions a point; galleries up to `options.million_templates`.
// The same errors, and CheckDrawing's (heft/evaluate.h).
HEFT_EXPORT absl::StatusOr<Sweep> RunSweep(const BenchmarkOptions& options = {},
                                           const Monitor& monitor = {});

}  // namespace heft

#endif  // HEFT_BENCHMARK_H_
