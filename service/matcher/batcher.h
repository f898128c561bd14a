// SPDX-License-Identifier: Apache-2.0
// Batcher: probes that arrive together are matched in one pass over the gallery. One pass runs at a
// time and has all cores; what comes meanwhile is the next one's. A probe that cannot be answered
// in its time is refused when it comes; one that was taken is answered, or told at its deadline.
#ifndef HEFT_SERVICE_MATCHER_BATCHER_H_
#define HEFT_SERVICE_MATCHER_BATCHER_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/gallery.h"
#include "heft/server.h"
#include "service/matcher/engine.h"
#include "service/matcher/galleries.h"
#include "service/run/metrics.h"

namespace heft::service {

struct BatchLimits {
  uint32_t most = 64;    // probes a pass
  uint32_t queued = 64;  // that wait for one
};

// BatchProbe: a probe, and what it is matched with.
struct BatchProbe {
  std::shared_ptr<const Engine> engine;
  std::string gallery;
  ProbeRequest request;
  std::chrono::steady_clock::time_point deadline;
};

// Matched: an unsigned reply, and the state of the gallery that gave it. Let go of it soon.
struct Matched {
  std::vector<uint8_t> reply;
  std::shared_ptr<const Gallery> gallery;
};

class Batcher {
 public:
  using Clock = std::chrono::steady_clock;

  // `galleries` and `metrics` outlive it.
  Batcher(Galleries* galleries, BatchLimits limits, Metrics* metrics);
  // Ends when what was taken is answered. Nobody may call Identify any more.
  ~Batcher();
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  // Identify waits for its answer. kResourceExhausted at once, where the queue is full or the pass
  // would come too late; kDeadlineExceeded; otherwise as Server::IdentifyTogether.
  absl::StatusOr<Matched> Identify(BatchProbe probe);
  // HasRoom: whether Identify would take a probe of this deadline now; its error otherwise. Asked
  // before a signed request is remembered, which can then be asked again.
  absl::Status HasRoom(Clock::time_point deadline) const;
  // RetryAfter: seconds, rounded up, after which the queue of now should be gone.
  int RetryAfter() const;
  size_t queued() const;

 private:
  struct Waiting {
    BatchProbe probe;
    Clock::time_point came;
    bool done = false, given_up = false;
    absl::StatusOr<Matched> answer;
  };
  using Pass = std::vector<std::shared_ptr<Waiting>>;

  absl::Status HasRoomNow(Clock::time_point deadline) const;  // under the mutex
  void Run();
  // What is matched next, taken out of the queue; what is past its deadline is answered.
  Pass Gather(std::unique_lock<std::mutex>* lock);
  Pass TakeAlike();
  void Match(const Pass& pass);
  void Note(const Pass& pass, Clock::time_point began);
  std::chrono::duration<double> ExpectedWait() const;

  Galleries* const galleries_;
  const BatchLimits limits_;
  Metrics* const metrics_;
  mutable std::mutex mutex_;  // of all below
  std::condition_variable came_, answered_;
  std::deque<std::shared_ptr<Waiting>> queue_;
  bool stopping_ = false;
  std::chrono::duration<double> pass_time_{0};  // a running mean
  size_t last_size_ = 0;                        // probes of the last pass
  bool running_ = false;
  std::thread thread_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_BATCHER_H_
