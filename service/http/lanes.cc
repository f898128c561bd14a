// SPDX-License-Identifier: Apache-2.0
#include "service/http/lanes.h"

#include <utility>

namespace heft::service {

Lane::Lane(size_t threads, size_t most_queued) : most_queued_(most_queued) {
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

bool Lane::Post(std::function<void()> task) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    // Threads that wait take a task each at once: those do not stand in the queue.
    if (stopped_ || queue_.size() >= most_queued_ + idle_) return false;
    queue_.push_back(std::move(task));
  }
  changed_.notify_one();
  return true;
}

bool Lane::Full() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stopped_ || queue_.size() >= most_queued_ + idle_;
}

size_t Lane::queued() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return queue_.size();
}

void Lane::Stop() {
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
    dropped.swap(queue_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Lane::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
    --idle_;
    if (stopped_) return;
    const std::function<void()> task = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace heft::service
