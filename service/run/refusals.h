// SPDX-License-Identifier: Apache-2.0
// Refusals: which refused requests get their own line in the audit log. A client with a certificate
// of the authority that no rule names is refused each time, and must not fill the disk. So beyond a
// few a minute, refusals are only counted, and the counts are recorded.
#ifndef HEFT_SERVICE_RUN_REFUSALS_H_
#define HEFT_SERVICE_RUN_REFUSALS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "service/access/limits.h"
#include "service/json.h"

namespace heft::service {

class Refusals {
 public:
  using Clock = RateLimits::Clock;
  // HasLine: whether this refusal of `whose` (a certificate's fingerprint, or an address) gets a
  // line; otherwise it is counted.
  bool HasLine(const std::string& whose, Clock::time_point now = Clock::now());
  // Flush: passes the counts as an event to `append`, at most once a minute, or now with `all`.
  // Returns the error of `append`: then the counts stay.
  using Append = std::function<absl::Status(Json)>;
  absl::Status Flush(bool all, const Append& append, Clock::time_point now = Clock::now());

 private:
  static constexpr size_t kMaxNamed = 32;  // in one event
  RateLimits limits_{{.a_second = 0.2, .burst = 60}};
  std::mutex mutex_;
  uint64_t count_ = 0;
  std::map<std::string, uint64_t> counts_;
  Clock::time_point since_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_RUN_REFUSALS_H_
