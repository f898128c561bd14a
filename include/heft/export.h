// SPDX-License-Identifier: Apache-2.0
// HEFT_EXPORT marks what a shared library shows; everything else in it is hidden (docs/abi.md).
#ifndef HEFT_EXPORT_H_
#define HEFT_EXPORT_H_

#define HEFT_EXPORT __attribute__((visibility("default")))
// HEFT_HIDDEN: the private half of a class that is shown.
#define HEFT_HIDDEN __attribute__((visibility("hidden")))

#endif  // HEFT_EXPORT_H_
