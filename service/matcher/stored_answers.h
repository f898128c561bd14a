// SPDX-License-Identifier: Apache-2.0
// StoredAnswers: the answers to requests with an Idempotency-Key. If an answer was lost, a
// repetition gets the same answer and nothing happens twice. They survive a restart, but for
// answers that name a task, because tasks do not. Any thread.
#ifndef HEFT_SERVICE_MATCHER_STORED_ANSWERS_H_
#define HEFT_SERVICE_MATCHER_STORED_ANSWERS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "service/http/message.h"
#include "service/turns.h"
#include "store/once.h"

namespace heft::service {

// IdempotencyKeyOf: the header; empty if missing. kInvalidArgument above 255 bytes.
absl::StatusOr<std::string> IdempotencyKeyOf(const HttpRequest& request);

class StoredAnswers {
 public:
  static constexpr size_t kMax = 4096;           // answers; then the oldest go
  static constexpr size_t kMaxBytes = 64 << 20;  // of all answers; likewise
  static constexpr size_t kLongest = 1 << 20;    // bytes of one; a longer one is not kept
  static constexpr uint64_t kLife = 86400;       // seconds

  // `state`: a folder of this user, made if missing, whose table it uses (store/once.h).
  explicit StoredAnswers(const std::string& state);
  // Once: the stored answer to this principal and key, or the result of `ask`. Errors are not
  // stored: a repetition calls `ask` again. Concurrent calls wait for the first, up to their
  // deadlines. kAlreadyExists if another request used the key.
  using Asking = std::function<absl::StatusOr<HttpResponse>()>;
  absl::StatusOr<HttpResponse> Once(const HttpRequest& request, const Asking& ask);

 private:
  const std::shared_ptr<OnceTable> table_;
  OnceTable of_tasks_{""};
  Turns turns_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_STORED_ANSWERS_H_
