// SPDX-License-Identifier: Apache-2.0
// Effects of sanitizers that tests must know.
#ifndef HEFT_BASE_SANITIZERS_H_
#define HEFT_BASE_SANITIZERS_H_

namespace heft {

// kLocksIgnored: AddressSanitizer and ThreadSanitizer replace mlock by a function that does
// nothing, so that nothing is locked and no lock is refused.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kLocksIgnored = true;
#elif defined(__has_feature)
inline constexpr bool kLocksIgnored =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kLocksIgnored = false;
#endif
// The same two reserve more address space than a limit on it permits.
inline constexpr bool kMemoryReserved = kLocksIgnored;

}  // namespace heft

#endif  // HEFT_BASE_SANITIZERS_H_
