// SPDX-License-Identifier: Apache-2.0
// Stores that are damaged, cut off, of another version, or not writable: each gives its error and
// no crash. Code that may crash runs in a child process.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lmdb.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/testing.h"
#include "gallery/store.h"
#include "gallery/store_pages.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(60);
constexpr size_t kPage = 4096;

class StoreDamageTest : public ::testing::Test {
 protected:
  StoreDamageTest() {
    const auto store = *OpenStore(Folder(), StoreMode::kCreate);
    // Trees of two levels, long values, and a list of free pages.
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(Fill(*store, i).ok());
    good_ = *ReadFile(File());
  }

  std::string Folder() const { return folder_ / "store"; }
  std::string File() const { return Folder() + "/store.mdb"; }

  static absl::Status Fill(Store& store, int round) {
    HEFT_ASSIGN_OR_RETURN(const auto lock, store.Lock(kLong));
    HEFT_ASSIGN_OR_RETURN(const auto writer, store.Write(*lock));
    for (int i = 0; i < 400; ++i) {
      const std::string key = absl::StrCat("name ", i * 7919 % 1000), value(100, 'a' + round);
      HEFT_RETURN_IF_ERROR(writer->Put(Table::kNames, AsBytes(key), AsBytes(value)));
      if (i % 3 == round % 3) HEFT_RETURN_IF_ERROR(writer->Delete(Table::kNames, AsBytes(key)));
      if (i % 40 != 0) continue;
      HEFT_RETURN_IF_ERROR(
          writer->Put(Table::kBlocks, AsBytes(key), AsBytes(std::string(5000 + i, 'b'))));
    }
    return writer->Commit();
  }

