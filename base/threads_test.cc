// SPDX-License-Identifier: Apache-2.0
#include "base/threads.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include "base/sanitizers.h"

namespace heft {
namespace {

class ThreadsTest : public ::testing::Test {
 protected:
  void TearDown() override { SetThreadCount(0); }
};

TEST_F(ThreadsTest, EveryIndexOnceWhateverTheCount) {
  for (int threads : {1, 2, 7}) {
    SetThreadCount(threads);
    for (size_t count : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> hits(count);
      ParallelFor(count, [&](size_t i) {
        ParallelFor(2, [&](size_t) { hits[i].fetch_add(1); });  // nested runs inline
      });
      for (auto& h : hits) EXPECT_EQ(h.load(), 2);
    }
  }
}

// GiveWay affects the calling thread and the threads that work for it, and no others.
TEST_F(ThreadsTest, GivingWayIsOfTheCallerAndHisHelpers) {
  const int before = getpriority(PRIO_PROCESS, 0);
  std::atomic<int> own{before}, kept{0};
  SetThreadCount(4);
  std::thread([&] {
    if (!GiveWay().ok()) return;
    own = getpriority(PRIO_PROCESS, 0);
    ParallelFor(64, [&](size_t) {
      if (getpriority(PRIO_PROCESS, 0) != own) ++kept;
    });
  }).join();
  EXPECT_EQ(own, std::max(before, 10));
  EXPECT_EQ(kept, 0);
  ParallelFor(64, [&](size_t) {
    if (getpriority(PRIO_PROCESS, 0) != before) ++kept;
  });
  EXPECT_EQ(kept, 0);
}

// A thread with a higher niceness keeps it, even if root calls, and gets no error.
TEST_F(ThreadsTest, GivingWayTakesNoPriority) {
  int own = 0;
  bool given = false;
  std::thread([&] {
    const int nicer = std::max(getpriority(PRIO_PROCESS, 0), 15);
    if (setpriority(PRIO_PROCESS, gettid(), nicer) != 0) return;
    given = GiveWay().ok();
    own = getpriority(PRIO_PROCESS, 0) - nicer;
  }).join();
  EXPECT_TRUE(given);
  EXPECT_EQ(own, 0);
}

// A job of a thread with lowered priority may take long: others do not wait for it.
TEST_F(ThreadsTest, NobodyWaitsForThoseWhoGiveWay) {
  SetThreadCount(2);
  std::atomic<bool> begun{false}, others_are_done{false};
  std::thread slow([&] {
    begun = !GiveWay().ok();
    if (begun) return;
    ParallelFor(2, [&](size_t) {
      begun = true;
      while (!others_are_done) std::this_thread::yield();
    });
  });
  while (!begun) std::this_thread::yield();
  std::atomic<int> done{0};
  ParallelFor(8, [&](size_t) { ++done; });
  others_are_done = true;
  slow.join();
  EXPECT_EQ(done, 8);
}

// A child has none of its parent's threads.
TEST_F(ThreadsTest, AForkedProcessMakesItsOwn) {
  SetThreadCount(4);
  std::atomic<int> done{0};
  ParallelFor(64, [&](size_t) { ++done; });
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::atomic<int> here{0};
    for (int i = 0; i < 3; ++i) ParallelFor(64, [&](size_t) { ++here; });
    _exit(here == 3 * 64 ? 0 : 1);
  }
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  ParallelFor(64, [&](size_t) { ++done; });
  EXPECT_EQ(done, 128);
}

TEST_F(ThreadsTest, RunningOutOfMemoryReachesTheCaller) {
  for (const int threads : {1, 8}) {
    SetThreadCount(threads);
    std::atomic<size_t> calls{0};
    const auto task = [&](size_t i) {
      ++calls;
      if (i % 10 == 7) throw std::bad_alloc();
    };
    EXPECT_THROW(ParallelFor(1000000, task), std::bad_alloc);
    EXPECT_LT(calls, 1000000u) << "the rest of the job was not dropped";
    // The next job is not affected.
    std::vector<int> done(1000, 0);
    ParallelFor(done.size(), [&](size_t i) { done[i] = 1; });
    EXPECT_EQ(done, std::vector<int>(1000, 1));
  }
}

// With memory for a few thread stacks only, those threads do all the work.
[[noreturn]] void WorkInLittleMemory() {
  SetThreadCount(200);
  const rlimit little = {256 << 20, 256 << 20};
  if (setrlimit(RLIMIT_AS, &little) != 0) std::_Exit(1);
  std::vector<int> done(10000, 0);
  ParallelFor(done.size(), [&](size_t i) { done[i] = 1; });
  std::_Exit(done == std::vector<int>(10000, 1) ? 0 : 2);
}

TEST_F(ThreadsTest, FewerThreadsDoWhereThereAreNoMore) {
  if (kMemoryReserved) GTEST_SKIP() << "sanitizers reserve address space without end";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(WorkInLittleMemory(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace heft
