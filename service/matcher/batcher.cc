// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/batcher.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace heft::service {
namespace {

using std::chrono::duration;

// The share of the last pass' time for which the next pass waits for more probes, if the last one
// had several: clients that were answered together ask again together.
constexpr double kGatherShare = 0.15;
constexpr duration<double> kLongestGather{0.2};
constexpr double kNewest = 0.3;  // weight of the newest pass in the mean

constexpr char kTooLate[] = "the deadline passed before the gallery was searched";

double Seconds(Batcher::Clock::duration time) { return duration<double>(time).count(); }

}  // namespace

Batcher::Batcher(Galleries* galleries, BatchLimits limits, Metrics* metrics)
    : galleries_(galleries), limits_(limits), metrics_(metrics) {
  metrics_->Histogram("heft_batch_probes", "Probes that one pass over a gallery matched",
                      {1, 2, 4, 8, 16, 32, 64});
  metrics_->Histogram("heft_batch_seconds", "Seconds of a pass over a gallery",
                      {0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30});
  metrics_->Histogram("heft_batch_wait_seconds", "Seconds that a probe waited for its pass",
                      {0.001, 0.01, 0.1, 0.3, 1, 3, 10, 30});
  metrics_->Counter("heft_batch_refused_total", "Probes that were refused because of load");
  metrics_->Gauge("heft_batch_queued", "Probes that wait for a pass");
  metrics_->BeforeReading(
      [this] { metrics_->Set("heft_batch_queued", {}, static_cast<double>(queued())); });
  thread_ = std::thread([this] { Run(); });
}

Batcher::~Batcher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  came_.notify_all();
  thread_.join();
}

size_t Batcher::queued() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

duration<double> Batcher::ExpectedWait() const {
  // In an idle service no pass is ahead of a probe, however long the last one took.
  const double passes = std::ceil(static_cast<double>(queue_.size()) / limits_.most);
  return pass_time_ * (passes + (running_ ? 1 : 0));
}

int Batcher::RetryAfter() const {
  const std::lock_guard lock(mutex_);
  return std::max(1, static_cast<int>(std::ceil(ExpectedWait().count())));
}

absl::Status Batcher::HasRoomNow(Clock::time_point deadline) const {
  const auto expected = std::chrono::duration_cast<Clock::duration>(ExpectedWait());
  if (Clock::now() + expected >= deadline) {
    return absl::ResourceExhaustedError(
        "the queue is too long to answer before the deadline: try again later");
  }
  if (stopping_ || queue_.size() >= limits_.queued) {
    return absl::ResourceExhaustedError("too many probes are waiting: try again later");
  }
  return absl::OkStatus();
}

absl::Status Batcher::HasRoom(Clock::time_point deadline) const {
  const std::lock_guard lock(mutex_);
  absl::Status room = HasRoomNow(deadline);
  if (!room.ok()) metrics_->Add("heft_batch_refused_total", {});
  return room;
}

absl::StatusOr<Matched> Batcher::Identify(BatchProbe probe) {
  const auto waiting = std::make_shared<Queued>();
  waiting->probe = std::move(probe);
  waiting->came = Clock::now();
  const Clock::time_point deadline = waiting->probe.deadline;
  std::unique_lock lock(mutex_);
  if (const absl::Status room = HasRoomNow(deadline); !room.ok()) {
    metrics_->Add("heft_batch_refused_total", {});
    return room;
  }
  queue_.push_back(waiting);
  came_.notify_one();
  answered_.wait_until(lock, deadline, [&] { return waiting->done; });
  if (waiting->done) return std::move(waiting->answer);
  waiting->given_up = true;
  return absl::DeadlineExceededError(kTooLate);
}

Batcher::Pass Batcher::TakeAlike() {
  Pass pass;
  std::deque<std::shared_ptr<Queued>> rest;
  const Clock::time_point now = Clock::now();
  for (std::shared_ptr<Queued>& waiting : queue_) {
    if (waiting->given_up) continue;
    if (waiting->probe.deadline <= now) {
      waiting->answer = absl::DeadlineExceededError(kTooLate);
      waiting->done = true;
    } else if (pass.empty() ||
               (pass.size() < limits_.most && waiting->probe.gallery == pass[0]->probe.gallery &&
                waiting->probe.engine == pass[0]->probe.engine)) {
      pass.push_back(std::move(waiting));
    } else {
      rest.push_back(std::move(waiting));
    }
  }
  queue_ = std::move(rest);
  return pass;
}

Batcher::Pass Batcher::Gather(std::unique_lock<std::mutex>* lock) {
  came_.wait(*lock, [&] { return stopping_ || !queue_.empty(); });
  if (last_size_ > 1 && !stopping_) {
    const auto patience = std::min(pass_time_ * kGatherShare, kLongestGather);
    came_.wait_for(*lock, patience, [&] { return stopping_ || queue_.size() >= limits_.most; });
  }
  return TakeAlike();
}

void Batcher::Match(const Pass& pass) {
  std::vector<absl::StatusOr<std::vector<uint8_t>>> replies;
  std::shared_ptr<const Gallery> gallery;
  auto newest = galleries_->Newest(pass[0]->probe.gallery);
  if (newest.ok()) {
    gallery = std::make_shared<const Gallery>(*std::move(newest));
    std::vector<ProbeRequest> probes;
    for (const auto& waiting : pass) probes.push_back(std::move(waiting->probe.request));
    replies = pass[0]->probe.engine->server.IdentifyTogether(*gallery, std::move(probes));
  }
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < pass.size(); ++i) {
    if (!newest.ok()) {
      pass[i]->answer = newest.status();
    } else if (!replies[i].ok()) {
      pass[i]->answer = replies[i].status();
    } else {
      pass[i]->answer = Matched{*std::move(replies[i]), gallery};
    }
    pass[i]->done = true;
  }
}

void Batcher::Note(const Pass& pass, Clock::time_point began) {
  const double time = Seconds(Clock::now() - began);
  metrics_->Observe("heft_batch_probes", {}, static_cast<double>(pass.size()));
  metrics_->Observe("heft_batch_seconds", {}, time);
  for (const auto& waiting : pass) {
    metrics_->Observe("heft_batch_wait_seconds", {}, Seconds(began - waiting->came));
  }
  const std::lock_guard lock(mutex_);
  running_ = false;
  last_size_ = pass.size();
  pass_time_ = pass_time_.count() == 0
                   ? duration<double>(time)
                   : pass_time_ * (1 - kNewest) + duration<double>(time) * kNewest;
}

void Batcher::Run() {
  while (true) {
    std::unique_lock lock(mutex_);
    const Pass pass = Gather(&lock);
    if (pass.empty()) {
      answered_.notify_all();  // of those whose deadline has passed
      if (stopping_) return;
      continue;
    }
    running_ = true;
    lock.unlock();
    const Clock::time_point began = Clock::now();
    Match(pass);
    answered_.notify_all();
    Note(pass, began);
  }
}

}  // namespace heft::service
