// SPDX-License-Identifier: Apache-2.0
#include "service/decider/given_parts.h"

#include <utility>

#include "absl/cleanup/cleanup.h"

namespace heft::service {

void GivenParts::Forget(uint64_t now) {
  while (!order_.empty()) {
    const auto oldest = order_.begin();
    const auto part = parts_.find(oldest->second);
    if (bytes_ <= kMaxGiven && part->second.time + kGivenLife > now) return;
    bytes_ -= part->second.bytes.size();
    parts_.erase(part);
    order_.erase(oldest);
  }
}

absl::StatusOr<GivenParts::Bytes> GivenParts::Once(
    const Digest& key, uint64_t now, const std::function<absl::StatusOr<Bytes>()>& give) {
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait(lock, [&] { return !giving_.contains(key); });
  Forget(now);
  if (const auto it = parts_.find(key); it != parts_.end()) return it->second.bytes;
  giving_.insert(key);
  lock.unlock();
  absl::Cleanup release = [&] {  // also after an exception, as nobody else could ask then
    lock.lock();
    giving_.erase(key);
    done_.notify_all();
  };
  auto made = give();
  std::move(release).Invoke();
  if (!made.ok()) return made;
  bytes_ += made->size();
  order_[next_] = key;
  parts_[key] = {now, next_++, *made};
  Forget(now);
  return made;
}

uint64_t GivenParts::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

}  // namespace heft::service
