// SPDX-License-Identifier: Apache-2.0
// Batcher: probes that arrive together are matched in one pass over the gallery. One pass runs at a
// time and has all cores; probes that arrive meanwhile go to the next. A probe that cannot be
// answered in time is refused at once; an accepted probe gets its answer, or an error at its
// deadline.
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

// BatchProbe: a probe, with its engine and gallery.
struct BatchProbe {
  std::shared_ptr<const Engine> engine;
  std::string gallery;
  ProbeRequest request;
  std::chrono::steady_clock::time_point deadline;
};

// Matched: an unsigned reply, and the state of the gallery that gave it. Release it soon.
struct Matched {
  std::vector<uint8_t> reply;
  std::shared_ptr<const Gallery> gallery;
};

class Batcher {
 public:
  using Clock = std::chrono::steady_clock;

  // `galleries` and `metrics` outlive it.
  Batcher(Galleries* galleries, BatchLimits limits, Metrics* metrics);
  // Waits until accepted probes are answered. No call of Identify may follow.
  ~Batcher();
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  // Identify waits for its answer. kResourceExhausted at once if the queue is full or the pass
  // would come too late; kDeadlineExceeded; otherwise as Server::IdentifyTogether.
  absl::StatusOr<Matched> Identify(BatchProbe probe);
  // HasRoom: whether Identify would accept a probe with this deadline now; its error otherwise.
  // Called before a signed request is recorded as taken, so that a refused request can be sent
  // again.
  absl::Status HasRoom(Clock::time_point deadline) const;
  // RetryAfter: seconds, rounded up, until the current queue should be done.
  int RetryAfter() const;
  size_t queued() const;

 private:
  struct Queued {
    BatchProbe probe;
    Clock::time_point came;
    bool done = false, given_up = false;
    absl::StatusOr<Matched> answer;
  };
  using Pass = std::vector<std::shared_ptr<Queued>>;

  absl::Status HasRoomNow(Clock::time_point deadline) const;  // under the mutex
  void Run();
  // Gather, TakeAlike: take the next pass out of the queue, and answer probes past their deadline.
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
  std::deque<std::shared_ptr<Queued>> queue_;
  bool stopping_ = false;
  std::chrono::duration<double> pass_time_{0};  // a running mean
  size_t last_size_ = 0;                        // probes of the last pass
  bool running_ = false;
  std::thread thread_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_BATCHER_H_
