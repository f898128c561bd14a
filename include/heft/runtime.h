// SPDX-License-Identifier: Apache-2.0
// The library in its process: threads, vector instructions, memory for secrets. Link heft::server.
#ifndef HEFT_RUNTIME_H_
#define HEFT_RUNTIME_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "heft/export.h"

namespace heft {

// SetThreadCount: threads that calls use, including the caller's; 0 restores the default, all
// cores. Do not call it while another call runs.
HEFT_EXPORT void SetThreadCount(int threads);
// ThreadCount: the current number.
HEFT_EXPORT int ThreadCount();

// GiveWay: lowers the priority of the calling thread (niceness 10), and of the threads that work on
// its calls; these are separate from the threads of other calls. Without privilege this is
// permanent. For threads of a service that enrol and remove while others answer probes.
// kUnavailable if the operating system refuses.
HEFT_EXPORT absl::Status GiveWay();

// InstructionSets: those that this machine has and the library can use, best first; "reference" is
// plain C++. ActiveInstructionSet: the one in use; HEFT_SIMD=NAME in the environment selects it.
HEFT_EXPORT std::vector<std::string> InstructionSets();
HEFT_EXPORT std::string ActiveInstructionSet();

// SecureMemoryStatus: OK if all memory for secrets that this process has allocated is locked
// against swapping. Otherwise kUnavailable, with the number of bytes that are not locked and the
// remedy; the secrets can be used all the same.
HEFT_EXPORT absl::Status SecureMemoryStatus();

// DisableCoreDumps: keeps the whole process out of core dumps, crash reporters and other users'
// debuggers. It sets no core file (RLIMIT_CORE) and not dumpable (PR_SET_DUMPABLE), which also
// applies when cores go to a pipe. For programs; a library must not do this to its host.
// kUnavailable if the operating system refuses.
HEFT_EXPORT absl::Status DisableCoreDumps();

}  // namespace heft

#endif  // HEFT_RUNTIME_H_
