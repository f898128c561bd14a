// SPDX-License-Identifier: Apache-2.0
// Call: wraps every function of the C interface: it checks arguments, catches exceptions and turns
// errors into objects (heft/c/base.h).
#ifndef HEFT_C_CALL_H_
#define HEFT_C_CALL_H_

#include <cxxabi.h>
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "heft/base.h"
#include "heft/c/base.h"

namespace heft::c {

// Handle: the base of every opaque object. Its tag tells a valid object from NULL, from an object
// of another type and, until its memory is used again, from a freed one. `kTag` differs by type.
template <typename T>
struct Handle {
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  // Volatile: a compiler may remove a store to an object whose life ends.
  ~Handle() { *const_cast<volatile uint64_t*>(&tag) = 0; }
  uint64_t tag = T::kTag;
};

// Report: makes or reuses *error, if `error` is not null. Returns the given status, or
// HEFT_OUT_OF_MEMORY if there is no memory for the text.
heft_status Report(heft_error** error, heft_status status, std::string_view message) noexcept;
// KindOf: of an error of the library's; those that it does not promise are HEFT_INTERNAL.
heft_status KindOf(const absl::Status& status);
// Text: the message of an error, valid as long as the error.
inline std::string_view Text(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

// Call runs a function's body, and lets nothing out but a status.
template <typename Body>
heft_status Call(heft_error** error, Body&& body) noexcept {
  try {
    const absl::Status status = body();
    return status.ok() ? HEFT_OK : Report(error, KindOf(status), Text(status));
  } catch (const std::bad_alloc&) {
    return Report(error, HEFT_OUT_OF_MEMORY, "out of memory");
  } catch (const std::length_error&) {  // more than any vector holds
    return Report(error, HEFT_OUT_OF_MEMORY, "out of memory: a size is too large");
  } catch (const std::exception& exception) {
    return Report(error, HEFT_INTERNAL, exception.what());
  } catch (...) {
    return Report(error, HEFT_INTERNAL, "something was thrown that is not an exception");
  }
}

absl::Status IsNull(const char* name);
absl::Status IsAnother(const char* name, const char* type);
// GivenBytes: kInvalidArgument if data is NULL and the size is not 0, or the size is impossible.
absl::Status GivenBytes(const char* name, heft_bytes bytes);

// Given: kInvalidArgument if an argument is NULL or an object of another type. The arguments are
// pairs of an argument and its name in errors: Given(path, "path", model, "model").
inline absl::Status Given() { return absl::OkStatus(); }
template <typename T, typename... Rest>
absl::Status Given(T* value, const char* name, Rest... rest) {
  if (value == nullptr) return IsNull(name);
  if constexpr (requires { std::remove_cv_t<T>::kTag; }) {
    if (value->tag != std::remove_cv_t<T>::kTag) {
      return IsAnother(name, std::remove_cv_t<T>::kType);
    }
  }
  return Given(rest...);
}
template <typename... Rest>
absl::Status Given(heft_bytes value, const char* name, Rest... rest) {
  HEFT_RETURN_IF_ERROR(GivenBytes(name, value));
  return Given(rest...);
}
// Allowed: the same of an argument that may be NULL.
template <typename T>
absl::Status Allowed(T* value, const char* name) {
  return value == nullptr ? absl::OkStatus() : Given(value, name);
}

// Free: deletes an object; an object of another type is left alone.
template <typename T>
void Free(T* object) noexcept {
  if (object != nullptr && object->tag == T::kTag) delete object;
}

inline std::span<const uint8_t> Span(heft_bytes bytes) {
  return {static_cast<const uint8_t*>(bytes.data), bytes.size};
}
// CallBack: calls a function of the caller's. A thread that ends within it (pthread_exit) stays
// here for ever: Python ends its threads so when the interpreter ends, and no C++ caller can go on.
template <typename Function, typename... Arguments>
auto CallBack(Function function, Arguments... arguments) {
#ifdef __GLIBCXX__
  try {
    return function(arguments...);
  } catch (abi::__forced_unwind&) {
    while (true) pause();
  }
#else
  return function(arguments...);
#endif
}

// AsMonitor: a C monitor as the library calls it.
Monitor AsMonitor(heft_monitor monitor, void* user);

}  // namespace heft::c

#endif  // HEFT_C_CALL_H_
