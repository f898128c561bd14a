// SPDX-License-Identifier: Apache-2.0
#include "experiment/machine.h"

#include <fstream>
#include <string>

#include "base/threads.h"
#include "ring/kernels.h"

namespace heft::experiment {

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
          {"simd", ring::ActiveKernels().name},
          {"compiler", __VERSION__},
#ifdef NDEBUG
          {"build", "release"}
#else
          {"build", "debug"}
#endif
  };
}

}  // namespace heft::experiment
