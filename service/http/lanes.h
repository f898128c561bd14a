// SPDX-License-Identifier: Apache-2.0
// Lane: threads that take tasks from a queue of bounded length. The thread that has waited least
// takes the next task, so that no more threads hold memory than there is work for. A thread that
// has waited for a second releases its memory (heft/base.h).
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
  // Post: false if the queue is full; then the task is dropped.
  bool Post(std::function<void()> task);
  // Full: whether Post would fail now.
  bool Full() const;
  size_t queued() const;
  // Stop: waits for running tasks, and drops queued ones.
  void Stop();

 private:
  void Run();
  const size_t most_queued_;
  mutable std::mutex mutex_;
  struct Idler {
    std::condition_variable woken;
    bool awake = false;
  };
  // Await: waits for a task; false once the lane is stopped.
  bool Await(std::unique_lock<std::mutex>* lock);
  std::deque<std::function<void()>> queue_;
  std::vector<Idler*> idle_;  // threads that wait, and have not been woken
  size_t waking_ = 0;         // that have been, and are on their way
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_LANES_H_
