// SPDX-License-Identifier: Apache-2.0
// HEFT_EXPORT marks the symbols that a shared library exports; all others are hidden (docs/abi.md).
#ifndef HEFT_EXPORT_H_
#define HEFT_EXPORT_H_

#define HEFT_EXPORT __attribute__((visibility("default")))
// HEFT_HIDDEN: the private part of an exported class.
#define HEFT_HIDDEN __attribute__((visibility("hidden")))

#endif  // HEFT_EXPORT_H_
