// SPDX-License-Identifier: Apache-2.0
// How times grow: with the gallery, the dimensions, the number of pairs; by stage and by
// instruction set. The pictures of docs/benchmarks.md.
#ifndef HEFT_BENCH_SWEEP_H_
#define HEFT_BENCH_SWEEP_H_

#include <string>
#include <utility>
#include <vector>

#include "bench/routes.h"

namespace heft::bench {

struct Sweep {
  Json result;
  std::vector<std::pair<std::string, std::string>> pictures;  // file name, SVG
};

// RunSweep: `options.iterations` repetitions a point; galleries up to `options.million_templates`
// templates.
absl::StatusOr<Sweep> RunSweep(const Monitor& monitor, const BenchOptions& options);

}  // namespace heft::bench

#endif  // HEFT_BENCH_SWEEP_H_
