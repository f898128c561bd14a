// SPDX-License-Identifier: Apache-2.0
// Measures times on this machine: complete jobs of all roles in this process, on random vectors.
// Use an idle machine. Link heft::heft.
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
  // Fused dimensions, measured one after another; empty: all of 32, 64, ... 1,024 that the
  // dimensions and the profile allow.
  std::vector<uint32_t> gammas = {};
  int degree = 3;
  std::string profile = "standard";
  bool skip_large = false;           // without the large gallery
  size_t large_templates = 1000000;  // of the large gallery: as many as fit 2 GiB of memory
  int batch = 64;                    // probes in one pass over the large gallery
};

// RunBenchmark: "dimensions" has an object for each fused dimension, with medians and spreads of
// the repetitions (NAME_ms), sizes (NAME_bytes), accuracy, and times by instruction set. The other
// members are "machine", "profile" and "operations". Takes minutes for each dimension, on the
// configured threads (heft/runtime.h). kInvalidArgument for a model that cannot be evaluated;
// kCancelled.
HEFT_EXPORT absl::StatusOr<Json> RunBenchmark(const BenchmarkOptions& options = {},
                                              const Monitor& monitor = {});

// BenchmarkTable: a table of RunBenchmark's result with one line for each dimension.
HEFT_EXPORT std::string BenchmarkTable(const Json& result);

// Sweep: how times grow with the gallery, the dimensions and the number of pairs; times by stage
// and by instruction set.
struct Sweep {
  Json result;
  std::vector<std::pair<std::string, std::string>> pictures;  // file name, SVG
};
// RunSweep: `options.iterations` repetitions for each point, galleries up to
// `options.large_templates`, at the first of `options.gammas` or 32. The same errors; errors of
// CheckDrawing (heft/evaluate.h).
HEFT_EXPORT absl::StatusOr<Sweep> RunSweep(const BenchmarkOptions& options = {},
                                           const Monitor& monitor = {});

}  // namespace heft

#endif  // HEFT_BENCHMARK_H_
