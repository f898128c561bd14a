// SPDX-License-Identifier: Apache-2.0
// An entry exists until it expires: for all threads and processes, after a crash, and in a full
// table.
#include "store/once.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/files.h"
#include "base/testing.h"

namespace heft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Entry = OnceTable::Entry;
using Scope = OnceTable::Scope;

constexpr uint64_t kNow = 2'000'000'000, kEnd = kNow + 3600;
constexpr Scope kScope = {.name = "requests", .most_entries = 100};
constexpr Scope kDurable = {.name = "requests", .most_entries = 1 << 20, .durable = true};

Entry Of(const std::string& key, uint64_t expires = kEnd) {
  return {.key = key, .expires = expires};
}

// Which of the keys exists; -1: none, and now they do.
int TakeFrom(OnceTable* table, const std::vector<std::string>& keys, uint64_t now = kNow,
             const Scope& scope = kScope, uint64_t expires = kEnd) {
  std::vector<Entry> entries;
  for (const std::string& key : keys) entries.push_back(Of(key, expires));
  const auto known = table->Take(scope, entries, now);
  EXPECT_TRUE(known.ok()) << known.status();
  if (!known.ok()) return -2;
  return *known ? static_cast<int>(**known) : -1;
}

// In a file, and in memory.
class OnceTest : public ::testing::TestWithParam<bool> {
 protected:
  int Take(const std::vector<std::string>& keys, uint64_t now = kNow, uint64_t expires = kEnd) {
    return TakeFrom(&table_, keys, now, kScope, expires);
  }
  uint64_t Count() { return *table_.Count(kScope); }

  const testing::TemporaryFolder folder_;
  const std::string path_ = GetParam() ? folder_ / kOnceFile : "";
  OnceTable table_{path_};
};

TEST_P(OnceTest, EachKeyIsTakenOnce) {
  EXPECT_EQ(Take({"a1"}), -1);
  EXPECT_EQ(Take({"a1"}), 0);
  EXPECT_EQ(Take({"b1", "a1"}), 1);
  EXPECT_EQ(table_.Take(kScope, std::vector<Entry>(101, Of("d")), kNow).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Take({"b1", "c1", "c1"}), -1) << "a refused one has added nothing; twice is once";
  EXPECT_EQ(Count(), 3u);
  const Scope other = {.name = "others", .most_entries = 1};
  EXPECT_EQ(TakeFrom(&table_, {"a1"}, kNow, other), -1);
  EXPECT_EQ(Count(), 3u);
}

TEST_P(OnceTest, AKeyTakesAllThatBeginWithIt) {
  EXPECT_EQ(Take({"a1"}), -1);
  EXPECT_EQ(Take({"a3"}), -1);
  EXPECT_EQ(Take({"a"}), 0);
  EXPECT_EQ(Take({"a2"}), -1);
  EXPECT_EQ(Take({"b"}), -1);
  EXPECT_EQ(Take({"b2"}), 0);
  EXPECT_EQ(Take({"b"}), 0);
}

TEST_P(OnceTest, WhatIsPutIsFound) {
  const Entry entry = {"key", "digest", std::string("re\0sult", 7), kEnd};
  EXPECT_EQ(*table_.Find(kScope, "key", kNow), std::nullopt);
  ASSERT_TRUE(table_.Put(kScope, Of("key"), kNow).ok());
  ASSERT_TRUE(table_.Put(kScope, entry, kNow).ok());
  EXPECT_EQ(*table_.Find(kScope, "key", kEnd), entry);
  EXPECT_EQ(*table_.Find(kScope, "key", kEnd + 1), std::nullopt);
  EXPECT_EQ(*table_.Find(kScope, "ke", kNow), std::nullopt);
  EXPECT_EQ(Take({"key"}), 0);
  EXPECT_EQ(Count(), 1u);
  ASSERT_TRUE(table_.Remove(kScope, "key").ok());
  ASSERT_TRUE(table_.Remove(kScope, "key").ok());
  EXPECT_EQ(*table_.Find(kScope, "key", kNow), std::nullopt);
  EXPECT_EQ(Count(), 0u);
}

TEST_P(OnceTest, WhatHasExpiredGoes) {
  for (int i = 0; i < 90; ++i) ASSERT_EQ(Take({absl::StrCat("old ", 100 + i)}), -1);
  EXPECT_EQ(Take({"old 100"}, kEnd), 0);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(Take({absl::StrCat("new ", 100 + i)}, kEnd + 1, kEnd + 100), -1);
  }
  EXPECT_EQ(Take({"old 100"}, kEnd + 1), -1);
  EXPECT_EQ(Count(), 21u);
}

