// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/tasks.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/csprng.h"
#include "heft/trust.h"
#include "service/http/message.h"
#include "service/json.h"
#include "service/run/log.h"

namespace heft::service {
namespace {

std::string NewTaskId() {
  std::array<uint8_t, 16> id;
  Csprng().Fill(id);
  return HexString(id);
}

}  // namespace

Tasks::Tasks(TaskLimits limits) : limits_(limits) {
  for (uint32_t i = 0; i < limits_.workers; ++i) threads_.emplace_back([this] { Run(); });
}

Tasks::~Tasks() {
  Stop();
  for (std::thread& thread : threads_) thread.join();
}

void Tasks::Stop() {
  std::deque<std::shared_ptr<Task>> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(queue_);
    for (const auto& [id, task] : tasks_) task->cancelled = true;
  }
  came_.notify_all();
  for (const auto& task : dropped) Finish(task, absl::CancelledError("the service stops"));
}

absl::StatusOr<std::string> Tasks::Start(std::string operation, const Principal& who, Work work,
                                         Ended ended) {
  auto task = std::make_shared<Task>();
  task->id = NewTaskId();
  task->operation = std::move(operation);
  task->owner = who.name;
  task->work = std::move(work);
  task->ended = std::move(ended);
  task->began = UnixTime();
  const std::lock_guard lock(mutex_);
  if (stopping_) return absl::UnavailableError("the service is stopping: try again later");
  if (queue_.size() >= limits_.queued) {
    return absl::ResourceExhaustedError("too many tasks are waiting: try again later");
  }
  tasks_.emplace(task->id, task);
  queue_.push_back(task);
  came_.notify_one();
  return task->id;
}

std::shared_ptr<Tasks::Task> Tasks::Find(const std::string& id, const Principal& who) const {
  const auto found = tasks_.find(id);
  if (found == tasks_.end()) return nullptr;
  const bool may = found->second->owner == who.name || who.Has(Scope::kManageGallery);
  return may ? found->second : nullptr;
}

Json Tasks::Says(const Task& task) {
  static constexpr const char* kStates[] = {"queued", "running", "done", "failed", "cancelled"};
  Json json = {{"taskId", task.id},
               {"operation", task.operation},
               {"status", kStates[static_cast<size_t>(task.state)]},
               {"began", TimeJson(task.began)}};
  if (task.finished != 0) json["finished"] = TimeJson(task.finished);
  if (task.state == State::kRunning && task.total > 0) {
    json["progress"] = {{"doing", task.doing}, {"done", task.done}, {"total", task.total}};
  }
  if (task.state == State::kDone) json["result"] = task.result;
  if (task.state == State::kFailed || task.state == State::kCancelled) {
    // Internal errors are only for the log, as in other answers.
    const bool inside = IsInside(task.error);
    json["error"] = {{"code", absl::StatusCodeToString(task.error.code())},
                     {"message", inside ? "internal error; the log has it under this task's id"
                                        : std::string(task.error.message())}};
  }
  return json;
}

absl::StatusOr<Json> Tasks::Describe(const std::string& id, const Principal& who) const {
  const std::lock_guard lock(mutex_);
  const auto task = Find(id, who);
  if (task == nullptr) return absl::NotFoundError("there is no such task");
  return Says(*task);
}

absl::Status Tasks::Cancel(const std::string& id, const Principal& who) {
  std::shared_ptr<Task> task;
  bool waited = false;
  {
    const std::lock_guard lock(mutex_);
    task = Find(id, who);
    if (task == nullptr) return absl::NotFoundError("there is no such task");
    task->cancelled = true;
    waited = std::erase(queue_, task) > 0;
  }
  if (waited) Finish(task, absl::CancelledError("cancelled before it began"));
  return absl::OkStatus();
}

void Tasks::Finish(const std::shared_ptr<Task>& task, absl::StatusOr<Json> result) {
  if (!result.ok() && IsInside(result.status())) {
    LogLine(LogLevel::kError, "a task failed",
            {{"task", task->id}, {"why", std::string(result.status().message())}});
  }
  Json says;
  {
    const std::lock_guard lock(mutex_);
    task->finished = UnixTime();
    task->state = result.ok()                          ? State::kDone
                  : absl::IsCancelled(result.status()) ? State::kCancelled
                                                       : State::kFailed;
    task->error = result.status();
    if (result.ok()) task->result = *std::move(result);
    task->work = nullptr;
    says = Says(*task);
    ended_.push_back(task->id);
    while (ended_.size() > limits_.kept) {
      tasks_.erase(ended_.front());
      ended_.pop_front();
    }
  }
  if (task->ended) task->ended(says);
}

void Tasks::Run() {
  while (true) {
    std::shared_ptr<Task> task;
    {
      std::unique_lock lock(mutex_);
      came_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      task = std::move(queue_.front());
      queue_.pop_front();
      task->state = State::kRunning;
    }
    const Monitor monitor = [&](const ProgressEvent& event) {
      if (event.total > 0) {
        const std::lock_guard lock(mutex_);
        task->doing = event.what;
        task->done = event.done;
        task->total = event.total;
      }
      return !task->cancelled.load();
    };
    auto result = task->work(monitor);
    Finish(task, std::move(result));
  }
}

}  // namespace heft::service
