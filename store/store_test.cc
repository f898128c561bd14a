// SPDX-License-Identifier: Apache-2.0
// What a Store promises, of each implementation.
#include "store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/testing.h"
#include "store/testing.h"

namespace heft {
namespace {

using namespace store_testing;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// StoreTest: of each kind that the program has.
class StoreTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  StoreTest() : store_(GetParam().make(folder_ / "store")) {}
  void SetUp() override {
    if (store_ == nullptr) GTEST_SKIP() << GetParam().name << " is not installed here";
  }
  const testing::TemporaryFolder folder_;
  const std::shared_ptr<Store> store_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, StoreTest, ::testing::ValuesIn(StoreKinds()),
                         [](const auto& kind) { return kind.param.name; });

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
  EXPECT_EQ(reader->Scan(Table::kNames, std::vector<uint8_t>(kMaxKey + 1), {}).code(),
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

// A transaction can put bytes that it has read, while it overwrites their source.
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
  EXPECT_EQ(writer->Put(Table::kHead, std::vector<uint8_t>(kMaxKey + 1), {}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(writer->Put(Table::kHead, std::vector<uint8_t>(kMaxKey), {}).ok());
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

}  // namespace
}  // namespace heft
