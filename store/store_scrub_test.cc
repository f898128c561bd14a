// SPDX-License-Identifier: Apache-2.0
// Remains of deleted data in the store's files.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/files.h"
#include "store/testing.h"

namespace heft {
namespace {

using namespace store_testing;

// ScrubTest: reads the store's files as bytes.
class ScrubTest : public FolderStoreTest {
 protected:
  // File: all files of the store.
  std::string File() const {
    std::string all;
    for (const auto& entry : std::filesystem::directory_iterator(Folder())) {
      all += *ReadTextFile(entry.path().string());
    }
    return all;
  }
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

// SQLite leaves copies of small entries in the free space of pages in use, and in memory, from
// where they return with later pages.
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

// Rows that another program deleted stay in free blocks of pages in use and in free pages.
TEST_F(ScrubTest, OfRowsThatSqliteDeletedWithoutSecureDeleteNothingIsLeft) {
  const auto store = Make();
  const auto secret = [](size_t i) { return absl::StrCat("secret ", 1000 + i, " of a person"); };
  ASSERT_TRUE(Change(*store, [&](StoreWriter& w) -> absl::Status {
                for (size_t i = 0; i < 400; ++i) {
                  const std::string key = absl::StrCat(1000 + i);
                  HEFT_RETURN_IF_ERROR(w.Put(Table::kNames, AsBytes(key), AsBytes(secret(i))));
                }
                return absl::OkStatus();
              }).ok());
  ASSERT_TRUE(Scrub(*store).ok());
  // Every third row; and all of many pages.
  RunSql(Folder(),
         "PRAGMA secure_delete = OFF; DELETE FROM other WHERE CAST(key AS TEXT) < '1150' AND "
         "CAST(key AS TEXT) % 3 = 0 OR CAST(key AS TEXT) >= '1150'");
  const auto deleted = [](size_t i) { return i >= 150 || (1000 + i) % 3 == 0; };
  const auto left = [&] {
    size_t count = 0;
    for (size_t i = 0; i < 400; ++i) count += deleted(i) && Count(secret(i).substr(6)) > 0 ? 1 : 0;
    return count;
  };
  ASSERT_TRUE(Scrub(*store).ok());
  ASSERT_GT(left(), 10) << "or there were nothing to test";
  {
    const auto lock = *store->Lock(kLong);
    ASSERT_TRUE(store->Rebuild(*lock, kLong).ok());
  }
  ASSERT_TRUE(Scrub(*store).ok());
  EXPECT_EQ(left(), 0);
  for (size_t i = 0; i < 400; ++i) {
    EXPECT_EQ(Get(*store, Table::kNames, absl::StrCat(1000 + i)), deleted(i) ? "none" : secret(i));
  }
}

// The buffers belong to another process.
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

// Any order of changes, scrubs, other processes and uncommitted transactions.
TEST_F(ScrubTest, ManyChanges) {
  const auto store = Make();
  uint32_t random = 1;
  const auto draw = [&](uint32_t below) {
    random = random * 1664525u + 1013904223u;
    return (random >> 8) % below;
  };
  std::map<std::string, std::string> there;  // the expected entries
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

// Entries move between pages as others come and go, and leave copies behind.
TEST_F(ScrubTest, OfKeysNothingIsLeft) {
  const auto store = Make();
  constexpr size_t kMany = 6000;  // three levels
  const auto name = [](size_t i) {
    return absl::StrCat("somebody ", i * 7919 % 1'000'003, " of all");
  };
  const auto value = [](size_t i) { return std::string(i % 90, 'x'); };
  ASSERT_TRUE(Change(*store, [&](StoreWriter& w) -> absl::Status {
                for (size_t i = 0; i < kMany; ++i) {
                  HEFT_RETURN_IF_ERROR(w.Put(Table::kNames, AsBytes(name(i)), AsBytes(value(i))));
                }
                return absl::OkStatus();
              }).ok());
  for (const size_t step : {0, 1, 2}) {
    ASSERT_TRUE(Change(*store, [&](StoreWriter& w) -> absl::Status {
                  for (size_t i = 0; i < kMany; i += 5) {
                    if (i % 15 != step * 5) continue;
                    HEFT_RETURN_IF_ERROR(w.Delete(Table::kNames, AsBytes(name(i))));
                  }
                  return absl::OkStatus();
                }).ok());
    const std::string before = File();
    size_t left = 0;
    for (size_t i = step * 5; i < kMany; i += 15) left += before.find(name(i)) != before.npos;
    ASSERT_GT(left, 5) << "or there were nothing to test";
    const absl::Status status = Scrub(*store);
    ASSERT_TRUE(status.ok()) << status;
    const std::string file = File();
    const auto reader = *store->Read();
    for (size_t i = 0; i < kMany; ++i) {
      const bool there = Get(*reader, Table::kNames, name(i)) != "none";
      if (there) {
        EXPECT_EQ(Get(*reader, Table::kNames, name(i)), value(i));
      } else {
        EXPECT_EQ(file.find(name(i)), std::string::npos) << i;
      }
      EXPECT_TRUE(there || i % 5 == 0);
    }
  }
}

}  // namespace
}  // namespace heft
