// SPDX-License-Identifier: Apache-2.0
// Lane: threads that take tasks from a queue of bounded length. Who waited least takes the next
// one, so that no more threads than there is work have memory at hand; who has waited for a second
// gives back what he has (heft/thread_memory.h).
#ifndef HEFT_SERVICE_HTTP_LANES_H_
#define HEFT_SERVICE_HTTP_LANES_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace heft::service {

class Lane {
 public:
  Lane(size_t threads, size_t most_queued);
  ~Lane() { Stop(); }
  // False where the queue is full; nothing happens then.
  bool Post(std::function<void()> task);
  // Full: whether Post would fail now.
  bool Full() const;
  size_t queued() const;
  // Ends what runs, drops what waits.
  void Stop();

 private:
  void Run();
  const size_t most_queued_;
  mutable std::mutex mutex_;
  struct Idler {
    std::condition_variable woken;
    bool awake = false;
  };
  // Waits for a task; false where there is none any more.
  bool Await(std::unique_lock<std::mutex>* lock);
  std::deque<std::function<void()>> queue_;
  std::vector<Idler*> idle_;  // threads that wait, and have not been woken
  size_t waking_ = 0;         // that have been, and are on their way
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_LANES_H_
