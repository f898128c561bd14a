// SPDX-License-Identifier: Apache-2.0
#include "service/access/limits.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace heft::service {

int RateLimits::Take(const std::string& name, Clock::time_point now) {
  if (rate_.a_second <= 0) return 0;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = found_.find(name);
  if (found == found_.end()) {
    if (buckets_.size() >= most_) {
      found_.erase(buckets_.front().name);
      buckets_.pop_front();
    }
    buckets_.push_back({name, rate_.burst, now});
    found_[buckets_.back().name] = std::prev(buckets_.end());
  } else {
    buckets_.splice(buckets_.end(), buckets_, found->second);
  }
  Bucket& bucket = buckets_.back();
  const double passed = std::max(0.0, std::chrono::duration<double>(now - bucket.when).count());
  bucket.left = std::min(rate_.burst, bucket.left + passed * rate_.a_second);
  bucket.when = now;
  if (bucket.left >= 1) {
    bucket.left -= 1;
    return 0;
  }
  return std::max(1, static_cast<int>(std::ceil((1 - bucket.left) / rate_.a_second)));
}

}  // namespace heft::service
