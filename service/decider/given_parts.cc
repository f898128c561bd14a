// SPDX-License-Identifier: Apache-2.0
#include "service/decider/given_parts.h"

#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"

namespace heft::service {

void GivenParts::Forget(uint64_t now) {
  for (auto it = order_.begin(); it != order_.end();) {
    const auto part = parts_.find(it->second);
    const bool over = part->second.time + kGivenLife <= now;
    const bool newest = std::next(it) == order_.end();
    if (over || (bytes_ > kMaxGiven && !newest)) {
      bytes_ -= part->second.bytes.size();
      part->second.bytes = {};
    }
    if (over) parts_.erase(part);
    it = over ? order_.erase(it) : std::next(it);
  }
}

uint64_t GivenParts::GivenOf(const Digest& file) const {
  uint64_t count = 0;
  for (auto it = parts_.lower_bound({file, {}}); it != parts_.end() && it->first.first == file;
       ++it) {
    count += it->second.given;
  }
  return count;
}

absl::StatusOr<GivenParts::Bytes> GivenParts::Once(
    const Digest& file, const Digest& question, uint64_t now,
    const std::function<absl::StatusOr<Bytes>()>& give) {
  const Key key = {file, question};
  // One file at a time, so that the number of its answers is known.
  const auto turn = turns_.Take(std::string(file.begin(), file.end()));
  std::unique_lock<std::mutex> lock(mutex_);
  Forget(now);
  const auto it = parts_.find(key);
  if (it != parts_.end() && !it->second.bytes.empty()) return it->second.bytes;
  if (GivenOf(file) >= kMostGiven) {
    return absl::ResourceExhaustedError(absl::StrCat(
        kMostGiven, " different answers about this file were given to the same caller in the last ",
        kGivenLife / 60, " minutes: repeat one of those questions, or ask again later"));
  }
  lock.unlock();
  auto made = give();
  if (!made.ok()) return made;
  lock.lock();
  Part& part = parts_[key];
  if (part.given > 0) order_.erase(part.number);
  bytes_ += made->size();
  part = {now, next_++, part.given + 1, *made};
  order_[part.number] = key;
  Forget(now);
  return made;
}

uint64_t GivenParts::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

}  // namespace heft::service
