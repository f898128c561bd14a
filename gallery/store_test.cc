// SPDX-License-Identifier: Apache-2.0
// What a Store promises, of each implementation; then what only one in a folder can be asked for.
#include "gallery/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/testing.h"

namespace heft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::Duration kLong = absl::Seconds(60);

std::string Text(ByteSpan bytes) { return {bytes.begin(), bytes.end()}; }

// Long: bytes that their seed decides, no eight of them alike.
std::vector<uint8_t> Long(size_t size, uint32_t seed) {
  std::vector<uint8_t> bytes(size);
  uint64_t state = seed * 0x9E3779B97F4A7C15 + 1;
  for (uint8_t& byte : bytes) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    byte = state >> 32;
  }
  return bytes;
}

// Change: a transaction under a lock of its own.
absl::Status Change(Store& store, const std::function<absl::Status(StoreWriter&)>& change) {
  HEFT_ASSIGN_OR_RETURN(const auto lock, store.Lock(kLong));
  HEFT_ASSIGN_OR_RETURN(const auto writer, store.Write(*lock));
  HEFT_RETURN_IF_ERROR(change(*writer));
  return writer->Commit();
}

absl::Status Put(Store& store, Table table, std::string_view key, ByteSpan value) {
  return Change(store, [&](StoreWriter& w) { return w.Put(table, AsBytes(key), value); });
}

std::string Get(const StoreReader& reader, Table table, std::string_view key) {
  const auto value = reader.Get(table, AsBytes(key));
  if (!value.ok()) return value.status().ToString();
  return value->has_value() ? Text(**value) : "none";
}

std::string Get(const Store& store, Table table, std::string_view key) {
  return Get(**store.Read(), table, key);
}

std::vector<std::string> Keys(const StoreReader& reader, Table table, std::string_view from = {},
                              size_t most = SIZE_MAX) {
  std::vector<std::string> keys;
  EXPECT_TRUE(reader
                  .Scan(table, AsBytes(from),
                        [&](ByteSpan key, ByteSpan) {
                          keys.push_back(Text(key));
                          return keys.size() < most;
                        })
                  .ok());
  return keys;
}

// StoreTest: in memory, or in a folder.
class StoreTest : public ::testing::TestWithParam<bool> {
 protected:
  StoreTest()
      : store_(GetParam() ? *OpenStore(folder_ / "store", StoreMode::kCreate) : MemoryStore()) {}
  const testing::TemporaryFolder folder_;
  const std::shared_ptr<Store> store_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, StoreTest, ::testing::Values(false, true),
                         [](const auto& kind) { return kind.param ? "Lmdb" : "Memory"; });

TEST_P(StoreTest, KeepsWhatIsCommitted) {
  EXPECT_EQ(Get(*store_, Table::kHead, "key"), "none");
  ASSERT_TRUE(Put(*store_, Table::kHead, "key", AsBytes("value")).ok());
  EXPECT_EQ(Get(*store_, Table::kHead, "key"), "value");
  EXPECT_EQ(Get(*store_, Table::kCatalog, "key"), "none") << "tables are apart";
  ASSERT_TRUE(Put(*store_, Table::kHead, "key", AsBytes("another value")).ok());
  ASSERT_TRUE(Put(*store_, Table::kHead, "empty", {}).ok());
  EXPECT_EQ(Get(*store_, Table::kHead, "key"), "another value");
  EXPECT_EQ(Get(*store_, Table::kHead, "empty"), "");
  ASSERT_TRUE(Change(*store_, [](StoreWriter& w) -> absl::Status {
                HEFT_RETURN_IF_ERROR(w.Delete(Table::kHead, AsBytes("key")));
                return w.Delete(Table::kHead, AsBytes("never there"));
              }).ok());
  EXPECT_EQ(Get(*store_, Table::kHead, "key"), "none");
  EXPECT_EQ(Get(*store_, Table::kHead, "empty"), "");
}

