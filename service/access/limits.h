// SPDX-License-Identifier: Apache-2.0
// RateLimits: one token bucket for each name (a principal or an identity). Any thread.
#ifndef HEFT_SERVICE_ACCESS_LIMITS_H_
#define HEFT_SERVICE_ACCESS_LIMITS_H_

#include <chrono>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace heft::service {

struct Rate {
  double a_second = 0;  // 0: no limit
  double burst = 1;
};

class RateLimits {
 public:
  using Clock = std::chrono::steady_clock;
  // `most`: how many names are remembered; beyond that, the name with the oldest request is
  // forgotten.
  explicit RateLimits(Rate rate, size_t most = 1 << 16) : rate_(rate), most_(most) {}
  // Take: 0, or the seconds (rounded up, at least 1) until the next request is allowed.
  int Take(const std::string& name, Clock::time_point now = Clock::now());

 private:
  struct Bucket {
    std::string name;
    double left;
    Clock::time_point when;
  };
  const Rate rate_;
  const size_t most_;
  std::mutex mutex_;
  std::list<Bucket> buckets_;  // the latest request is at the end
  std::unordered_map<std::string_view, std::list<Bucket>::iterator> found_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_ACCESS_LIMITS_H_
