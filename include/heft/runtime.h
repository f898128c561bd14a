// SPDX-License-Identifier: Apache-2.0
// The library in its process: threads, vector instructions, memory for secrets. Link heft::server.
#ifndef HEFT_RUNTIME_H_
#define HEFT_RUNTIME_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "heft/export.h"

namespace heft {

// SetThreadCount: threads that calls use, the caller's included; 0 restores the default, all cores.
// Not while a call runs.
HEFT_EXPORT void SetThreadCount(int threads);
// ThreadCount: how many that are.
HEFT_EXPORT int ThreadCount();

// GiveWay: from here on the calling thread gives way where there are not cores enough (its niceness
// is 10; without privilege there is no way back), and so do the threads that work on what it calls,
// which are others than everybody else's. For the threads of a service that enrol and remove while
// others answer probes. kUnavailable where the system refuses.
HEFT_EXPORT absl::Status GiveWay();

// InstructionSets: that this machine has and the library can use, best first; "reference" is plain
// C++. ActiveInstructionSet: the one in use, which HEFT_SIMD=NAME in the environment chooses.
HEFT_EXPORT std::vector<std::string> InstructionSets();
HEFT_EXPORT std::string ActiveInstructionSet();

// SecureMemoryStatus: OK if all memory for secrets that this process has taken so far is locked
// against swapping; otherwise kUnavailable with the bytes refused and what to do. The secrets work
// all the same.
HEFT_EXPORT absl::Status SecureMemoryStatus();

// DisableCoreDumps keeps the whole process out of core dumps, crash reporters and other users'
// debuggers: no core file (RLIMIT_CORE), and not dumpable (PR_SET_DUMPABLE), which also holds where
// cores go to a pipe. For programs; a library must not do this to its host. kUnavailable where the
// system refuses.
HEFT_EXPORT absl::Status DisableCoreDumps();

}  // namespace heft

#endif  // HEFT_RUNTIME_H_
