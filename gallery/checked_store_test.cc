// SPDX-License-Identifier: Apache-2.0
#include "gallery/checked_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/testing.h"

namespace heft {
namespace {

StoreKey CopyOf(StoreKey key) {
  key.insert(key.begin(), 0xFF);
  return key;
}

class CheckedStoreTest : public ::testing::Test {
 protected:
  CheckedStoreTest() : store_(*OpenStore(folder_ / "store", StoreMode::kCreate)) {
    const auto lock = *store_->Lock(absl::Seconds(1));
    const auto writer = *WriteChecked(store_.get(), *lock);
    for (uint64_t run = 0; run < 8; ++run) {
      const std::vector<uint8_t> value(100, static_cast<uint8_t>(run));
      EXPECT_TRUE(writer->Put(Table::kRoster, RunKey(1, run), value).ok());
    }
    EXPECT_TRUE(writer->Commit().ok());
  }
  // Put: bytes without a new checksum; none: deletes.
  void Put(const StoreKey& key, const std::vector<uint8_t>& bytes) {
    const auto lock = *store_->Lock(absl::Seconds(1));
    const auto writer = *store_->Write(*lock);
    EXPECT_TRUE((bytes.empty() ? writer->Delete(Table::kRoster, key)
                               : writer->Put(Table::kRoster, key, bytes))
                    .ok());
    EXPECT_TRUE(writer->Commit().ok());
  }
  std::vector<uint8_t> Raw(const StoreKey& key) {
    const auto reader = *store_->Read();
    const auto value = *reader->Get(Table::kRoster, key);
    return value ? std::vector<uint8_t>(value->begin(), value->end()) : std::vector<uint8_t>();
  }
  bool IsIntact(const StoreKey& key) {
    const auto reader = *store_->Read();
    const auto found = *FindDamage(*reader, std::nullopt);
    const auto at = std::ranges::find(found, key, &Damage::key);
    EXPECT_NE(at, found.end());
    return at != found.end() && at->intact;
  }

  const testing::TemporaryFolder folder_;
  const std::shared_ptr<Store> store_;
};

// A page of copies is lost, so all other records have one copy.
TEST_F(CheckedStoreTest, ABrokenRecordIsKeptWhenOtherCopiesAreLost) {
  for (uint64_t run = 0; run < 8; ++run) Put(CopyOf(RunKey(1, run)), {});
  std::vector<uint8_t> bytes = Raw(RunKey(1, 3));
  bytes[5] ^= 1;
  Put(RunKey(1, 3), bytes);
  EXPECT_FALSE(IsIntact(RunKey(1, 3)));
  EXPECT_TRUE(IsIntact(RunKey(1, 4)));
}

TEST_F(CheckedStoreTest, ARecordAtAWrongKeyIsIntactOnlyIfItsOtherCopyIs) {
  Put(RunKey(1, 19), Raw(RunKey(1, 3)));  // 3 with one flipped bit
  Put(RunKey(1, 3), {});
  EXPECT_TRUE(IsIntact(RunKey(1, 19)));
  Put(CopyOf(RunKey(1, 3)), {});
  EXPECT_FALSE(IsIntact(RunKey(1, 19)));
}

}  // namespace
}  // namespace heft
