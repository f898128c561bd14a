// SPDX-License-Identifier: Apache-2.0
// Bench: what the jobs of `heft bench` share, and those that stand in files of their own.
#ifndef HEFT_BENCH_JOBS_H_
#define HEFT_BENCH_JOBS_H_

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "experiment/roles.h"
#include "experiment/stopwatch.h"
#include "heft/evaluate.h"
#include "heft/files.h"

namespace heft::bench {

// Bench: what the jobs share.
struct Bench {
  const BenchmarkOptions& options;
  uint32_t gamma;
  const Progress& progress;
  std::unique_ptr<experiment::Roles> roles = nullptr;
  std::mt19937_64 random{3};
  Json result = {};      // of this dimension
  Json operations = {};  // single ones

  const ProbeFuser& prober() const { return roles->prober(); }
  absl::StatusOr<std::vector<ckks::Ciphertext>> EncryptRandom() {
    return roles->EncryptProbe(experiment::RandomSample(roles->model(), random));
  }
  void AddSpread(const std::string& name, const experiment::Timings& timings) {
    result["spread"][name] = timings.Spread();
  }
  void Add(const std::string& name, const experiment::Timings& timings) {
    result[name] = timings.Median();
    AddSpread(name, timings);
  }
};

// RunLarge: options.large_templates in memory, or 2 GiB of them, for one probe and for a batch.
absl::Status RunLarge(Bench& bench);

}  // namespace heft::bench

#endif  // HEFT_BENCH_JOBS_H_
