// SPDX-License-Identifier: Apache-2.0
// Taker: calls a C callback for the library, and keeps the callback's result.
#ifndef HEFT_C_TAKER_H_
#define HEFT_C_TAKER_H_

#include <cstddef>
#include <string>

#include "c/call.h"
#include "heft/c/matcher.h"
#include "heft/desk.h"
#include "heft/results.h"

namespace heft::c {

struct Taker {
  heft_take_reply take;
  void* user;
  heft_status refused = HEFT_OK;

  absl::Status operator()(size_t number, heft_bytes bytes) {
    refused = CallBack(take, user, number, bytes);
    return refused == HEFT_OK ? absl::OkStatus() : absl::CancelledError(kRefused);
  }
  absl::Status operator()(const SignedReply& reply) {
    return (*this)(reply.number, {reply.bytes.data(), reply.bytes.size()});
  }
  absl::Status operator()(size_t row, const Decision& decision) {
    const std::string text = ToJson(decision, Times::kSeconds).dump();
    return (*this)(row, heft_bytes{text.data(), text.size()});
  }
  // The status of the call: the callback's, if that has ended it.
  heft_status Outcome(heft_status status, heft_error** error) const {
    if (refused == HEFT_OK || status == HEFT_OUT_OF_MEMORY) return status;
    return Report(error, refused, kRefused);
  }

  static constexpr char kRefused[] = "the callback has refused a reply or a decision";
};

}  // namespace heft::c

#endif  // HEFT_C_TAKER_H_
