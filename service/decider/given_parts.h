// SPDX-License-Identifier: Apache-2.0
// GivenParts: the partial openings that this decider has given lately. An owner opens a reply once;
// if its part is lost on the way, the same fellow gets the same bytes for the same question and set
// of owners, and for no other. In memory: after a restart the question must be asked anew.
#ifndef HEFT_SERVICE_DECIDER_GIVEN_PARTS_H_
#define HEFT_SERVICE_DECIDER_GIVEN_PARTS_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/trust.h"

namespace heft::service {

inline constexpr uint64_t kGivenLife = 600;       // seconds
inline constexpr uint64_t kMaxGiven = 64u << 20;  // bytes of all of them; then the oldest go

class GivenParts {
 public:
  using Bytes = std::vector<uint8_t>;
  // Once: the part that was given under `key`, or what `give` makes, which is kept if it succeeds.
  // Concurrent calls for one key wait for the first. `now`: Unix seconds.
  absl::StatusOr<Bytes> Once(const Digest& key, uint64_t now,
                             const std::function<absl::StatusOr<Bytes>()>& give);
  uint64_t bytes() const;

 private:
  struct Part {
    uint64_t time = 0, number = 0;
    Bytes bytes;
  };
  void Forget(uint64_t now);

  mutable std::mutex mutex_;
  std::condition_variable done_;
  std::set<Digest> giving_;
  std::map<Digest, Part> parts_;
  std::map<uint64_t, Digest> order_;  // by number
  uint64_t next_ = 0, bytes_ = 0;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_DECIDER_GIVEN_PARTS_H_
