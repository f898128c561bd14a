// SPDX-License-Identifier: Apache-2.0
// Calls on a key owner: reading calls may run together, a changing call runs alone.
#ifndef HEFT_PYTHON_OWNER_H_
#define HEFT_PYTHON_OWNER_H_

#include <memory>
#include <mutex>
#include <utility>

#include "python/values.h"

namespace heft::python {

using OwnerClass = py::class_<OwnerHandle>;

// Read: f(owner) beside other readers. A spent budget has its own kind of exception.
template <typename F>
auto Read(const OwnerHandle& self, F&& f) {
  const auto state = self.Get();
  auto result = [&] {
    const py::gil_scoped_release release;
    const Reading reading(state);
    return f(static_cast<const KeyOwner&>(state->owner));
  }();
  if (absl::IsResourceExhausted(result.status())) ThrowSpent(result.status());
  return Take(std::move(result));
}

// Write: f(owner) alone.
template <typename F>
void Write(const OwnerHandle& self, F&& f) {
  const auto state = self.Get();
  Call([&]() -> absl::Status {
    if (Reading::Here(*state)) {
      return absl::FailedPreconditionError(
          "a callback of a key owner's call cannot change that owner: do it when the call is back");
    }
    const std::unique_lock lock(state->mutex);
    return f(state->owner);
  });
}

// Parts of the class, each in its own file.
void DefineAnswers(OwnerClass& c);
void DefineBudget(OwnerClass& c);
void DefineCanaries(py::module_& m, OwnerClass& c);
void DefineOwnersSamples(OwnerClass& c);
void DefineSharedKeys(py::module_& m, OwnerClass& c);
void DefineSeal(py::module_& m, OwnerClass& c);

}  // namespace heft::python

#endif  // HEFT_PYTHON_OWNER_H_
