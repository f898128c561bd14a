// SPDX-License-Identifier: Apache-2.0
// Lane: threads that take tasks from a queue of bounded length.
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
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  size_t idle_ = 0;  // threads that wait
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_LANES_H_
