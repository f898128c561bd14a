// SPDX-License-Identifier: Apache-2.0
// Tasks: work that is answered with 202 and an id, and continues in the background. Only the caller
// that began it and operators can see it. That caller can be called back at its end, and can cancel
// it.
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
#include "heft/base.h"
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
  // Work: returns the result or an error; kCancelled if the monitor said so. It may call the
  // monitor as often as it likes.
  using Work = std::function<absl::StatusOr<Json>(const Monitor&)>;
  // Ended: called at the end of each task, with the output of Describe; for callbacks. Must not
  // block.
  using Ended = std::function<void(const Json& task)>;

  explicit Tasks(TaskLimits limits);
  // Cancels what can be cancelled, and waits for the rest.
  ~Tasks();
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;

  // Start: the task's id, 32 random hexadecimal digits. kResourceExhausted if too many wait,
  // kUnavailable while the service stops.
  absl::StatusOr<std::string> Start(std::string operation, const Principal& who, Work work,
                                    Ended ended = {});
  // Describe: {"taskId", "operation", "status": "queued" | "running" | "done" | "failed" |
  // "cancelled", "progress"?, "result"?, "error"?}. kNotFound, also for another caller's task.
  absl::StatusOr<Json> Describe(const std::string& id, const Principal& who) const;
  // Cancel: asks the task to end. Whether its work so far remains depends on the operation.
  absl::Status Cancel(const std::string& id, const Principal& who);
  // Stop: accepts no new tasks, and cancels queued and running ones.
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
