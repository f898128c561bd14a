// SPDX-License-Identifier: Apache-2.0
// A commit is cut short by a kill after each of its system calls.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/testing.h"
#include "store/recorded_disk.h"
#include "store/store.h"

namespace heft {
namespace {

// A writer is killed after any of its calls, while others have the store open. The next holder of
// the lock reads the data that it is about to change.
TEST(StoreKillCallsTest, AWriterIsKilledAfterEveryCall) {
  // A long value, which has a place in the file of blocks.
  const auto long_value = [](std::string_view value) {
    std::string text(value);
    return text.append(5000, '.');
  };
  const auto put = [&](Store& store, std::string_view value) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(const auto lock, store.Lock(absl::Seconds(60)));
    HEFT_ASSIGN_OR_RETURN(const auto writer, store.Write(*lock));
    HEFT_RETURN_IF_ERROR(writer->Put(Table::kBlocks, AsBytes("a"), AsBytes(long_value(value))));
    g_disk.calls = 0;
    return writer->Commit();
  };
  const testing::TemporaryFolder folder;
  const auto store = *OpenStore(folder / "store", StoreMode::kCreate);
  g_disk = DiskOf(folder / "store");
  size_t committed = 0;
  bool killed = true;
  for (int call = 0; killed; ++call) {
    ASSERT_TRUE(put(*store, "before").ok());
    const pid_t child = fork();
    if (child == 0) {
      const auto own = OpenStore(folder / "store", StoreMode::kWrite);
      g_disk.kill_at = call;
      _exit(own.ok() && put(**own, "after").ok() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    killed = WIFSIGNALED(status);
    ASSERT_TRUE(killed || (status == 0 && call > 1)) << call;
    const auto lock = store->Lock(absl::Seconds(60));
    ASSERT_TRUE(lock.ok()) << lock.status();
    const auto reader = store->Read();
    const auto writer = store->Write(**lock);
    ASSERT_TRUE(reader.ok() && writer.ok());
    const auto read = (*reader)->Get(Table::kBlocks, AsBytes("a"));
    const auto written = (*writer)->Get(Table::kBlocks, AsBytes("a"));
    ASSERT_TRUE(read.ok() && written.ok());
    EXPECT_TRUE(std::ranges::equal(**read, **written)) << call;
    committed += std::ranges::equal(**written, AsBytes(long_value("after")));
  }
  EXPECT_GE(committed, 1u) << "where no call was left";
  g_disk = {};
}

}  // namespace
}  // namespace heft
