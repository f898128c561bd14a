// SPDX-License-Identifier: Apache-2.0
#include "base/threads.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/csprng.h"

namespace heft {
namespace {

std::atomic<int> g_threads{0};
thread_local bool t_inside_task = false;
thread_local bool t_gives_way = false;

// Pool: workers sleep until a job is posted. The poster works too and waits for the rest.
class Pool {
 public:
  // Threads with lowered priority (GiveWay) have a pool of their own, with workers of lowered
  // priority, so other threads never wait for their jobs. A forked process creates new pools,
  // because it has no threads. Pools are never destroyed: workers may outlive static destructors.
  static Pool& Get() {
    struct Pools {
      uint64_t process = 0;
      Pool pool, giving_way;
    };
    static std::atomic<Pools*> made{nullptr};
    const uint64_t process = ForkGeneration();
    Pools* pools = made.load();
    if (pools == nullptr || pools->process != process) {
      auto fresh = std::make_unique<Pools>();
      fresh->process = process;
      if (made.compare_exchange_strong(pools, fresh.get())) pools = fresh.release();
    }
    return t_gives_way ? pools->giving_way : pools->pool;
  }

  void Run(size_t count, const std::function<void(size_t)>& fn, int threads) {
    std::lock_guard<std::mutex> one_job(job_mutex_);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      AddWorkers(threads - 1);
      fn_ = &fn;
      count_ = count;
      next_.store(0);
      helpers_wanted_ = std::min(threads - 1, workers_);
      helpers_running_ = helpers_wanted_;
      ++generation_;
    }
    wake_.notify_all();
    Drain();
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [this] { return helpers_running_ == 0; });
    fn_ = nullptr;
    if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

 private:
  // AddWorkers: up to `wanted` in total; fewer if the system creates no more threads.
  void AddWorkers(int wanted) {
    try {
      for (; workers_ < wanted; ++workers_) {
        std::thread([this, index = workers_] { Work(index); }).detach();
      }
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
  }

  // Drain: works on the rest of the job. The first exception of a task ends the job.
  void Drain() {
    t_inside_task = true;
    try {
      for (size_t i; (i = next_.fetch_add(1)) < count_;) (*fn_)(i);
    } catch (...) {
      next_.store(count_);
      std::lock_guard<std::mutex> lock(mutex_);
      if (thrown_ == nullptr) thrown_ = std::current_exception();
    }
    t_inside_task = false;
  }

  void Work(int index) {
    uint64_t seen = 0;
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return generation_ != seen; });
      seen = generation_;
      if (index >= helpers_wanted_) continue;
      lock.unlock();
      Drain();
      lock.lock();
      if (--helpers_running_ == 0) done_.notify_all();
    }
  }

  std::mutex job_mutex_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  int workers_ = 0;
  std::exception_ptr thrown_;  // by a task of this job
  const std::function<void(size_t)>* fn_ = nullptr;
  size_t count_ = 0;
  std::atomic<size_t> next_{0};
  int helpers_wanted_ = 0;
  int helpers_running_ = 0;
  uint64_t generation_ = 0;
};

}  // namespace

void SetThreadCount(int threads) { g_threads.store(std::clamp(threads, 0, 1024)); }

int ThreadCount() {
  const int wanted = g_threads.load();
  return wanted > 0 ? wanted : std::max(1u, std::thread::hardware_concurrency());
}

absl::Status GiveWay() {
  constexpr int kNice = 10;
  const auto thread = static_cast<id_t>(syscall(SYS_gettid));  // on Linux each thread has its own
  // A thread with a higher niceness keeps it: root would lower it, and others would get an error.
  if (getpriority(PRIO_PROCESS, thread) >= kNice || setpriority(PRIO_PROCESS, thread, kNice) == 0) {
    t_gives_way = true;  // new threads inherit the niceness, so this pool's workers have it too
    return absl::OkStatus();
  }
  return absl::UnavailableError(
      absl::StrCat("cannot lower the priority of a thread: ", std::strerror(errno)));
}

void ParallelFor(size_t count, const std::function<void(size_t)>& fn) {
  const int threads = static_cast<int>(std::min<size_t>(ThreadCount(), count));
  if (threads <= 1 || t_inside_task) {
    for (size_t i = 0; i < count; ++i) fn(i);
    return;
  }
  Pool::Get().Run(count, fn, threads);
}

absl::Status TryParallelFor(size_t count, const std::function<absl::Status(size_t)>& fn) {
  std::vector<absl::Status> statuses(count);
  ParallelFor(count, [&](size_t i) { statuses[i] = fn(i); });
  for (const absl::Status& status : statuses) HEFT_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

}  // namespace heft
