// SPDX-License-Identifier: Apache-2.0
// Tasks: work that is answered with 202 and an id, and goes on behind. Whoever began one may look
// at it, be called when it ends, and cancel it; nobody else, but operators, learns that it exists.
#ifndef HEFT_SERVICE_MATCHER_TASKS_H_
#define HEFT_SERVICE_MATCHER_TASKS_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/progress.h"
#include "service/access/principal.h"
#include "service/json.h"

namespace heft::service {

struct TaskLimits {
  uint32_t workers = 2;
  uint32_t queued = 64;
  uint32_t kept = 1024;  // that have ended; the oldest go
};

class Tasks {
 public:
  // Work: its result, or why there is none; kCancelled where the monitor said so. It may look at
  // the monitor as often as it likes.
  using Work = std::function<absl::StatusOr<Json>(const Monitor&)>;
  // Ended: told of each task that has, with what Describe says; for callbacks. Does not wait.
  using Ended = std::function<void(const Json& task)>;

  explicit Tasks(TaskLimits limits);
  // Cancels what can be cancelled, and waits for the rest.
  ~Tasks();
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;

  // Start: the task's id, 32 random hexadecimal digits. kResourceExhausted where too many wait,
  // kUnavailable while the service stops.
  absl::StatusOr<std::string> Start(std::string operation, const Principal& who, Work work,
                                    Ended ended = {});
  // Describe: {"taskId", "operation", "status": "queued" | "running" | "done" | "failed" |
  // "cancelled", "progress"?, "result"?, "error"?}. kNotFound, also for somebody else's.
  absl::StatusOr<Json> Describe(const std::string& id, const Principal& who) const;
  // Cancel: asks it to end; what it has done by then stays done where its operation says so.
  absl::Status Cancel(const std::string& id, const Principal& who);
  // Stop: no new ones; cancels those that wait or run.
  void Stop();

 private:
  enum class State { kQueued, kRunning, kDone, kFailed, kCancelled };
  struct Task {
    std::string id, operation, owner;
    Work work;
    Ended ended;
    State state = State::kQueued;
    std::atomic<bool> cancelled{false};
    std::string doing;
    uint64_t done = 0, total = 0;
    uint64_t began = 0, finished = 0;  // Unix seconds
    Json result;
    absl::Status error;
  };

  void Run();
  void Finish(const std::shared_ptr<Task>& task, absl::StatusOr<Json> result);
  std::shared_ptr<Task> Find(const std::string& id, const Principal& who) const;
  static Json Says(const Task& task);

  const TaskLimits limits_;
  mutable std::mutex mutex_;  // of all below, and of the tasks
  std::condition_variable came_;
  std::map<std::string, std::shared_ptr<Task>> tasks_;
  std::deque<std::shared_ptr<Task>> queue_;
  std::deque<std::string> ended_;  // ids, oldest first
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_TASKS_H_
