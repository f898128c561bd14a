// SPDX-License-Identifier: Apache-2.0
#include "store/writer_queue.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "base/files.h"
#include "base/testing.h"
#include "store/folder.h"

namespace heft {
namespace {

class WriterQueueTest : public ::testing::Test {
 protected:
  std::string Path() const { return folder_ / "lock"; }
  const testing::TemporaryFolder folder_;
};

TEST_F(WriterQueueTest, WhoCameFirstIsNext) {
  std::optional<WriterQueue> first = *WriterQueue::Join(Path());
  std::optional<WriterQueue> second = *WriterQueue::Join(Path());
  const WriterQueue third = *WriterQueue::Join(Path());
  EXPECT_TRUE(*first->IsNext());
  EXPECT_FALSE(*second->IsNext());
  EXPECT_FALSE(*third.IsNext());
  second.reset();  // does not want to wait any longer
  EXPECT_FALSE(*third.IsNext());
  const WriterQueue fourth = *WriterQueue::Join(Path());
  first.reset();
  EXPECT_TRUE(*third.IsNext());
  EXPECT_FALSE(*fourth.IsNext());
  EXPECT_EQ(ReadFile(Path())->size(), 0u);
}

TEST_F(WriterQueueTest, WhoIsKilledIsNotWaitedFor) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto queue = WriterQueue::Join(Path());
    const char byte = queue.ok() && *queue->IsNext() ? 'y' : 'n';
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  const WriterQueue queue = *WriterQueue::Join(Path());
  EXPECT_FALSE(*queue.IsNext());
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(*queue.IsNext());
}

// Waiting threads get the store in the order of their arrival; one that has just had it comes last.
TEST_F(WriterQueueTest, StoresAreLockedInTurn) {
  constexpr int kWaiting = 6;
  std::optional<FileLock> held = *LockStore(folder_.path(), absl::Seconds(60));
  std::vector<int> order;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int i = 0; i < kWaiting; ++i) {
    const uint64_t end = WriterQueue::Join(Path())->ticket();
    threads.emplace_back([&, i] {
      const auto lock = LockStore(folder_.path(), absl::Seconds(60), absl::InfiniteDuration());
      ASSERT_TRUE(lock.ok()) << lock.status();
      const std::lock_guard<std::mutex> guard(mutex);
      order.push_back(i);
    });
    // Until it queues.
    while (WriterQueue::Join(Path())->ticket() <= end) {
      absl::SleepFor(absl::Milliseconds(1));
    }
  }
  std::thread again([&] {
    held.reset();
    const auto lock = LockStore(folder_.path(), absl::Seconds(60), absl::InfiniteDuration());
    const std::lock_guard<std::mutex> guard(mutex);
    order.push_back(kWaiting);
  });
  again.join();
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i <= kWaiting; ++i) EXPECT_EQ(order[i], i);
}

}  // namespace
}  // namespace heft
