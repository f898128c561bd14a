// SPDX-License-Identifier: Apache-2.0
// Refusals: which requests that were refused get a line of the audit log each. Whoever has a
// certificate of the authority, though no rule names it, can be refused as often as he likes, and
// must not fill the disk with it: beyond a few a minute they are counted, and the counts written.
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
  // Whether one of `whose` (a certificate's fingerprint, or an address) gets a line; else it is
  // counted.
  bool HasLine(const std::string& whose, Clock::time_point now = Clock::now());
  // Flush: what was counted, once a minute at most, or `all` of it now, as an event to `append`,
  // whose error it returns: then the counts stay.
  using Append = std::function<absl::Status(Json)>;
  absl::Status Flush(bool all, const Append& append, Clock::time_point now = Clock::now());

 private:
  static constexpr size_t kMostNamed = 32;  // in one event
  RateLimits limits_{{.a_second = 0.2, .burst = 60}};
  std::mutex mutex_;
  uint64_t count_ = 0;
  std::map<std::string, uint64_t> counts_;
  Clock::time_point since_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_RUN_REFUSALS_H_