// Also where so many have expired that they go only later.
TEST_P(OnceTest, WhatHasExpiredStopsNothing) {
  for (int i = 0; i < 90; ++i) ASSERT_EQ(Take({absl::StrCat("a", 100 + i)}), -1);
  EXPECT_EQ(Take({"a189", "a188"}, kEnd + 1, kEnd + 9), -1);
  EXPECT_EQ(Take({"a188"}, kEnd + 9), 0);
  EXPECT_EQ(Take({"b", "a"}, kEnd + 9), 1);
  EXPECT_EQ(Take({"a1"}, kEnd + 10, kEnd + 20), -1);
  EXPECT_EQ(Take({"a150"}, kEnd + 20), 0);
  EXPECT_EQ(Count(), 1u);
}

// Full is refused, not forgotten; and ends by itself.
TEST_P(OnceTest, NoMoreThanItsMost) {
  for (int i = 0; i < 100; ++i) ASSERT_EQ(Take({absl::StrCat(1000 + i)}), -1);
  const std::vector<Entry> more = {Of("more")};
  const absl::Status full = table_.Take(kScope, more, kNow).status();
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted) << full;
  EXPECT_EQ(table_.Put(kScope, Of("more"), kNow).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Take({"1007"}), 0) << "and what is there is known";
  EXPECT_EQ(Count(), 100u);
  EXPECT_TRUE(table_.Put(kScope, Of("1007"), kNow).ok()) << "one that is replaced needs no room";
  EXPECT_EQ(Take({"more", "and more"}, kEnd + 1, kEnd + 2), -1);
}

TEST_P(OnceTest, TheOldestGoesWhereItMay) {
  const Scope answers = {
      .name = "answers", .most_entries = 5, .most_bytes = 1000, .oldest_goes = true};
  const auto put = [&](int i, size_t bytes) {
    const Entry entry = {absl::StrCat(i), "", std::string(bytes, 'x'), kNow + i};
    EXPECT_TRUE(table_.Put(answers, entry, kNow).ok());
  };
  const auto has = [&](int i) { return table_.Find(answers, absl::StrCat(i), kNow)->has_value(); };
  for (int i = 9; i >= 4; --i) put(i, 10);
  EXPECT_EQ(*table_.Count(answers), 5u);
  EXPECT_TRUE(has(4) && !has(5) && has(6));
  put(20, 900);
  EXPECT_TRUE(has(20) && !has(4) && has(9));
  put(21, 2000);
  EXPECT_EQ(*table_.Count(answers), 1u) << "the newest stays, whatever its size";
}

TEST_P(OnceTest, OfManyThreadsOneTakes) {
  std::atomic<int> taken = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) taken += Take({absl::StrCat(100 + i)}) == -1 ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 50);
}

INSTANTIATE_TEST_SUITE_P(Places, OnceTest, ::testing::Bool());

class OnceFileTest : public ::testing::Test {
 protected:
  static std::string Name(const std::string& of) {
    return absl::StrCat(std::string(kOnceFile), of);
  }
  const testing::TemporaryFolder folder_;
  const std::string path_ = folder_ / kOnceFile;
};

TEST_F(OnceFileTest, OnlyItsUserReadsTheFiles) {
  OnceTable table(path_);
  EXPECT_EQ(TakeFrom(&table, {"a"}), -1);
  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_EQ(file.status().permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)
        << file.path();
  }
}

// Eight processes with the same request: one of them may answer it.
TEST_F(OnceFileTest, OfManyProcessesOneTakes) {
  constexpr int kProcesses = 8, kRounds = 20;
  OnceTable table(path_);
  EXPECT_EQ(TakeFrom(&table, {"before the fork"}), -1);
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int taken = 0;
      for (int round = 0; round < kRounds; ++round) {
        const std::vector<Entry> entries = {Of(absl::StrCat("a", 100 + round)),
                                            Of(absl::StrCat("b", 100 + round))};
        const auto known = table.Take(round % 2 == 0 ? kDurable : kScope, entries, kNow);
        if (!known.ok()) _exit(255);
        taken += *known ? 0 : 1;
      }
      _exit(taken);
    }
    children.push_back(child);
  }
  int taken = 0;
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_NE(WEXITSTATUS(status), 255);
    taken += WEXITSTATUS(status);
  }
  EXPECT_EQ(taken, kRounds);
  EXPECT_EQ(*table.Count(kScope), 1u + 2 * kRounds);
}

