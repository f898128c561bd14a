// SPDX-License-Identifier: Apache-2.0
// StartSodium: libsodium uses the processor's vector instructions only after sodium_init. Before, a
// seed expands four times as slowly (measured on a Zen 3).
#ifndef HEFT_BASE_SODIUM_H_
#define HEFT_BASE_SODIUM_H_

#include <sodium.h>

namespace heft {

// StartSodium: false if the operating system gives no randomness. In a browser sodium_init draws
// from the host, which is checked first (browser/random.cc), and there is nothing to choose.
inline bool StartSodium() {
#ifdef __wasm__
  return true;
#else
  static const bool started = sodium_init() >= 0;
  return started;
#endif
}

}  // namespace heft

#endif  // HEFT_BASE_SODIUM_H_
