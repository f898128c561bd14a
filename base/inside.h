// SPDX-License-Identifier: Apache-2.0
// Inside: access to the private part of a public object, for the library itself.
#ifndef HEFT_BASE_INSIDE_H_
#define HEFT_BASE_INSIDE_H_

#include <memory>
#include <utility>

namespace heft {

struct Inside {
  template <typename T>
  static const auto& Of(const T& object) {
    return *object.impl_;
  }
  // Make: the public object around a private part.
  template <typename T>
  static T Make(std::unique_ptr<typename T::Impl> impl) {
    return T(std::move(impl));
  }
};

}  // namespace heft

#endif  // HEFT_BASE_INSIDE_H_
