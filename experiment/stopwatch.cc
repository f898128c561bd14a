// SPDX-License-Identifier: Apache-2.0
#include "experiment/stopwatch.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "heft/base.h"

namespace heft::experiment {

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const size_t at = std::min(values.size() - 1, static_cast<size_t>(q * values.size()));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[at];
}

Json Timings::Spread() const {
  return {{"median", Median()},
          {"p10", Quantile(wall_, 0.1)},
          {"p90", Quantile(wall_, 0.9)},
          {"cpu_median", experiment::Median(cpu_)},
          {"runs", wall_.size()}};
}

Json Machine() {
  std::string model = "unknown", line;
  std::ifstream cpuinfo("/proc/cpuinfo");
  while (std::getline(cpuinfo, line)) {
    if (line.rfind("model name", 0) == 0) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  }
  return {{"cpu", model},
          {"threads_used", ThreadCount()},
          {"simd", ActiveInstructionSet()},
          {"compiler", __VERSION__},
#ifdef NDEBUG
          {"build", "release"}
#else
          {"build", "debug"}
#endif
  };
}

}  // namespace heft::experiment
