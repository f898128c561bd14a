// SPDX-License-Identifier: Apache-2.0
// Result: the result of the module's last call, for its caller to read: bytes, text, or an error.
#ifndef HEFT_BROWSER_RESULT_H_
#define HEFT_BROWSER_RESULT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace heft::browser {

// Succeed keeps the result of the call, and returns 1.
int Succeed(std::vector<uint8_t> bytes);
int Succeed(const std::string& text);
// Fail keeps the kind of the error and its text, as JSON, and returns 0.
int Fail(const absl::Status& status);
// Finish: one of these.
template <typename T>
int Finish(absl::StatusOr<T> result) {
  return result.ok() ? Succeed(*std::move(result)) : Fail(result.status());
}

}  // namespace heft::browser

#endif  // HEFT_BROWSER_RESULT_H_
