// SPDX-License-Identifier: Apache-2.0
#include "heft/base.h"
#include "ring/kernels.h"

namespace heft {

std::vector<std::string> InstructionSets() {
  std::vector<std::string> names;
  for (const ring::Kernels* kernels : ring::AllKernels()) names.emplace_back(kernels->name);
  return names;
}

std::string ActiveInstructionSet() { return ring::ActiveKernels().name; }

}  // namespace heft
