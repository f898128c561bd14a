// SPDX-License-Identifier: Apache-2.0
#include "service/run/refusals.h"

namespace heft::service {

bool Refusals::HasLine(const std::string& whose, Clock::time_point now) {
  if (limits_.Take(whose, now) == 0) return true;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (count_++ == 0) since_ = now;
  const bool room = counts_.contains(whose) || counts_.size() < kMaxNamed;
  ++counts_[room ? whose : "others"];
  return false;
}

absl::Status Refusals::Flush(bool all, const Append& append, Clock::time_point now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (count_ == 0 || (!all && now < since_ + std::chrono::minutes(1))) return absl::OkStatus();
  const absl::Status kept = append({{"event", "refusals"}, {"count", count_}, {"whose", counts_}});
  if (!kept.ok()) return kept;
  count_ = 0;
  counts_.clear();
  return kept;
}

}  // namespace heft::service
