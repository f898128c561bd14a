// SPDX-License-Identifier: Apache-2.0
// StoredAnswers: the answers to requests with an Idempotency-Key. If an answer was lost, a
// repetition gets the same answer and nothing happens twice. Only in memory, so a restart forgets
// them; started_requests.h remembers in files the requests that must not be repeated then. Any
// thread.
#ifndef HEFT_SERVICE_MATCHER_STORED_ANSWERS_H_
#define HEFT_SERVICE_MATCHER_STORED_ANSWERS_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "service/http/message.h"

namespace heft::service {

// IdempotencyKeyOf: the header; empty if missing. kInvalidArgument above 255 bytes.
absl::StatusOr<std::string> IdempotencyKeyOf(const HttpRequest& request);

class StoredAnswers {
 public:
  static constexpr size_t kMax = 4096;           // answers; then the oldest go
  static constexpr size_t kMaxBytes = 64 << 20;  // of all answers' bodies; likewise
  static constexpr size_t kLongest = 1 << 20;    // bytes of one; a longer one is not kept
  static constexpr std::chrono::hours kLife{24};

  // Once: the stored answer to this principal and key, or the result of `ask`. Errors are not
  // stored: a repetition calls `ask` again. Concurrent calls wait for the first, up to their
  // deadlines. kAlreadyExists if another request used the key.
  using Asking = std::function<absl::StatusOr<HttpResponse>()>;
  absl::StatusOr<HttpResponse> Once(const HttpRequest& request, const Asking& ask);

 private:
  struct Entry {
    Hash what{};  // was asked
    bool answered = false;
    HttpResponse answer;
    std::chrono::steady_clock::time_point since;
  };
  void Forget();  // drops old and surplus answers; under the mutex
  void Keep(const std::string& name, const HttpResponse& answer);

  std::mutex mutex_;
  std::condition_variable ended_;
  std::map<std::string, Entry> entries_;  // by principal and key
  std::deque<std::string> order_;         // of those that are answered, oldest first
  size_t bytes_ = 0;                      // of their bodies
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_STORED_ANSWERS_H_
