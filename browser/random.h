// SPDX-License-Identifier: Apache-2.0
// Randomness: of the module that runs in a browser. libsodium asks here, and here asks
// crypto.getRandomValues, through an import of the module.
#ifndef HEFT_BROWSER_RANDOM_H_
#define HEFT_BROWSER_RANDOM_H_

namespace heft::browser {

// CheckRandomness: starts libsodium, draws twice and checks the bytes, as every later draw does.
// Once it is false, it stays false.
bool CheckRandomness();

// RandomnessFailed: whether a draw returned no bytes, only equal bytes, or the same bytes as the
// draw before. That draw and all later ones end in a trap.
bool RandomnessFailed();

}  // namespace heft::browser

#endif  // HEFT_BROWSER_RANDOM_H_
