// SPDX-License-Identifier: Apache-2.0
#include "service/http/lanes.h"

#include <chrono>
#include <utility>

#include "heft/base.h"

namespace heft::service {
namespace {

constexpr std::chrono::seconds kPatience{1};

}  // namespace

Lane::Lane(size_t threads, size_t most_queued) : most_queued_(most_queued) {
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

bool Lane::Post(std::function<void()> task) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    // Each waiting thread takes a task at once, so tasks for these do not count as queued.
    if (stopped_ || queue_.size() >= most_queued_ + idle_.size() + waking_) return false;
    queue_.push_back(std::move(task));
    if (!idle_.empty()) {
      Idler* const next = idle_.back();
      idle_.pop_back();
      next->awake = true;
      ++waking_;
      next->woken.notify_one();  // under the mutex: afterwards it may be gone
    }
  }
  return true;
}

bool Lane::Full() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stopped_ || queue_.size() >= most_queued_ + idle_.size() + waking_;
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
    for (Idler* const idler : std::exchange(idle_, {})) {
      idler->awake = true;
      ++waking_;
      idler->woken.notify_one();
    }
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool Lane::Await(std::unique_lock<std::mutex>* lock) {
  while (!stopped_ && queue_.empty()) {
    Idler mine;
    idle_.push_back(&mine);
    const auto awake = [&] { return mine.awake; };
    if (!mine.woken.wait_for(*lock, kPatience, awake)) {
      // Without the mutex; a wake-up in the meantime is seen in `awake`.
      lock->unlock();
      ReleaseThreadMemory();
      lock->lock();
      mine.woken.wait(*lock, awake);
    }
    --waking_;
  }
  return !stopped_;
}

void Lane::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (Await(&lock)) {
    const std::function<void()> task = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace heft::service
