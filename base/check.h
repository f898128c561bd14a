// SPDX-License-Identifier: Apache-2.0
// HEFT_DCHECK: the contract of a function inside the engine, asserted in debug builds.
//
//   HEFT_DCHECK(a.limbs() == b.limbs(), "operands of equal limbs");
//
// If the condition is false, it prints place, condition and contract, and aborts: the caller has a
// bug. In release builds (NDEBUG) neither argument is evaluated, so a check may read whole arrays
// but must not change anything. Whether a contract holds is public, even for secret values. Never
// check outside input (files, arguments of library calls) like this: return an absl::Status for it.
#ifndef HEFT_BASE_CHECK_H_
#define HEFT_BASE_CHECK_H_

#include <string>

#include "base/constant_time.h"

namespace heft {

// kDebugChecks: whether HEFT_DCHECK is compiled in.
#ifdef NDEBUG
inline constexpr bool kDebugChecks = false;
#else
inline constexpr bool kDebugChecks = true;
#endif

namespace internal {
[[noreturn]] void ContractBroken(const char* file, int line, const char* condition,
                                 const char* contract);
}  // namespace internal
}  // namespace heft

#define HEFT_DCHECK(condition, contract)                                            \
  do {                                                                              \
    if constexpr (::heft::kDebugChecks) {                                           \
      if (!::heft::Declassified(static_cast<bool>(condition))) {                    \
        ::heft::internal::ContractBroken(__FILE__, __LINE__, #condition, contract); \
      }                                                                             \
    }                                                                               \
  } while (false)

// HEFT_DCHECK_OK: the same for a contract that a function checks with an absl::Status.
#define HEFT_DCHECK_OK(expr)                                                            \
  do {                                                                                  \
    if constexpr (::heft::kDebugChecks) {                                               \
      if (const auto heft_contract = (expr); !heft_contract.ok()) {                     \
        ::heft::internal::ContractBroken(__FILE__, __LINE__, #expr,                     \
                                         std::string(heft_contract.message()).c_str()); \
      }                                                                                 \
    }                                                                                   \
  } while (false)

#endif  // HEFT_BASE_CHECK_H_
