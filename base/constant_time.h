// SPDX-License-Identifier: Apache-2.0
// Marks for the constant-time check (tests/constant_time.cc). Under valgrind, memory that is marked
// secret counts as uninitialised, and memcheck reports every branch and every address that depends
// on it (the method of Langley's ctgrind, 2010). The library marks nothing as secret. It
// declassifies public values that are derived from secrets, in a few places, each with its reason.
//
// Outside valgrind a mark is a few instructions without effect; without valgrind's headers it is
// none.
#ifndef HEFT_BASE_CONSTANT_TIME_H_
#define HEFT_BASE_CONSTANT_TIME_H_

#include <cstddef>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif

namespace heft {

// MarkSecret: from here on memcheck reports uses of these bytes in branches and addresses.
inline void MarkSecret([[maybe_unused]] const void* p, [[maybe_unused]] size_t bytes) {
#if defined(VALGRIND_MAKE_MEM_UNDEFINED)
  VALGRIND_MAKE_MEM_UNDEFINED(p, bytes);
#endif
}

// Declassify: these bytes are public from here on.
inline void Declassify([[maybe_unused]] const void* p, [[maybe_unused]] size_t bytes) {
#if defined(VALGRIND_MAKE_MEM_DEFINED)
  VALGRIND_MAKE_MEM_DEFINED(p, bytes);
#endif
}

// Declassified: the same value, now public.
template <typename T>
T Declassified(T value) {
  Declassify(&value, sizeof(value));
  return value;
}

}  // namespace heft

#endif  // HEFT_BASE_CONSTANT_TIME_H_
