// SPDX-License-Identifier: Apache-2.0
#include "base/secure.h"

#include <sodium.h>

#if defined(__linux__)
#include <sys/prctl.h>
#include <sys/resource.h>
#endif

#include <atomic>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "heft/base.h"

namespace heft {
namespace {
std::atomic<size_t> g_refused_bytes{0};
std::atomic<int> g_refusal{0};  // errno of the last one
}  // namespace

namespace internal {

// SecureAllocate: sodium_malloc returns memory that ends at a page's end, so it is aligned only if
// the size is a multiple of the alignment.
void* SecureAllocate(size_t bytes) {
  if (sodium_init() < 0) return nullptr;
  const size_t rounded = bytes == 0 ? 64 : (bytes + 63) / 64 * 64;
  void* p = sodium_malloc(rounded);
  if (p == nullptr) return nullptr;
  // sodium_malloc has already tried to lock the memory, without reporting the outcome.
  if (sodium_mlock(p, rounded) != 0) {
    g_refusal = errno;
    g_refused_bytes += rounded;
  }
  sodium_memzero(p, rounded);
  return p;
}

void SecureFree(void* p) { sodium_free(p); }

}  // namespace internal

void SecureWipe(void* p, size_t bytes) { sodium_memzero(p, bytes); }

absl::Status SecureMemoryStatus() {
  if (g_refused_bytes == 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the system refused to lock ", g_refused_bytes.load(), " bytes of secrets (",
                   std::strerror(g_refusal),
                   "): they may be written to swap; raise `ulimit -l`, or encrypt the swap"));
}

absl::Status DisableCoreDumps() {
#if defined(__linux__)
  const rlimit none = {0, 0};
  if (setrlimit(RLIMIT_CORE, &none) != 0 || prctl(PR_SET_DUMPABLE, 0) != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot turn core dumps off: ", std::strerror(errno)));
  }
  return absl::OkStatus();
#else
  return absl::UnavailableError("core dumps can be turned off on Linux only");
#endif
}

}  // namespace heft
