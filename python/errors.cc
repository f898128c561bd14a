// SPDX-License-Identifier: Apache-2.0
#include "python/errors.h"

#include <chrono>
#include <filesystem>
#include <utility>

#include "heft/files.h"

namespace heft::python {
namespace {

py::object* errors = nullptr;  // heft.errors, for the life of the process

// Kept: the exception that ended this thread's call, until the call is back.
struct Kept {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
};
thread_local Kept kept;

// KeepCurrent takes the interpreter's current exception; the first one stays.
void KeepCurrent() {
  if (kept.type != nullptr) {
    PyErr_Clear();
    return;
  }
  PyErr_Fetch(&kept.type, &kept.value, &kept.trace);
}

bool Interrupted() {
  const py::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() == 0) return false;
  KeepCurrent();
  return true;
}

void SetError(const absl::Status& status) {
  const py::object error = ErrorOf(status);
  PyErr_SetObject(py::type::of(error).ptr(), error.ptr());
}

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds between checks for signals, because each check takes the interpreter's lock.
constexpr double kBetweenLooks = 0.05;

}  // namespace

void FindErrors() { errors = new py::object(py::module_::import("heft.errors")); }

void Keep(py::error_already_set* error) {
  error->restore();
  KeepCurrent();
}

void ThrowKept() {
  if (kept.type == nullptr) return;
  PyErr_Restore(kept.type, kept.value, kept.trace);
  kept = {};
  throw py::error_already_set();
}

py::object ErrorOf(const absl::Status& status) {
  const std::string code = absl::StatusCodeToString(status.code());
  return errors->attr("error_of")(code, py::str(std::string(status.message())));
}

std::string InPython(const std::string& text) {
  return errors->attr("in_python")(text).cast<std::string>();
}

void Throw(const absl::Status& status) {
  ThrowKept();
  SetError(status);
  throw py::error_already_set();
}

void Translate(std::exception_ptr exception) {
  try {
    std::rethrow_exception(std::move(exception));
  } catch (const py::cast_error&) {
    SetError(absl::InvalidArgumentError("a value has the wrong type, or a text has no UTF-8 form"));
  } catch (const std::filesystem::filesystem_error& error) {
    SetError(absl::UnavailableError(error.what()));
  }
}

void ThrowSpent(const absl::Status& status) {
  ThrowKept();
  PyErr_SetString(errors->attr("BudgetSpent").ptr(),
                  InPython(std::string(status.message())).c_str());
  throw py::error_already_set();
}

void Wrong(const std::string& message) { Throw(absl::InvalidArgumentError(message)); }

Watch::Watch(py::object progress) : progress_(std::move(progress)) {
  if (progress_.is_none() || progress_.is(py::bool_(false))) {
    progress_ = py::none();
    return;
  }
  if (progress_.is(py::bool_(true))) {
    bar_ = py::module_::import("heft._progress").attr("bar")();
    progress_ = bar_;
    return;
  }
  if (PyCallable_Check(progress_.ptr()) == 0) {
    Wrong("progress: give a function of (what, done, total, note), or True for a bar");
  }
}

Watch::~Watch() {
  if (!bar_) return;
  try {
    bar_.attr("close")();
  } catch (py::error_already_set& e) {
    e.discard_as_unraisable("heft: closing the progress bar");
  }
}

Monitor Watch::monitor() {
  return [this](const ProgressEvent& event) { return GoesOn(event); };
}

bool Watch::GoesOn(const ProgressEvent& event) {
  const bool tells = event.total > 0 && !progress_.is_none();
  const double now = Now();
  if (!tells && now < next_) return true;
  next_ = now + kBetweenLooks;
  const py::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) {
    KeepCurrent();
    return false;
  }
  if (!tells) return true;
  try {
    const py::object answer =
        progress_(std::string(event.what), event.done, event.total, std::string(event.note));
    return !answer.is(py::bool_(false));
  } catch (py::error_already_set& e) {
    Keep(&e);
    return false;
  }
}

void WatchLocks() { SetInterruptedCheck(&Interrupted); }

}  // namespace heft::python
