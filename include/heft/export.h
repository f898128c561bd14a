// SPDX-License-Identifier: Apache-2.0
// HEFT_EXPORT marks what a shared library shows; everything else in it is hidden (docs/abi.md).
#ifndef HEFT_EXPORT_H_
#define HEFT_EXPORT_H_

#define HEFT_EXPORT __attribute__((visibility("default")))

#endif  // HEFT_EXPORT_H_
