// SPDX-License-Identifier: Apache-2.0
// Processes that write to one store are killed at any time: every acknowledged commit is there.
// HEFT_STORE_KILLS=N: the number of kills, 40 by default.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/files.h"
#include "base/testing.h"
#include "store/folder.h"
#include "store/store.h"

namespace heft {
namespace {

constexpr absl::Duration kLongest = absl::Seconds(120);

std::string Name(int writer, int i) { return absl::StrCat("writer ", writer, " key ", i); }
// Value: for a change's number; some are long.
std::string Value(int writer, int change) {
  return std::string(change % 5 == 0 ? 3000 + change % 7 * 9000 : 60, 'a' + change % 20) +
         absl::StrCat(" ", writer, " ", change);
}

// Life: changes two entries at a time, reports each commit, and sometimes scrubs, until killed.
void Life(const std::string& folder, int writer, int from, int acknowledged) {
  for (int change = from;; ++change) {
    const auto store = OpenStore(folder, StoreMode::kWrite);
    if (!store.ok()) _exit(2);
    const auto lock = (*store)->Lock(kLongest);
    if (!lock.ok()) _exit(3);
    {
      const auto w = (*store)->Write(**lock);
      if (!w.ok()) _exit(4);
      const std::string value = Value(writer, change);
      for (int i = 0; i < 2; ++i) {
        const Table table = i == 0 ? Table::kBlocks : Table::kNames;
        if (!(*w)->Put(table, AsBytes(Name(writer, change % 9)), AsBytes(value)).ok()) _exit(5);
      }
      if (!(*w)->Commit().ok()) _exit(6);
    }
    if (write(acknowledged, &change, sizeof(change)) != sizeof(change)) _exit(7);
    if (change % 8 != 0) continue;
    const absl::Status scrubbed = (*store)->Scrub(**lock, absl::ZeroDuration());
    if (!scrubbed.ok() && !absl::IsUnavailable(scrubbed)) _exit(8);
  }
}

class StoreKillTest : public ::testing::Test {
 protected:
  struct Writer {
    pid_t process;
    int pipe;
  };
  Writer Start(int writer, int from) const {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) Life(folder_ / "store", writer, from, ends[1]);
    close(ends[1]);
    return {child, ends[0]};
  }

  // End: kills it. Returns the last change that it reported, or `before`.
  static int End(const Writer& writer, int before) {
    kill(writer.process, SIGKILL);
    int status = 0;
    EXPECT_EQ(waitpid(writer.process, &status, 0), writer.process);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it ended by itself, with " << WEXITSTATUS(status);
    for (int change; read(writer.pipe, &change, sizeof(change)) == sizeof(change);) before = change;
    close(writer.pipe);
    return before;
  }

  // Check: each entry of a writer is the newest that it reported, or, for one of them, the next;
  // equal in both tables.
  void Check(const StoreReader& reader, int writer, int last) const {
    for (int i = 0; i < 9; ++i) {
      int newest = last - (last - i + 9 * 1000) % 9;
      const int next = last + 1;
      const auto one = reader.Get(Table::kBlocks, AsBytes(Name(writer, i)));
      const auto two = reader.Get(Table::kNames, AsBytes(Name(writer, i)));
      ASSERT_TRUE(one.ok() && two.ok());
      const auto text = [](const auto& v) {
        return v->has_value() ? std::string((*v)->begin(), (*v)->end()) : std::string();
      };
      EXPECT_EQ(text(one), text(two));
      const std::string was = newest < 1 ? "" : Value(writer, newest);
      const bool is_next = next % 9 == i && text(one) == Value(writer, next);
      EXPECT_TRUE(text(one) == was || is_next) << writer << " lost change " << newest;
    }
  }

