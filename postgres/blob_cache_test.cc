// SPDX-License-Identifier: Apache-2.0
#include "postgres/blob_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/testing.h"
#include "store/testing.h"

namespace heft {
namespace {

using store_testing::InChild;
using store_testing::Long;
using ::testing::HasSubstr;

constexpr uint64_t kMuch = uint64_t{1} << 30;

class BlobCacheTest : public ::testing::Test {
 protected:
  std::shared_ptr<BlobCache> Open(uint64_t most = kMuch) {
    return *BlobCache::Open(Folder(), most);
  }
  std::string Folder() const { return folder_ / "state/blobs"; }
  std::string PathOf(const Hash& hash) const { return Folder() + "/" + HexString(hash); }
  uint64_t Bytes() const {
    uint64_t sum = 0;
    for (const auto& file : std::filesystem::directory_iterator(Folder())) sum += file.file_size();
    return sum;
  }
  const testing::TemporaryFolder folder_;
  const std::vector<uint8_t> bytes_ = Long(200'000, 7);
  const Hash hash_ = HashBytes(bytes_);
};

void ExpectIs(const std::shared_ptr<const Blob>& blob, ByteSpan bytes) {
  ASSERT_NE(blob, nullptr);
  EXPECT_TRUE(std::ranges::equal(blob->bytes(), bytes));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(blob->bytes().data()) % kValueAlignment, kValueOffset);
}

TEST_F(BlobCacheTest, KeepsWhatIsFetchedForAllProcesses) {
  const auto cache = Open();
  EXPECT_EQ(cache->Find(hash_, bytes_.size()), nullptr);
  ExpectIs(*cache->Keep(hash_, bytes_), bytes_);
  ExpectIs(cache->Find(hash_, bytes_.size()), bytes_);
  ExpectIs(Open()->Find(hash_, bytes_.size()), bytes_);
  struct stat info;
  ASSERT_EQ(stat(Folder().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700);
}

TEST_F(BlobCacheTest, TakesNothingThatHasAnotherHash) {
  const auto cache = Open();
  EXPECT_EQ(cache->Keep(hash_, Long(200'000, 8)).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(cache->Find(hash_, bytes_.size()), nullptr);
}

// Each byte of a header, and some of the value; one byte less, and one more.
TEST_F(BlobCacheTest, DamagedFilesAreRemoved) {
  ASSERT_TRUE(Open()->Keep(hash_, bytes_).ok());
  const std::vector<uint8_t> whole = *ReadFile(PathOf(hash_));
  const auto look = [&](ByteSpan file) {
    ASSERT_TRUE(WriteFile(PathOf(hash_), file).ok());
    const auto cache = Open();
    EXPECT_EQ(cache->Find(hash_, bytes_.size()), nullptr);
    EXPECT_EQ(cache->use().damaged, 1);
    EXPECT_FALSE(FileExists(PathOf(hash_)));
    ExpectIs(*cache->Keep(hash_, bytes_), bytes_);
  };
  for (size_t i = 0; i < whole.size(); i += i < 80 ? 1 : 9973) {
    SCOPED_TRACE(i);
    std::vector<uint8_t> damaged = whole;
    damaged[i] ^= 1;
    look(damaged);
  }
  look(ByteSpan(whole).first(whole.size() - 1));
  look({});
  std::vector<uint8_t> more = whole;
  more.push_back(0);
  look(more);
  // Another blob under this one's name.
  const auto other = Long(200'000, 9);
  ASSERT_TRUE(Open()->Keep(HashBytes(other), other).ok());
  look(*ReadFile(PathOf(HashBytes(other))));
}

TEST_F(BlobCacheTest, StaysWithinItsBound) {
  const auto cache = Open(1'000'000);
  std::vector<Hash> hashes;
  for (uint32_t i = 0; i < 20; ++i) {
    const auto bytes = Long(100'000, i);
    hashes.push_back(HashBytes(bytes));
    ExpectIs(*cache->Keep(hashes.back(), bytes), bytes);
    EXPECT_LE(Bytes(), 1'000'000);
  }
  ExpectIs(cache->Find(hashes.back(), 100'000), Long(100'000, 19));
  EXPECT_EQ(cache->Find(hashes.front(), 100'000), nullptr);
  // Larger than the limit: in memory only.
  const auto large = Long(1'100'000, 1);
  ExpectIs(*cache->Keep(HashBytes(large), large), large);
  EXPECT_EQ(cache->Find(HashBytes(large), large.size()), nullptr);
}

// A held blob stays valid when its file is removed.
TEST_F(BlobCacheTest, EvictedAndWipedBlobsStayForWhoeverHasThem) {
  const auto cache = Open(500'000);
  const auto held = *cache->Keep(hash_, bytes_);
  for (uint32_t i = 100; i < 110; ++i)
    ASSERT_TRUE(cache->Keep(HashBytes(Long(100'000, i)), Long(100'000, i)).ok());
  EXPECT_FALSE(FileExists(PathOf(hash_)));
  ExpectIs(held, bytes_);
}

// Another process wipes a blob, and the same value returns: zeros of a map are not taken for it.
TEST_F(BlobCacheTest, WipedBlobsAreGoneForAll) {
  const auto cache = Open(), others = Open();
  const auto kept = Long(70'000, 3);
  ASSERT_TRUE(cache->Keep(hash_, bytes_).ok());
  ASSERT_TRUE(cache->Keep(HashBytes(kept), kept).ok());
  // A second name shows the file's bytes afterwards.
  std::filesystem::create_hard_link(PathOf(hash_), folder_ / "second");
  ASSERT_TRUE(others->Wipe([&](const Hash& hash) { return hash == HashBytes(kept); }).ok());
  EXPECT_FALSE(FileExists(PathOf(hash_)));
  EXPECT_EQ(*ReadFile(folder_ / "second"), std::vector<uint8_t>(80 + bytes_.size()));
  EXPECT_EQ(cache->Find(hash_, bytes_.size()), nullptr);
  ExpectIs(*others->Keep(hash_, bytes_), bytes_);
  ExpectIs(cache->Find(hash_, bytes_.size()), bytes_);
  ExpectIs(cache->Find(HashBytes(kept), kept.size()), kept);
}

TEST_F(BlobCacheTest, ServesWhereTheFolderTakesNothing) {
  // A file is where its folder would be.
  ASSERT_TRUE(WriteFile(folder_ / "file", bytes_).ok());
  const auto cache = BlobCache::Open(folder_ / "file/blobs", kMuch);
  ASSERT_TRUE(cache.ok()) << cache.status();
  ExpectIs(*(*cache)->Keep(hash_, bytes_), bytes_);
  EXPECT_EQ((*cache)->Find(hash_, bytes_.size()), nullptr);
  EXPECT_EQ((*cache)->use().refused, 1);
  // A limit on file size simulates a full disk.
  EXPECT_EQ(InChild([&] {
              const rlimit limit = {50'000, 50'000};
              if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
              const auto full = Open();
              const auto blob = full->Keep(hash_, bytes_);
              return blob.ok() && std::ranges::equal((*blob)->bytes(), bytes_) &&
                     full->use().refused == 1;
            }),
            0);
  EXPECT_EQ(Bytes(), 0) << "what was begun is removed";
}

TEST_F(BlobCacheTest, IsThisUsersAlone) {
  std::filesystem::create_directories(Folder());
  ASSERT_EQ(chmod(Folder().c_str(), 0755), 0);
  const auto open = BlobCache::Open(Folder(), kMuch).status();
  EXPECT_EQ(open.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(open.ToString(), HasSubstr("chmod 700"));
  std::filesystem::create_directory_symlink(Folder(), folder_ / "link");
  ASSERT_EQ(chmod(Folder().c_str(), 0700), 0);
  EXPECT_FALSE(BlobCache::Open(folder_ / "link", kMuch).ok());
  // A file that others may write to is not used.
  ASSERT_TRUE(Open()->Keep(hash_, bytes_).ok());
  ASSERT_EQ(chmod(PathOf(hash_).c_str(), 0666), 0);
  EXPECT_EQ(Open()->Find(hash_, bytes_.size()), nullptr);
}

// Threads and processes fill, evict and wipe one folder. Each sees the right bytes or none.
TEST_F(BlobCacheTest, ManyAtATime) {
  constexpr uint32_t kBlobs = 12;
  const auto work = [&](uint32_t seed) {
    const auto cache = Open(400'000);
    for (uint32_t i = 0; i < 60; ++i) {
      const uint32_t which = (i * 7 + seed) % kBlobs;
      const auto bytes = Long(70'000, which);
      const Hash hash = HashBytes(bytes);
      auto blob = cache->Find(hash, bytes.size());
      if (blob == nullptr) blob = *cache->Keep(hash, bytes);
      if (!std::ranges::equal(blob->bytes(), bytes)) return false;
    }
    return true;
  };
  std::vector<pid_t> children;
  for (uint32_t c = 0; c < 2; ++c) {
    children.push_back(fork());
    if (children.back() == 0) _exit(work(5 * c) ? 0 : 1);
  }
  std::atomic<bool> good = true;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] { good = work(3 * t + 1) && good; });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(good);
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

}  // namespace
}  // namespace heft
