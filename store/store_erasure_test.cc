// SPDX-License-Identifier: Apache-2.0
// Deleted data is in no file of the store after a successful scrub, also after kills, disks that
// failed, changes that were given up, long readers, failed scrubs.
//
// HEFT_STORE_HISTORIES=N: so many random histories, 30 without it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "store/recorded_disk.h"
#include "store/testing.h"

namespace heft {
namespace {

using namespace store_testing;

class StoreErasureTest : public FolderStoreTest {
 protected:
  ~StoreErasureTest() override { g_disk = {}; }

  uint32_t Draw(uint32_t below) {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return static_cast<uint32_t>(random_ >> 32) % below;
  }
  // Value: of any length; what a person had goes to `theirs_`.
  std::vector<uint8_t> Value(bool theirs) {
    const size_t size = Draw(2) == 0 ? 40 + Draw(600) : 1000 + Draw(60'000);
    std::vector<uint8_t> value = Long(size, ++seed_);
    if (theirs) theirs_.push_back(value);
    return value;
  }
  // Some changes: of a person's entries, and of others'.
  std::function<absl::Status(StoreWriter&)> Some() {
    struct One {
      Table table;
      std::string key;
      std::optional<std::vector<uint8_t>> value;
    };
    std::vector<One> all;
    for (uint32_t i = 0, n = 1 + Draw(6); i < n; ++i) {
      const bool theirs = Draw(2) == 0;
      One one = {static_cast<Table>(Draw(4)),
                 absl::StrCat(theirs ? "ann " : "bob ", Draw(theirs ? 4 : 40)), std::nullopt};
      if (Draw(4) != 0) one.value = Value(theirs);
      all.push_back(std::move(one));
    }
    return [all](StoreWriter& w) -> absl::Status {
      for (const One& one : all) {
        HEFT_RETURN_IF_ERROR(one.value ? w.Put(one.table, AsBytes(one.key), *one.value)
                                       : w.Delete(one.table, AsBytes(one.key)));
      }
      return absl::OkStatus();
    };
  }
  static absl::Status Scrub(Store& store, absl::Duration wait) {
    HEFT_ASSIGN_OR_RETURN(const auto lock, store.Lock(kLong));
    return store.Scrub(*lock, wait);
  }
  static absl::Status Remove(StoreWriter& w) {
    for (size_t table = 0; table < 4; ++table) {
      for (int key = 0; key < 4; ++key) {
        HEFT_RETURN_IF_ERROR(
            w.Delete(static_cast<Table>(table), AsBytes(absl::StrCat("ann ", key))));
      }
    }
    return absl::OkStatus();
  }
  // Left: windows of what a person had that are in a file.
  size_t Left() const {
    std::string all;
    for (const auto& entry : std::filesystem::directory_iterator(Folder())) {
      all += *ReadTextFile(entry.path().string());
    }
    // Windows that begin at multiples of 8 in a value, by their first bytes.
    constexpr size_t kWindow = 12;
    size_t left = 0;
    for (const auto& value : theirs_) {
      for (size_t at = 0; at + kWindow <= value.size();
           at += std::max<size_t>(8, value.size() / 8)) {
        left += all.find(std::string_view(reinterpret_cast<const char*>(value.data()) + at,
                                          kWindow)) != all.npos;
      }
    }
    return left;
  }

  void Live(uint64_t seed) {
    random_ = seed * 0x9E3779B97F4A7C15 + 1;
    theirs_.clear();
    std::filesystem::remove_all(Folder());
    const auto store = Make();
    g_disk = DiskOf(Folder());
    std::vector<std::unique_ptr<StoreReader>> readers;
    for (int step = 0; step < 14; ++step) {
      const auto change = Some();
      g_disk.calls = 0;
      g_disk.error = Draw(2) == 0 ? EIO : ENOSPC;
      g_disk.for_good = Draw(2) == 0;
      switch (Draw(7)) {
        case 0:  // given up
          (void)Change(*store, [&](StoreWriter& w) -> absl::Status {
            HEFT_RETURN_IF_ERROR(change(w));
            return absl::CancelledError("");
          });
          break;
        case 1:  // killed
          InChild([&] {
            g_disk.kill_at = static_cast<int>(Draw(14));
            (void)Change(*Make(), change);
            return true;
          });
          break;
        case 2:  // the disk fails
          g_disk.fail_at = static_cast<int>(Draw(14));
          (void)Change(*store, change);
          break;
        case 3:
          readers.push_back(*store->Read());
          break;
        case 4:
          readers.clear();
          g_disk.fail_at = Draw(2) == 0 ? -1 : static_cast<int>(Draw(12));
          (void)Scrub(*store, absl::ZeroDuration());
          break;
        default: {
          g_disk.fail_at = -1;
          const absl::Status status = Change(*store, change);
          ASSERT_TRUE(status.ok()) << status;
        }
      }
      g_disk.fail_at = -1;
    }
    readers.clear();
    const absl::Status removed = Change(*store, Remove);
    ASSERT_TRUE(removed.ok()) << removed;
    held_ += Left() > 0;
    const absl::Status scrubbed = Scrub(*store, kLong);
    ASSERT_TRUE(scrubbed.ok()) << scrubbed;
    ASSERT_EQ(Left(), 0);
    // Nor does it come back, from memory or with a power loss.
    ASSERT_TRUE(Change(*store, [](StoreWriter& w) {
                  return w.Put(Table::kCatalog, AsBytes("bob 1"), AsBytes("1"));
                }).ok());
    ASSERT_EQ(Left(), 0);
    const absl::Status whole = store->Check();
    ASSERT_TRUE(whole.ok()) << whole;
  }

  uint64_t random_ = 1;
  uint32_t seed_ = 0;
  std::vector<std::vector<uint8_t>> theirs_;
  int held_ = 0;  // histories after which something was left before the scrub
};

TEST_F(StoreErasureTest, WhateverWentBefore) {
  const char* const given = std::getenv("HEFT_STORE_HISTORIES");
  const int histories = given == nullptr ? 30 : std::atoi(given);
  for (int i = 1; i <= histories; ++i) {
    SCOPED_TRACE(absl::StrCat("history ", i));
    ASSERT_NO_FATAL_FAILURE(Live(i));
  }
  EXPECT_GT(held_, histories / 2) << "or there were nothing to test";
}

// Space that deleted values had goes back to the file system.
TEST_F(StoreErasureTest, FilesShrink) {
  const auto store = Make();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(Put(*store, Table::kBlocks, absl::StrCat(i), Long(1'000'000, i)).ok());
  }
  const uint64_t full = store->Statistics()->bytes;
  EXPECT_GT(full, 20'000'000);
  ASSERT_TRUE(Change(*store, [](StoreWriter& w) -> absl::Status {
                for (int i = 0; i < 20; i += i == 9 ? 2 : 1) {
                  HEFT_RETURN_IF_ERROR(w.Delete(Table::kBlocks, AsBytes(absl::StrCat(i))));
                }
                return absl::OkStatus();
              }).ok());
  EXPECT_GT(store->Statistics()->free_bytes, 18'000'000);
  ASSERT_TRUE(Scrub(*store, kLong).ok());
  EXPECT_LT(store->Statistics()->bytes, 2'500'000);
  EXPECT_EQ(Get(*store, Table::kBlocks, "10"), Text(Long(1'000'000, 10)));
}

// Without scrubs, too: replaced values do not let the files grow without end.
TEST_F(StoreErasureTest, FilesDoNotGrowWithoutEnd) {
  const auto store = Make();
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(Put(*store, Table::kBlocks, absl::StrCat(i % 3), Long(1'000'000, i)).ok());
  }
  EXPECT_LT(store->Statistics()->bytes, 110'000'000) << "of 300 MB";
}

}  // namespace
}  // namespace heft
