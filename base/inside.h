// SPDX-License-Identifier: Apache-2.0
// Inside: the rooms' way to the private half of a public object.
#ifndef HEFT_BASE_INSIDE_H_
#define HEFT_BASE_INSIDE_H_

namespace heft {

struct Inside {
  template <typename T>
  static const auto& Of(const T& object) {
    return *object.impl_;
  }
};

}  // namespace heft

#endif  // HEFT_BASE_INSIDE_H_