  void Write(const std::vector<uint8_t>& bytes) const {
    std::ofstream(File(), std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  // Use: every operation on a store, until one fails.
  absl::Status Use(bool check) const {
    HEFT_ASSIGN_OR_RETURN(const auto store, OpenStore(Folder(), StoreMode::kWrite));
    if (check) HEFT_RETURN_IF_ERROR(store->Check());
    HEFT_ASSIGN_OR_RETURN(auto reader, store->Read());
    for (size_t i = 0; i < kTables; ++i) {
      HEFT_RETURN_IF_ERROR(
          reader->Scan(static_cast<Table>(i), {}, [](ByteSpan key, ByteSpan value) {
            volatile uint8_t sum = 0;  // reads every byte
            for (const uint8_t byte : key) sum = sum + byte;
            for (const uint8_t byte : value) sum = sum + byte;
            return true;
          }));
    }
    reader = nullptr;
    HEFT_RETURN_IF_ERROR(Fill(*store, 5));
    HEFT_ASSIGN_OR_RETURN(const auto lock, store->Lock(kLong));
    return store->Scrub(*lock, absl::ZeroDuration());
  }

  // UseInChild: -1 if it crashed, otherwise the status' code.
  int UseInChild(bool check) const {
    const pid_t child = fork();
    if (child == 0) _exit(static_cast<int>(Use(check).code()));
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  const testing::TemporaryFolder folder_;
  std::vector<uint8_t> good_;
};

// Flipped bytes anywhere cause no crash, with or without a check of the whole store.
TEST_F(StoreDamageTest, FlippedBytes) {
  uint64_t random = 1;
  const auto draw = [&](size_t below) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return (random >> 20) % below;
  };
  // Pages with entries, by their unused bytes, and the two meta pages.
  std::vector<size_t> pages = {0, 1};
  PageWalk walk(good_, kPage);
  walk.unused = [&](uint64_t at, size_t) { pages.push_back(at / kPage); };
  const size_t newest = ReadMeta(good_)->state < ReadMeta(ByteSpan(good_).subspan(kPage))->state;
  ASSERT_TRUE(walk.Walk(*ReadMeta(ByteSpan(good_).subspan(newest * kPage))).ok());
  std::map<int, int> codes;
  const char* const given = std::getenv("HEFT_STORE_FLIPS");
  const int flips = given == nullptr ? 300 : std::atoi(given);
  for (int i = 0; i < flips; ++i) {
    std::vector<uint8_t> bad = good_;
    const size_t page = i % 4 == 0 ? draw(good_.size() / kPage) : pages[draw(pages.size())];
    for (size_t n = 0; n < 1 + draw(3); ++n) {
      bad[page * kPage + (i % 2 == 0 ? draw(160) : draw(kPage))] ^= 1 << draw(8);
    }
    Write(bad);
    const int code = UseInChild(i % 3 != 0);
    EXPECT_NE(code, -1) << "flip " << i << " of page " << page;
    ++codes[code];
  }
  EXPECT_GT(codes[static_cast<int>(absl::StatusCode::kDataLoss)], 50);
  for (const auto& [code, count] : codes) RecordProperty(absl::StrCat("code_", code), count);
}

TEST_F(StoreDamageTest, ATruncatedFile) {
  for (size_t size = 0; size < good_.size(); size += size < 3 * kPage ? 512 : 3 * kPage) {
    Write({good_.begin(), good_.begin() + size});
    const auto store = OpenStore(Folder(), StoreMode::kRead);
    if (store.ok()) {
      // Free pages at the end may be missing.
      EXPECT_EQ(UseInChild(true), 0) << size;
      continue;
    }
    EXPECT_EQ(store.status().code(), absl::StatusCode::kDataLoss) << store.status();
    EXPECT_THAT(store.status().ToString(), HasSubstr("restore a snapshot"));
    EXPECT_THAT(store.status().ToString(), HasSubstr(Folder()));
  }
  Write(good_);
  EXPECT_EQ(UseInChild(false), 0);
}

TEST_F(StoreDamageTest, AnotherVersion) {
  MDB_env* env = nullptr;
  MDB_txn* txn = nullptr;
  MDB_dbi names;
  ASSERT_EQ(mdb_env_create(&env), 0);
  ASSERT_EQ(mdb_env_open(env, File().c_str(), MDB_NOSUBDIR, 0600), 0);
  ASSERT_EQ(mdb_txn_begin(env, nullptr, 0, &txn), 0);
  ASSERT_EQ(mdb_dbi_open(txn, nullptr, 0, &names), 0);
  uint8_t version = 2;
  std::string name = "heft store";
  MDB_val key = {name.size(), name.data()}, value = {1, &version};
  ASSERT_EQ(mdb_put(txn, names, &key, &value, 0), 0);
  ASSERT_EQ(mdb_txn_commit(txn), 0);
  mdb_env_close(env);
  const absl::Status status = OpenStore(Folder(), StoreMode::kWrite).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("another version (2"));
}

TEST_F(StoreDamageTest, SomethingElse) {
  Write(std::vector<uint8_t>(100'000, 'x'));
  EXPECT_EQ(OpenStore(Folder(), StoreMode::kWrite).status().code(), absl::StatusCode::kDataLoss);
  std::filesystem::remove(File());
  std::filesystem::create_directory(File());
  EXPECT_FALSE(StoreExists(Folder()));
}

// Few descriptors and little address space.
TEST_F(StoreDamageTest, Limits) {
  const auto limited = [&](int what, rlim_t limit) {
    const pid_t child = fork();
    if (child == 0) {
      rlimit few = {limit, limit};
      setrlimit(static_cast<__rlimit_resource>(what), &few);
      const auto store = OpenStore(Folder(), StoreMode::kWrite);
      const absl::Status status = store.ok() ? Fill(**store, 1) : store.status();
      const bool said = status.ok() || status.ToString().find("ulimit") != std::string::npos ||
                        status.ToString().find("Too many open files") != std::string::npos;
      if (!said) _exit(99);
      _exit(static_cast<int>(status.code()));
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they use all addresses
  EXPECT_EQ(limited(RLIMIT_AS, rlim_t{1} << 30), 0);
#endif
  for (rlim_t files = 3; files < 9; ++files) {
    const int code = limited(RLIMIT_NOFILE, files);
    EXPECT_TRUE(code == 0 || code == static_cast<int>(absl::StatusCode::kUnavailable)) << code;
  }
  EXPECT_EQ(limited(RLIMIT_NOFILE, 3), static_cast<int>(absl::StatusCode::kUnavailable));
}

TEST_F(StoreDamageTest, TooManyReaders) {
  const auto store = *OpenStore(Folder(), StoreMode::kWrite);
  std::vector<std::unique_ptr<StoreReader>> readers;
  absl::Status status;
  while (status.ok() && readers.size() < 2000) {
    auto reader = store->Read();
    status = reader.status();
    if (reader.ok()) readers.push_back(*std::move(reader));
  }
  EXPECT_EQ(readers.size(), 1024);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("end some"));
  readers.pop_back();
  EXPECT_TRUE(store->Read().ok());
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they use all addresses
// The reading process can map little memory; the other one writes more than that.
TEST_F(StoreDamageTest, AStoreGrowsBeyondTheMapOfOneWhoReadsIt) {
  int to_child[2], from_child[2];
  ASSERT_EQ(pipe2(to_child, O_CLOEXEC) + pipe2(from_child, O_CLOEXEC), 0);
  char byte = 0;
  const pid_t child = fork();
  if (child == 0) {
    rlimit little = {rlim_t{160} << 20, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &little);
    const auto store = OpenStore(Folder(), StoreMode::kRead);
    if (!store.ok() || !(*store)->Read().ok()) _exit(1);
    if (write(from_child[1], &byte, 1) != 1 || read(to_child[0], &byte, 1) != 1) _exit(2);
    const absl::Status status = (*store)->Read().status();
    if (!absl::IsUnavailable(status)) _exit(3);
    if (status.ToString().find("ulimit -v") == std::string::npos) _exit(4);
    little.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_AS, &little);
    _exit((*store)->Read().ok() ? 0 : 5);
  }
  ASSERT_EQ(read(from_child[0], &byte, 1), 1);
  {
    const auto store = *OpenStore(Folder(), StoreMode::kWrite);
    const auto lock = *store->Lock(kLong);
    const auto writer = *store->Write(*lock);
    for (const std::string key : {"1", "2", "3", "4"}) {
      ASSERT_TRUE(writer->Put(Table::kBlocks, AsBytes(key), std::vector<uint8_t>(40'000'000)).ok());
    }
    ASSERT_TRUE(writer->Commit().ok());
  }
  ASSERT_EQ(write(to_child[1], &byte, 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}
#endif

}  // namespace
}  // namespace heft