  const testing::TemporaryFolder folder_;
};

TEST_F(StoreKillTest, NothingAcknowledgedIsLost) {
  const char* const given = std::getenv("HEFT_STORE_KILLS");
  const int kills = given == nullptr ? 40 : std::atoi(given);
  ASSERT_TRUE(OpenStore(folder_ / "store", StoreMode::kCreate).ok());
  uint32_t random = 1;
  std::map<int, int> last;
  for (int done = 0; done < kills;) {
    const int writers = 1 + done % 3;
    std::map<int, Writer> running;
    for (int w = 0; w < writers; ++w) running[w] = Start(w, last[w] + 1);
    random = random * 1664525u + 1013904223u;
    absl::SleepFor(absl::Microseconds((random >> 8) % 120'000));
    for (const auto& [w, process] : running) {
      last[w] = End(process, last[w]);
      ++done;
    }
    // A change that was not reported may be there: it counts as done.
    const auto store = OpenStore(folder_ / "store", StoreMode::kWrite);
    ASSERT_TRUE(store.ok()) << store.status();
    const absl::Status whole = (*store)->Check();
    ASSERT_TRUE(whole.ok()) << whole;
    const auto reader = *(*store)->Read();
    for (const auto& [w, process] : running) {
      Check(*reader, w, last[w]);
      const auto next = reader->Get(Table::kBlocks, AsBytes(Name(w, (last[w] + 1) % 9)));
      const std::string value = Value(w, last[w] + 1);
      if (next->has_value() && std::string((*next)->begin(), (*next)->end()) == value) ++last[w];
    }
  }
  int changes = 0;
  for (const auto& [w, change] : last) changes += change;
  EXPECT_GT(changes, kills / 4) << "or there was nothing to lose";
  RecordProperty("changes", changes);
}

// A damaged store is rebuilt by processes that are killed: the next one finds all that the first
// one would have found.
TEST_F(StoreKillTest, RebuildThatIsKilledIsRepeated) {
  constexpr size_t kPageOfFile = 4096;
  const std::string folder = folder_ / "store";
  {
    const auto store = *OpenStore(folder, StoreMode::kCreate);
    const auto lock = *store->Lock(kLongest);
    {
      const auto writer = *store->Write(*lock);
      for (int i = 0; i < 3000; ++i) {
        const std::string value = Value(0, i % 5 == 0 ? i + 1 : i);
        ASSERT_TRUE(writer->Put(Table::kNames, AsBytes(Name(0, i)), AsBytes(value)).ok());
      }
      ASSERT_TRUE(writer->Commit().ok());
    }
    ASSERT_TRUE(store->Scrub(*lock, kLongest).ok());
  }
  std::vector<uint8_t> bad = *ReadFile(StorePath(folder));
  size_t page = bad.size() / kPageOfFile / 2;
  while (bad[page * kPageOfFile] != 10) ++page;
  std::fill_n(bad.begin() + page * kPageOfFile, kPageOfFile, 0xA5);
  const auto rebuild = [&] {
    const auto store = OpenStore(folder, StoreMode::kWrite);
    if (!store.ok()) return store.status();
    const auto lock = *(*store)->Lock(kLongest);
    return (*store)->Rebuild(*lock, kLongest).status();
  };
  const auto names = [&] {
    const auto store = *OpenStore(folder, StoreMode::kRead);
    std::map<std::string, std::string> all;
    EXPECT_TRUE(store->Check().ok()) << store->Check();
    const absl::Status read =
        (*store->Read())->Scan(Table::kNames, {}, [&](ByteSpan key, ByteSpan value) {
          all[std::string(key.begin(), key.end())] = std::string(value.begin(), value.end());
          return true;
        });
    EXPECT_TRUE(read.ok()) << read;
    return all;
  };
  const auto damage = [&] {
    ASSERT_TRUE(WriteFileAtomic(StorePath(folder), bad, 0600).ok());
    for (const char* log : {"-wal", "-shm"}) std::filesystem::remove(StorePath(folder) + log);
  };
  damage();
  const absl::Time begun = absl::Now();
  ASSERT_TRUE(rebuild().ok());
  const absl::Duration takes = absl::Now() - begun;
  const auto expected = names();
  ASSERT_GT(expected.size(), 2000u);
  ASSERT_LT(expected.size(), 3000u);
  constexpr int kKills = 12;
  for (int i = 0; i < kKills; ++i) {
    damage();
    const pid_t child = fork();
    if (child == 0) _exit(rebuild().ok() ? 0 : 1);
    absl::SleepFor(takes * (i + 0.5) / kKills);
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    const absl::Status again = rebuild();
    ASSERT_TRUE(again.ok()) << again;
    EXPECT_TRUE(names() == expected) << "after kill " << i;
  }
}

}  // namespace
}  // namespace heft