// A process that is killed at any time has lost nothing that it was told is kept.
TEST_F(OnceFileTest, AKilledProcessLosesNothing) {
  for (int life = 0; life < 10; ++life) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      OnceTable table(path_);
      for (int i = 0;; ++i) {
        const std::vector<Entry> entries = {Of(absl::StrCat(life, "a", 1000 + i)),
                                            Of(absl::StrCat(life, "b", 1000 + i))};
        const auto known = table.Take(kDurable, entries, kNow);
        if (!known.ok() || *known) _exit(1);
        if (write(ends[1], &i, sizeof(i)) != sizeof(i)) _exit(2);
      }
    }
    close(ends[1]);
    int last = -1;
    while (last < 5 + 7 * life && read(ends[0], &last, sizeof(last)) == sizeof(last)) continue;
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself, with " << WEXITSTATUS(status);
    while (read(ends[0], &last, sizeof(last)) == sizeof(last)) continue;
    close(ends[0]);
    OnceTable table(path_);
    for (int i = 0; i <= last; ++i) {
      ASSERT_TRUE(table.Find(kScope, absl::StrCat(life, "a", 1000 + i), kNow)->has_value()) << i;
    }
    EXPECT_EQ(*table.Count(kScope) % 2, 0u) << "both or none";
  }
}

TEST_F(OnceFileTest, AFileThatIsReplacedIsUsed) {
  OnceTable table(path_);
  EXPECT_EQ(TakeFrom(&table, {"a"}), -1);
  const testing::TemporaryFolder other;
  ASSERT_TRUE(OnceTable::Copy(path_, other / kOnceFile).ok());
  OnceTable copy(other / kOnceFile);
  EXPECT_EQ(TakeFrom(&copy, {"a"}), 0);
  EXPECT_EQ(TakeFrom(&copy, {"b"}), -1);
  EXPECT_EQ(*copy.Count(kScope), 2u);
  EXPECT_EQ(TakeFrom(&table, {"b"}), -1);
  for (const char* const end : {"", "-wal", "-shm"}) {
    std::filesystem::remove(absl::StrCat(path_, end));
  }
  EXPECT_EQ(TakeFrom(&table, {"a"}), -1) << "a new one";
  EXPECT_EQ(TakeFrom(&table, {"a"}), 0);
}

// Damage is not taken for an empty table.
TEST_F(OnceFileTest, DamageIsRefused) {
  const testing::TemporaryFolder good;
  {
    OnceTable table(path_);
    for (int i = 0; i < 90; ++i) {
      const Entry entry = {absl::StrCat("key ", 100 + i), "", "result", kEnd};
      ASSERT_TRUE(table.Put(kScope, entry, kNow).ok());
    }
    ASSERT_TRUE(OnceTable::Copy(path_, good / kOnceFile).ok());
  }
  const std::vector<uint8_t> bytes = *ReadFile(good / kOnceFile);
  const std::string text(bytes.begin(), bytes.end());
  const auto why = [&](size_t at, uint8_t with) {
    const testing::TemporaryFolder bad;
    std::vector<uint8_t> changed = bytes;
    changed[at] ^= with;
    EXPECT_TRUE(WriteFileAtomic(bad / kOnceFile, changed, 0600).ok());
    OnceTable table(bad / kOnceFile);
    auto found = table.Find(kScope, "key 150", kNow).status();
    EXPECT_EQ(*ReadFile(bad / kOnceFile), changed) << "it stays as it is";
    return found;
  };
  EXPECT_TRUE(why(0, 0).ok());
  const size_t key = text.find("key 150"), index = text.rfind("key 150");
  ASSERT_NE(key, index);
  for (const size_t at : {size_t{3}, size_t{71}, size_t{4096 * 2}, size_t{4096 * 3 + 3}, key, index,
                          text.find("result", std::min(key, index))}) {
    const absl::Status status = why(at, 1);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << at << ": " << status;
    EXPECT_THAT(status.message(), AllOf(HasSubstr(kOnceFile), HasSubstr("move all three away")));
  }
}

TEST_F(OnceFileTest, AFullDiskAddsNothingAndEnds) {
  OnceTable table(path_);
  EXPECT_EQ(TakeFrom(&table, {"a"}), -1);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit none = {std::filesystem::file_size(path_ + "-wal") / 2, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  absl::Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) {
    const std::vector<Entry> entries = {Of(absl::StrCat("b", 1000 + i))};
    status = table.Take(kDurable, entries, kNow).status();
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(status.message(), AllOf(HasSubstr(path_), HasSubstr("nothing was changed"),
                                      Not(HasSubstr("the store in"))));
  const uint64_t count = *table.Count(kDurable);
  EXPECT_EQ(TakeFrom(&table, {absl::StrCat("b", 1000 + count - 1)}, kNow, kDurable), -1);
  EXPECT_EQ(*table.Count(kDurable), count + 1);
}

TEST_F(OnceFileTest, AFolderThatIsMissingIsNamed) {
  OnceTable table(folder_ / "missing/once.sqlite");
  const absl::Status status = table.Count(kScope).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(status.message(), HasSubstr(folder_ / "missing/once.sqlite"));
}

}  // namespace
}  // namespace heft
