// SPDX-License-Identifier: Apache-2.0
// The library in its process: threads and vector instructions.
#ifndef HEFT_RUNTIME_H_
#define HEFT_RUNTIME_H_

#include <string>
#include <vector>

#include "heft/export.h"

namespace heft {

// SetThreadCount: threads that calls use, the caller's included; 0 restores the default, all cores.
// Not while a call runs.
HEFT_EXPORT void SetThreadCount(int threads);
// ThreadCount: how many that are.
HEFT_EXPORT int ThreadCount();

// InstructionSets: that this machine has and the library can use, best first; "reference" is plain
// C++. ActiveInstructionSet: the one in use, which HEFT_SIMD=NAME in the environment chooses.
HEFT_EXPORT std::vector<std::string> InstructionSets();
HEFT_EXPORT std::string ActiveInstructionSet();

}  // namespace heft

#endif  // HEFT_RUNTIME_H_
