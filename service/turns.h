// SPDX-License-Identifier: Apache-2.0
// Turns: of concurrent calls for one key, one works at a time. Any thread.
#ifndef HEFT_SERVICE_TURNS_H_
#define HEFT_SERVICE_TURNS_H_

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace heft::service {

class Turns {
 public:
  // Turn: ends when destroyed, also after an exception, because no other call could work then.
  class Turn {
   public:
    Turn(Turns* turns, std::string key) : turns_(turns), key_(std::move(key)) {}
    ~Turn() {
      const std::lock_guard<std::mutex> lock(turns_->mutex_);
      turns_->working_.erase(key_);
      turns_->ended_.notify_all();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Turns* const turns_;
    const std::string key_;
  };

  // Take: waits until no other call has this key's turn. None at the deadline.
  std::unique_ptr<Turn> Take(const std::string& key,
                             std::chrono::steady_clock::time_point deadline =
                                 std::chrono::steady_clock::time_point::max()) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!ended_.wait_until(lock, deadline, [&] { return !working_.contains(key); })) return nullptr;
    working_.insert(key);
    return std::make_unique<Turn>(this, key);
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::set<std::string> working_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_TURNS_H_