TEST_P(StoreTest, ReadersSeeOneState) {
  const auto before = *store_->Read();
  ASSERT_TRUE(Put(*store_, Table::kHead, "a", AsBytes("1")).ok());
  const auto between = *store_->Read();
  ASSERT_TRUE(Change(*store_, [](StoreWriter& w) -> absl::Status {
                HEFT_RETURN_IF_ERROR(w.Put(Table::kHead, AsBytes("a"), AsBytes("2")));
                return w.Put(Table::kHead, AsBytes("b"), AsBytes("2"));
              }).ok());
  EXPECT_EQ(Get(*before, Table::kHead, "a"), "none");
  EXPECT_EQ(Get(*between, Table::kHead, "a"), "1");
  EXPECT_EQ(Get(*between, Table::kHead, "b"), "none");
  EXPECT_EQ(Get(*store_, Table::kHead, "a"), "2");
  EXPECT_THAT(Keys(*before, Table::kHead), IsEmpty());
  EXPECT_THAT(Keys(*between, Table::kHead), ElementsAre("a"));
}

// Spans of a reader stay as they are under any number of changes.
TEST_P(StoreTest, BytesStayForAsLongAsTheirReader) {
  const auto value = Long(100'000, 1);
  ASSERT_TRUE(Put(*store_, Table::kBlocks, "block", value).ok());
  const auto reader = *store_->Read();
  const ByteSpan bytes = **reader->Get(Table::kBlocks, AsBytes("block"));
  for (uint32_t i = 2; i < 12; ++i) {
    ASSERT_TRUE(Put(*store_, Table::kBlocks, "block", Long(100'000, i)).ok());
  }
  EXPECT_TRUE(std::ranges::equal(bytes, value));
}

TEST_P(StoreTest, ScansInTheOrderOfBytes) {
  ASSERT_TRUE(Change(*store_, [](StoreWriter& w) -> absl::Status {
                for (const std::string_view key : {"b", "ab", "a", "\xff", "B"}) {
                  HEFT_RETURN_IF_ERROR(w.Put(Table::kNames, AsBytes(key), AsBytes(key)));
                }
                return w.Put(Table::kSamples, AsBytes("elsewhere"), {});
              }).ok());
  const auto reader = *store_->Read();
  EXPECT_THAT(Keys(*reader, Table::kNames), ElementsAre("B", "a", "ab", "b", "\xff"));
  EXPECT_THAT(Keys(*reader, Table::kNames, "a"), ElementsAre("a", "ab", "b", "\xff"));
  EXPECT_THAT(Keys(*reader, Table::kNames, "aa"), ElementsAre("ab", "b", "\xff"));
  EXPECT_THAT(Keys(*reader, Table::kNames, "aa", 2), ElementsAre("ab", "b"));
  EXPECT_THAT(Keys(*reader, Table::kNames, "\xff\xff"), IsEmpty());
  EXPECT_EQ(reader->Scan(Table::kNames, std::vector<uint8_t>(kMostKey + 1), {}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(StoreTest, ScansManyAndReadsMeanwhile) {
  constexpr size_t kMany = 5000;
  const auto name = [](size_t i) { return absl::StrCat(100'000 + i); };
  ASSERT_TRUE(Change(*store_, [&](StoreWriter& w) -> absl::Status {
                for (size_t i = 0; i < kMany; ++i) {
                  HEFT_RETURN_IF_ERROR(
                      w.Put(Table::kNames, AsBytes(name(i)), AsBytes(name(2 * i))));
                }
                return absl::OkStatus();
              }).ok());
  const auto reader = *store_->Read();
  size_t at = 17;
  ASSERT_TRUE(reader
                  ->Scan(Table::kNames, AsBytes(name(at)),
                         [&](ByteSpan key, ByteSpan value) {
                           EXPECT_EQ(Text(key), name(at));
                           EXPECT_EQ(Text(value), name(2 * at));
                           return ++at < kMany - 5;
                         })
                  .ok());
  EXPECT_EQ(at, kMany - 5);
}

TEST_P(StoreTest, LongValuesAreAligned) {
  const std::vector<size_t> sizes = {1023, 1024, 1025,   4072,   4096,    8167,     8168,
                                     8169, 8192, 12'264, 80'000, 131'072, 2'097'152};
  const auto check = [&](const StoreReader& reader) {
    for (const size_t size : sizes) {
      const auto value = reader.Get(Table::kBlocks, AsBytes(absl::StrCat(size)));
      ASSERT_TRUE(value.ok() && value->has_value()) << size;
      EXPECT_TRUE(std::ranges::equal(**value, Long(size, size))) << size;
      if (size < kLongValue) continue;
      EXPECT_EQ(reinterpret_cast<uintptr_t>((*value)->data()) % kValueAlignment, kValueOffset);
    }
  };
  ASSERT_TRUE(Change(*store_, [&](StoreWriter& w) -> absl::Status {
                for (const size_t size : sizes) {
                  const std::string key = absl::StrCat(size);
                  HEFT_RETURN_IF_ERROR(w.Put(Table::kBlocks, AsBytes(key), Long(size, 0)));
                  HEFT_RETURN_IF_ERROR(w.Put(Table::kBlocks, AsBytes(key), Long(size, size)));
                }
                check(w);
                return absl::OkStatus();
              }).ok());
  check(**store_->Read());
}

// What a transaction puts of what it has read is not what it overwrites meanwhile.
TEST_P(StoreTest, WritesWhatItReads) {
  ASSERT_TRUE(Change(*store_, [&](StoreWriter& w) -> absl::Status {
                HEFT_RETURN_IF_ERROR(w.Put(Table::kBlocks, AsBytes("a"), Long(2000, 1)));
                HEFT_RETURN_IF_ERROR(w.Put(Table::kBlocks, AsBytes("b"), AsBytes("short")));
                HEFT_ASSIGN_OR_RETURN(const auto a, w.Get(Table::kBlocks, AsBytes("a")));
                HEFT_RETURN_IF_ERROR(w.Put(Table::kBlocks, AsBytes("a"), a->first(1500)));
                HEFT_ASSIGN_OR_RETURN(const auto b, w.Get(Table::kBlocks, AsBytes("b")));
                return w.Put(Table::kBlocks, AsBytes("0"), *b);
              }).ok());
  EXPECT_EQ(Get(*store_, Table::kBlocks, "a"), Text(ByteSpan(Long(2000, 1)).first(1500)));
  EXPECT_EQ(Get(*store_, Table::kBlocks, "0"), "short");
}

TEST_P(StoreTest, WritersReadTheirOwnChanges) {
  ASSERT_TRUE(Put(*store_, Table::kHead, "a", AsBytes("1")).ok());
  ASSERT_TRUE(Change(*store_, [](StoreWriter& w) -> absl::Status {
                HEFT_RETURN_IF_ERROR(w.Put(Table::kHead, AsBytes("b"), AsBytes("2")));
                HEFT_RETURN_IF_ERROR(w.Delete(Table::kHead, AsBytes("a")));
                EXPECT_EQ(Get(w, Table::kHead, "a"), "none");
                EXPECT_EQ(Get(w, Table::kHead, "b"), "2");
                EXPECT_THAT(Keys(w, Table::kHead), ElementsAre("b"));
                return absl::OkStatus();
              }).ok());
}

TEST_P(StoreTest, WithoutCommitNothingHappens) {
  ASSERT_TRUE(Put(*store_, Table::kHead, "a", AsBytes("1")).ok());
  {
    const auto lock = *store_->Lock(kLong);
    const auto writer = *store_->Write(*lock);
    ASSERT_TRUE(writer->Put(Table::kHead, AsBytes("a"), AsBytes("2")).ok());
    ASSERT_TRUE(writer->Put(Table::kBlocks, AsBytes("b"), Long(100'000, 1)).ok());
  }
  EXPECT_EQ(Get(*store_, Table::kHead, "a"), "1");
  EXPECT_THAT(Keys(**store_->Read(), Table::kBlocks), IsEmpty());
}

TEST_P(StoreTest, AWriterThatHasCommittedIsGoodForNothing) {
  const auto lock = *store_->Lock(kLong);
  const auto writer = *store_->Write(*lock);
  EXPECT_EQ(store_->Write(*lock).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(store_->Scrub(*lock, kLong).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(writer->Commit().ok());
  EXPECT_FALSE(writer->Put(Table::kHead, AsBytes("a"), {}).ok());
  EXPECT_FALSE(writer->Delete(Table::kHead, AsBytes("a")).ok());
  EXPECT_FALSE(writer->Get(Table::kHead, AsBytes("a")).ok());
  EXPECT_FALSE(writer->Commit().ok());
  const auto next = store_->Write(*lock);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_TRUE((*next)->Put(Table::kHead, AsBytes("a"), {}).ok());
}

TEST_P(StoreTest, KeysHaveASize) {
  const auto lock = *store_->Lock(kLong);
  const auto writer = *store_->Write(*lock);
  EXPECT_EQ(writer->Put(Table::kHead, {}, {}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(writer->Put(Table::kHead, std::vector<uint8_t>(kMostKey + 1), {}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(writer->Put(Table::kHead, std::vector<uint8_t>(kMostKey), {}).ok());
  EXPECT_FALSE(writer->Get(Table::kHead, {})->has_value());
  EXPECT_TRUE(writer->Delete(Table::kHead, {}).ok());
}

TEST_P(StoreTest, OneWritesAtATime) {
  auto lock = *store_->Lock(kLong);
  const absl::Status busy = store_->Lock(absl::Milliseconds(20)).status();
  EXPECT_EQ(busy.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(busy.ToString(), HasSubstr("wait longer"));
  const auto another = MemoryStore();
  const auto wrong = *another->Lock(kLong);
  EXPECT_EQ(store_->Write(*wrong).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(store_->Scrub(*wrong, kLong).code(), absl::StatusCode::kInvalidArgument);
  std::thread release([&] {
    absl::SleepFor(absl::Milliseconds(30));
    lock = nullptr;
  });
  EXPECT_TRUE(store_->Lock(kLong).ok());
  release.join();
}

// Of four threads, each adds one to a number, a hundred times; others read two that are alike.
TEST_P(StoreTest, ManyThreads) {
  constexpr int kThreads = 4, kTimes = 50;
  std::atomic<bool> done = false;
  std::thread reader([&] {
    while (!done) {
      const auto state = *store_->Read();
      EXPECT_EQ(Get(*state, Table::kHead, "n"), Get(*state, Table::kBlocks, "n"));
    }
  });
  std::vector<std::thread> writers;
  for (int t = 0; t < kThreads; ++t) {
    writers.emplace_back([&] {
      for (int i = 0; i < kTimes; ++i) {
        const absl::Status status = Change(*store_, [](StoreWriter& w) -> absl::Status {
          const std::string n = Get(w, Table::kHead, "n");
          const std::string next = absl::StrCat(n == "none" ? 1 : std::stoi(n) + 1);
          HEFT_RETURN_IF_ERROR(w.Put(Table::kHead, AsBytes("n"), AsBytes(next)));
          return w.Put(Table::kBlocks, AsBytes("n"), AsBytes(next));
        });
        EXPECT_TRUE(status.ok()) << status;
      }
    });
  }
  for (auto& writer : writers) writer.join();
  done = true;
  reader.join();
  EXPECT_EQ(Get(*store_, Table::kHead, "n"), absl::StrCat(kThreads * kTimes));
}

TEST_P(StoreTest, ManyThreadsOfOneReader) {
  ASSERT_TRUE(Put(*store_, Table::kBlocks, "a", Long(50'000, 1)).ok());
  ASSERT_TRUE(Put(*store_, Table::kHead, "b", AsBytes("2")).ok());
  const auto state = *store_->Read();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        EXPECT_EQ(Get(*state, Table::kHead, "b"), "2");
        EXPECT_EQ((*state->Get(Table::kBlocks, AsBytes("a")))->size(), 50'000);
        EXPECT_THAT(Keys(*state, Table::kBlocks), ElementsAre("a"));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_P(StoreTest, Statistics) {
  const auto before = store_->Statistics();
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(before->readers, 0);
  ASSERT_TRUE(Put(*store_, Table::kBlocks, "a", Long(1'000'000, 1)).ok());
  const auto one = *store_->Read(), two = *store_->Read();
  const auto after = store_->Statistics();
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->readers, 2);
  EXPECT_GE(after->live_bytes, before->live_bytes + 1'000'000);
  EXPECT_LE(after->live_bytes, before->live_bytes + 1'030'000);
  EXPECT_GE(after->bytes, after->live_bytes);
}

// InChild: what another process does, made by a fork; its exit status.
int InChild(const std::function<bool()>& action) {
  const pid_t child = fork();
  if (child == 0) _exit(action() ? 0 : 1);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class LmdbStoreTest : public ::testing::Test {
 protected:
  std::string Folder() const { return folder_ / "store"; }
  std::shared_ptr<Store> Make() const { return *OpenStore(Folder(), StoreMode::kCreate); }

  const testing::TemporaryFolder folder_;
};

TEST_F(LmdbStoreTest, IsThereWhenOpenedAgain) {
  EXPECT_FALSE(StoreExists(Folder()));
  EXPECT_EQ(OpenStore(Folder(), StoreMode::kRead).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(OpenStore(Folder(), StoreMode::kWrite).status().code(), absl::StatusCode::kNotFound);
  {
    const auto store = OpenStore(folder_ / "store/below/both", StoreMode::kCreate);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE(Put(**store, Table::kBlocks, "a", Long(9000, 1)).ok());
  }
  EXPECT_TRUE(StoreExists(folder_ / "store/below/both"));
  for (const StoreMode mode : {StoreMode::kRead, StoreMode::kWrite, StoreMode::kCreate}) {
    const auto store = OpenStore(folder_ / "store/below/both", mode);
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ(Get(**store, Table::kBlocks, "a"), Text(Long(9000, 1)));
  }
  struct stat info;
  for (const char* const name : {"store.mdb", "store.mdb-lock", "lock"}) {
    ASSERT_EQ(stat((folder_ / "store/below/both" + ("/" + std::string(name))).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600) << name;
  }
}

TEST_F(LmdbStoreTest, IsSharedByAllWhoHaveItOpen) {
  const auto store = Make();
  const auto reading = *OpenStore(Folder(), StoreMode::kRead);
  EXPECT_EQ(reading->Lock(kLong).status().code(), absl::StatusCode::kFailedPrecondition);
  const auto writing = *OpenStore(Folder() + "/../store", StoreMode::kWrite);
  ASSERT_TRUE(Put(*writing, Table::kHead, "a", AsBytes("1")).ok());
  EXPECT_EQ(Get(*reading, Table::kHead, "a"), "1");
  const auto lock = *store->Lock(kLong);
  EXPECT_TRUE(writing->Write(*lock).ok());
}

TEST_F(LmdbStoreTest, OpensAndClosesInManyThreads) {
  ASSERT_TRUE(Put(*Make(), Table::kHead, "a", AsBytes("1")).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const auto store = OpenStore(Folder(), StoreMode::kRead);
        ASSERT_TRUE(store.ok()) << store.status();
        EXPECT_EQ(Get(**store, Table::kHead, "a"), "1");
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(LmdbStoreTest, AReaderOutlivesItsStore) {
  auto store = Make();
  ASSERT_TRUE(Put(*store, Table::kBlocks, "a", Long(9000, 1)).ok());
  const auto reader = *store->Read();
  store = nullptr;
  ASSERT_TRUE(Put(*Make(), Table::kBlocks, "a", Long(9000, 2)).ok());
  EXPECT_EQ(Get(*reader, Table::kBlocks, "a"), Text(Long(9000, 1)));
}

// Eight processes, each of which adds one to a number ten times.
TEST_F(LmdbStoreTest, ManyProcesses) {
  const auto store = Make();
  std::vector<pid_t> children;
  for (int p = 0; p < 8; ++p) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    bool ok = true;
    for (int i = 0; i < 10; ++i) {
      auto own = OpenStore(Folder(), StoreMode::kWrite);
      ok = ok && own.ok() &&
           Change(**own, [](StoreWriter& w) {
             const std::string n = Get(w, Table::kHead, "n");
             return w.Put(Table::kHead, AsBytes("n"),
                          AsBytes(absl::StrCat(n == "none" ? 1 : std::stoi(n) + 1)));
           }).ok();
    }
    _exit(ok ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(Get(*store, Table::kHead, "n"), "80");
}

TEST_F(LmdbStoreTest, AChildOpensItAnew) {
  const auto store = Make();
  ASSERT_TRUE(Put(*store, Table::kHead, "a", AsBytes("1")).ok());
  std::shared_ptr<StoreReader> reader = *store->Read();
  EXPECT_EQ(InChild([&] {
              reader = nullptr;  // the parent's, who has it still
              return store->Read().status().code() == absl::StatusCode::kFailedPrecondition &&
                     Put(*Make(), Table::kHead, "a", AsBytes("2")).ok();
            }),
            0);
  EXPECT_EQ(store->Statistics()->readers, 1);
  EXPECT_EQ(Get(*reader, Table::kHead, "a"), "1");
  EXPECT_EQ(Get(*store, Table::kHead, "a"), "2");
}

// Readers and writers that are killed leave nothing behind that others would wait for.
TEST_F(LmdbStoreTest, KilledProcesses) {
  const auto store = Make();
  ASSERT_TRUE(Put(*store, Table::kHead, "a", AsBytes("1")).ok());
  for (int i = 0; i < 3; ++i) {
    InChild([&] {
      const auto own = *OpenStore(Folder(), StoreMode::kWrite);
      const auto reader = *own->Read();
      const auto lock = *own->Lock(kLong);
      const auto writer = *own->Write(*lock);
      (void)writer->Put(Table::kHead, AsBytes("a"), AsBytes("2"));
      kill(getpid(), SIGKILL);
      return true;
    });
  }
  EXPECT_EQ(Get(*store, Table::kHead, "a"), "1");
  ASSERT_TRUE(Put(*store, Table::kHead, "a", AsBytes("3")).ok());
  EXPECT_EQ(Get(*store, Table::kHead, "a"), "3");
  EXPECT_EQ(store->Statistics()->readers, 0);
}

TEST_F(LmdbStoreTest, CopiesOneState) {
  const auto store = Make();
  ASSERT_TRUE(Put(*store, Table::kBlocks, "a", Long(2'000'000, 1)).ok());
  ASSERT_TRUE(Put(*store, Table::kBlocks, "b", Long(2'000'000, 2)).ok());
  ASSERT_TRUE(Put(*store, Table::kHead, "c", AsBytes("1")).ok());
  ASSERT_TRUE(
      Change(*store, [](StoreWriter& w) { return w.Delete(Table::kBlocks, AsBytes("a")); }).ok());
  uint64_t done = 0, all = 0;
  const auto progress = [&](uint64_t d, uint64_t a) { return done = d, all = a, true; };
  const absl::Status status = store->Copy(folder_ / "copy", progress);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_GE(done, 2'000'000);
  EXPECT_GE(all, done);
  EXPECT_EQ(store->Copy(folder_ / "copy", progress).code(), absl::StatusCode::kAlreadyExists);
  const auto copy = *OpenStore(folder_ / "copy", StoreMode::kWrite);
  EXPECT_EQ(Get(*copy, Table::kBlocks, "b"), Text(Long(2'000'000, 2)));
  EXPECT_EQ(Get(*copy, Table::kHead, "c"), "1");
  EXPECT_LE(copy->Statistics()->bytes, 2'400'000) << "nothing of what was deleted";
  ASSERT_TRUE(Put(*copy, Table::kHead, "c", AsBytes("2")).ok());
  EXPECT_EQ(Get(*store, Table::kHead, "c"), "1");
}

TEST_F(LmdbStoreTest, ACopyThatIsEndedIsGone) {
  const auto store = Make();
  ASSERT_TRUE(Put(*store, Table::kHead, "a", AsBytes("1")).ok());
  const auto never = [](uint64_t, uint64_t) { return false; };
  EXPECT_EQ(store->Copy(folder_ / "copy", never).code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(FileExists(folder_ / "copy"));
  ASSERT_TRUE(MakeDirectories(folder_ / "empty").ok());
  EXPECT_EQ(store->Copy(folder_ / "empty", never).code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "empty"));
}

// ScrubTest: what is in the store's file, read as bytes.
class ScrubTest : public LmdbStoreTest {
 protected:
  std::string File() const { return *ReadTextFile(Folder() + "/store.mdb"); }
  size_t Count(std::string_view text) const {
    const std::string file = File();
    size_t count = 0;
    for (size_t at = file.find(text); at != std::string::npos; at = file.find(text, at + 1))
      ++count;
    return count;
  }
  absl::Status Scrub(Store& store, absl::Duration wait = kLong) const {
    HEFT_ASSIGN_OR_RETURN(const auto lock, store.Lock(kLong));
    HEFT_RETURN_IF_ERROR(store.Scrub(*lock, wait));
    return store.Check();
  }
};

TEST_F(ScrubTest, OfALongValueNothingIsLeft) {
  const auto store = Make();
  const std::string secret = Text(Long(2'000'000, 7)), middle = secret.substr(1'000'000, 32);
  ASSERT_TRUE(Put(*store, Table::kBlocks, "stays", Long(2'000'000, 8)).ok());
  ASSERT_TRUE(Put(*store, Table::kBlocks, "goes", AsBytes(secret)).ok());
  ASSERT_TRUE(Change(*store, [](StoreWriter& w) {
                return w.Delete(Table::kBlocks, AsBytes("goes"));
              }).ok());
  ASSERT_EQ(Count(middle), 1) << "or there were nothing to test";
  const absl::Status status = Scrub(*store);
  ASSERT_TRUE(status.ok()) << status;
  for (size_t at = 0; at + 32 < secret.size(); at += 50'000) {
    EXPECT_EQ(Count(secret.substr(at, 32)), 0) << at;
  }
  EXPECT_EQ(Get(*store, Table::kBlocks, "stays"), Text(Long(2'000'000, 8)));
}

// Small entries, of which LMDB leaves copies in the free space of pages in use, and in memory, from
// where they come back with later pages.
TEST_F(ScrubTest, OfSmallEntriesNothingIsLeft) {
  const auto store = Make();
  const auto name = [](size_t i) { return absl::StrCat("secret name ", 10'000 + i); };
  for (size_t round = 0; round < 6; ++round) {
    ASSERT_TRUE(Change(*store, [&](StoreWriter& w) -> absl::Status {
                  for (size_t i = 0; i < 300; ++i) {
                    const std::string key = absl::StrCat(i * 7919 % 1000, "-", round);
                    HEFT_RETURN_IF_ERROR(w.Put(Table::kNames, AsBytes(key), AsBytes(name(i))));
                  }
                  return absl::OkStatus();
                }).ok());
    ASSERT_TRUE(Change(*store, [&](StoreWriter& w) -> absl::Status {
                  for (size_t i = 0; i < 300; i += 2) {
                    const std::string key = absl::StrCat(i * 7919 % 1000, "-", round);
                    HEFT_RETURN_IF_ERROR(w.Delete(Table::kNames, AsBytes(key)));
                  }
                  return absl::OkStatus();
                }).ok());
    const auto left = [&](bool deleted) {
      const std::string file = File();
      size_t count = 0;
      for (size_t i = deleted ? 0 : 1; i < 300; i += 2)
        count += file.find(name(i)) != std::string::npos;
      return count;
    };
    ASSERT_GT(left(true), 0) << "or there were nothing to test";
    const absl::Status status = Scrub(*store);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(left(true), 0);
    EXPECT_EQ(left(false), 150);
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(Put(*store, Table::kHead, absl::StrCat(i), AsBytes("something else")).ok());
      ASSERT_TRUE(Put(*store, Table::kSamples, absl::StrCat(i), AsBytes("something else")).ok());
    }
    EXPECT_EQ(left(true), 0) << "from memory";
  }
}

// The buffers are another process's.
TEST_F(ScrubTest, AProcessThatHasWrittenItBringsNothingBack) {
  const auto store = Make();
  const auto change = [&](bool there) {
    return Change(*store, [&](StoreWriter& w) -> absl::Status {
      for (size_t i = 0; i < 200; ++i) {
        const std::string key = absl::StrCat(i), value = absl::StrCat("secret ", 1000 + i);
        HEFT_RETURN_IF_ERROR(there ? w.Put(Table::kNames, AsBytes(key), AsBytes(value))
                                   : w.Delete(Table::kNames, AsBytes(key)));
      }
      return absl::OkStatus();
    });
  };
  ASSERT_TRUE(change(true).ok());
  ASSERT_TRUE(change(false).ok());
  EXPECT_GT(Count("secret 1"), 0);
  ASSERT_EQ(InChild([&] { return Scrub(*Make()).ok(); }), 0);
  EXPECT_EQ(Count("secret 1"), 0);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(Put(*store, Table::kHead, absl::StrCat(i), AsBytes("something else")).ok());
    EXPECT_EQ(Count("secret 1"), 0) << i;
  }
}

TEST_F(ScrubTest, WaitsForReaders) {
  const auto store = Make();
  ASSERT_TRUE(Put(*store, Table::kBlocks, "a", Long(100'000, 1)).ok());
  auto reader = *store->Read();
  ASSERT_TRUE(Put(*store, Table::kBlocks, "a", Long(100'000, 2)).ok());
  const absl::Status read = Scrub(*store, absl::Milliseconds(5));
  EXPECT_EQ(read.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Get(*reader, Table::kBlocks, "a"), Text(Long(100'000, 1)));
  std::thread release([&] {
    absl::SleepFor(absl::Milliseconds(30));
    reader = nullptr;
  });
  const auto newest = *store->Read();
  const absl::Status status = Scrub(*store);
  release.join();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Count(Text(Long(100'000, 1)).substr(50'000, 32)), 0);
  EXPECT_EQ(Get(*newest, Table::kBlocks, "a"), Text(Long(100'000, 2)));
}

// Whatever the order of changes, scrubs, other processes and transactions that are not committed.
TEST_F(ScrubTest, ManyChanges) {
  const auto store = Make();
  uint32_t random = 1;
  const auto draw = [&](uint32_t below) {
    random = random * 1664525u + 1013904223u;
    return (random >> 8) % below;
  };
  std::map<std::string, std::string> there;  // what should be
  std::vector<std::string> gone;
  for (int step = 0; step < 150; ++step) {
    const auto lock = *store->Lock(kLong);
    auto next = there;
    std::vector<std::string> removed;
    {
      const auto writer = *store->Write(*lock);
      for (uint32_t i = 0; i < 1 + draw(8); ++i) {
        const std::string key = absl::StrCat("key ", draw(40));
        if (const auto it = next.find(key); it != next.end()) removed.push_back(it->second);
        const std::string value =
            Text(Long(draw(3) == 0 ? 1024 + draw(60'000) : 40 + draw(900), 1000 * step + i));
        if (draw(3) == 0) {
          next.erase(key);
          ASSERT_TRUE(writer->Delete(Table::kBlocks, AsBytes(key)).ok());
        } else {
          next[key] = value;
          ASSERT_TRUE(writer->Put(Table::kBlocks, AsBytes(key), AsBytes(value)).ok());
        }
      }
      if (draw(4) == 0) continue;
      ASSERT_TRUE(writer->Commit().ok());
    }
    there = next;
    gone.insert(gone.end(), removed.begin(), removed.end());
    if (draw(3) != 0) continue;
    absl::Status status = store->Scrub(*lock, kLong);
    ASSERT_TRUE(status.ok()) << status;
    status = store->Check();
    ASSERT_TRUE(status.ok()) << status;
    const std::string file = File();
    for (const std::string& value : gone) {
      EXPECT_EQ(file.find(value.substr(value.size() / 2, 16)), std::string::npos) << step;
    }
    gone.clear();
    for (const auto& [key, value] : there) EXPECT_EQ(Get(*store, Table::kBlocks, key), value);
  }
}

}  // namespace
}  // namespace heft
