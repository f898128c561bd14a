// SPDX-License-Identifier: Apache-2.0
// GivenParts: what this decider has opened lately for others: partial openings, and admissions. An
// owner opens a reply once; if its part is lost on the way, the same fellow gets the same bytes for
// the same question and set of owners, and for no other. The proofs of an admission can be opened
// again, but the key's noise is for a number of them. So the number of different answers about a
// file is limited. In memory: after a restart the question must be asked anew.
#ifndef HEFT_SERVICE_DECIDER_GIVEN_PARTS_H_
#define HEFT_SERVICE_DECIDER_GIVEN_PARTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/trust.h"
#include "service/turns.h"

namespace heft::service {

inline constexpr uint64_t kGivenLife = 600;       // seconds
inline constexpr uint64_t kMaxGiven = 64u << 20;  // bytes of all but the newest; the oldest go
inline constexpr uint64_t kMostGiven = 4;         // answers about a file within kGivenLife

class GivenParts {
 public:
  using Bytes = std::vector<uint8_t>;
  // Once: the answer to `question` about `file` (which names the caller too), or what `give` makes,
  // which is kept if it succeeds. Concurrent calls about one file wait for the first. `now`: Unix
  // seconds. kResourceExhausted beyond kMostGiven answers about the file.
  absl::StatusOr<Bytes> Once(const Digest& file, const Digest& question, uint64_t now,
                             const std::function<absl::StatusOr<Bytes>()>& give);
  uint64_t bytes() const;

 private:
  using Key = std::pair<Digest, Digest>;  // file and question
  struct Part {
    uint64_t time = 0, number = 0, given = 0;
    Bytes bytes;  // none: forgotten because of their size
  };
  void Forget(uint64_t now);
  uint64_t GivenOf(const Digest& file) const;

  Turns turns_;
  mutable std::mutex mutex_;  // of the following
  std::map<Key, Part> parts_;
  std::map<uint64_t, Key> order_;  // by number
  uint64_t next_ = 0, bytes_ = 0;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_DECIDER_GIVEN_PARTS_H_
