// SPDX-License-Identifier: Apache-2.0
// What the other headers use: exported symbols, progress and cancellation of long calls, threads,
// vector instructions and memory for secrets of this process, and how errors are passed on. Link
// heft::server.
#ifndef HEFT_BASE_H_
#define HEFT_BASE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// HEFT_EXPORT marks the symbols that a shared library exports; all others are hidden (docs/abi.md).
#define HEFT_EXPORT __attribute__((visibility("default")))
// HEFT_HIDDEN: the private part of an exported class.
#define HEFT_HIDDEN __attribute__((visibility("hidden")))

namespace heft {

// ProgressEvent: a step of a call. total == 0: only asks whether to continue.
struct ProgressEvent {
  std::string_view what;  // "training fold 2 of 5"
  size_t done = 0;
  size_t total = 0;
  std::string_view note = {};
};

// Monitor: called with every step, from the thread of the call. If it returns false, the call ends
// with kCancelled and has changed nothing. An empty monitor never cancels.
using Monitor = std::function<bool(const ProgressEvent&)>;

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

// ReleaseThreadMemory: frees the calling thread's buffers that are not in use, up to 96 MB. Small
// buffers lie together in pieces of 64 MB, which serve all threads: one of them stays in the
// process, and each other one as long as a buffer in it is in use. For services with many threads,
// when a thread starts to wait.
HEFT_EXPORT void ReleaseThreadMemory();

}  // namespace heft

// Short forms for passing errors on, as the library and the tools use them. Inside a function that
// returns absl::Status or absl::StatusOr:
//
//   HEFT_RETURN_IF_ERROR(model.Check());
//   HEFT_ASSIGN_OR_RETURN(const auto client, heft::Client::Create(model, key));
//
// Each evaluates its argument once. The second is two statements, so it cannot be the body of an
// `if` without braces.
#define HEFT_RETURN_IF_ERROR(expr) HEFT_RETURN_IF_ERROR_(HEFT_CONCAT_(heft_status_, __LINE__), expr)
#define HEFT_RETURN_IF_ERROR_(status, expr) \
  do {                                      \
    ::absl::Status status = (expr);         \
    if (!status.ok()) return status;        \
  } while (false)

#define HEFT_CONCAT_INNER_(a, b) a##b
#define HEFT_CONCAT_(a, b) HEFT_CONCAT_INNER_(a, b)

#define HEFT_ASSIGN_OR_RETURN(lhs, expr) \
  HEFT_ASSIGN_OR_RETURN_(HEFT_CONCAT_(heft_statusor_, __LINE__), lhs, expr)
#define HEFT_ASSIGN_OR_RETURN_(tmp, lhs, expr) \
  auto tmp = (expr);                           \
  if (!tmp.ok()) return tmp.status();          \
  lhs = std::move(*tmp)

#endif  // HEFT_BASE_H_
