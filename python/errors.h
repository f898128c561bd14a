// SPDX-License-Identifier: Apache-2.0
// Calls into the library. They release the interpreter's lock, turn statuses into exceptions by
// kind (heft/errors.py), and let Ctrl-C stop work that has a monitor.
#ifndef HEFT_PYTHON_ERRORS_H_
#define HEFT_PYTHON_ERRORS_H_

#include <pybind11/pybind11.h>

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/base.h"

namespace heft::python {

namespace py = pybind11;

// FindErrors: looks up heft.errors, once, when the module is loaded.
void FindErrors();
// Throw: throws the exception for an error, or the exception that ended the call.
[[noreturn]] void Throw(const absl::Status& status);
// ThrowSpent: heft.BudgetSpent.
[[noreturn]] void ThrowSpent(const absl::Status& status);
// Translate: exceptions of C++ that are no status, as heft.Error: text or values that cannot be
// taken, and files that the system refuses. For pybind11.
void Translate(std::exception_ptr exception);
// ErrorOf: the exception object of a status, for those that are answers.
py::object ErrorOf(const absl::Status& status);
// InPython: a sentence of the library's with Python's arguments in the place of options.
std::string InPython(const std::string& text);
// Keep: the exception that has ended this thread's call, until the call is back.
void Keep(py::error_already_set* error);
// ThrowKept: throws the exception of a signal or a callback, if there was one.
void ThrowKept();
// Wrong: throws heft.InvalidArgument with a text, for checks of the bindings.
[[noreturn]] void Wrong(const std::string& message);

inline void Take(const absl::Status& status) {
  if (!status.ok()) Throw(status);
  ThrowKept();
}
template <typename T>
T Take(absl::StatusOr<T> value) {
  if (!value.ok()) Throw(value.status());
  ThrowKept();
  return *std::move(value);
}

// Call: f() without the interpreter's lock; its status becomes an exception.
template <typename F>
auto Call(F&& f) {
  auto result = [&] {
    const py::gil_scoped_release release;
    return f();
  }();
  return Take(std::move(result));
}

// Watch: a monitor that lets Python handle signals and reports to `progress`: None; a callable that
// takes (what, done, total, note) and returns False to stop; or True, for a bar (tqdm, if it is
// installed). Lives as long as the call.
class Watch {
 public:
  explicit Watch(py::object progress);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  Monitor monitor();

 private:
  bool GoesOn(const ProgressEvent& event);

  py::object progress_, bar_;
  double next_ = 0;  // seconds, of a steady clock: when signals are looked at again
};

// WatchLocks: waits for other processes end with Ctrl-C, too.
void WatchLocks();

}  // namespace heft::python

#endif  // HEFT_PYTHON_ERRORS_H_
