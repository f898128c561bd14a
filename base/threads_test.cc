// SPDX-License-Identifier: Apache-2.0
#include "base/threads.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

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

// Its niceness and nobody else's; not that of threads that work for it.
TEST_F(ThreadsTest, GivingWayIsTheCallersAlone) {
  const int before = getpriority(PRIO_PROCESS, 0);
  std::atomic<int> elsewhere{before};
  int own = before;
  SetThreadCount(4);
  std::thread([&] {
    if (!GiveWay().ok()) return;
    own = getpriority(PRIO_PROCESS, 0);
    const auto self = std::this_thread::get_id();
    ParallelFor(64, [&](size_t) {
      if (std::this_thread::get_id() != self) elsewhere = getpriority(PRIO_PROCESS, 0);
    });
  }).join();
  EXPECT_EQ(own, std::max(before, 10));
  EXPECT_EQ(elsewhere, before);
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), before);
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
    // The next job knows nothing of it.
    std::vector<int> done(1000, 0);
    ParallelFor(done.size(), [&](size_t i) { done[i] = 1; });
    EXPECT_EQ(done, std::vector<int>(1000, 1));
  }
}

// With room for a few stacks of threads only, those do all of the work.
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
