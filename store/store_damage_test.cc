// SPDX-License-Identifier: Apache-2.0
// Stores that are damaged, cut off, of another version, or not writable: each gives its error and
// no crash. Code that may crash runs in a child process.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/testing.h"
#include "store/folder.h"
#include "store/store.h"
#include "store/testing.h"

namespace heft {
namespace {

using store_testing::kLong;
using store_testing::RunSql;
using ::testing::HasSubstr;

constexpr size_t kPage = 4096;

class StoreDamageTest : public ::testing::Test {
 protected:
  StoreDamageTest() {
    {
      const auto store = *OpenStore(Folder(), StoreMode::kCreate);
      // Trees of two levels, long values, and free pages.
      for (int i = 0; i < 4; ++i) EXPECT_TRUE(Fill(*store, i).ok());
    }
    // The log's contents go to the database. A connection that has read nothing finds no log.
    RunSql(Folder(), "SELECT * FROM store; PRAGMA wal_checkpoint(TRUNCATE)");
    good_ = *ReadFile(File());
    blocks_ = *ReadFile(BlocksPath(Folder()));
  }

  std::string Folder() const { return folder_ / "store"; }
  std::string File() const { return StorePath(Folder()); }

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

  static void WriteTo(const std::string& path, const std::vector<uint8_t>& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  // Write: this database, without a log, and these blocks.
  void Write(const std::vector<uint8_t>& database, const std::vector<uint8_t>& blocks) const {
    WriteTo(File(), database);
    WriteTo(File() + "-wal", {});
    WriteTo(BlocksPath(Folder()), blocks);
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
  std::vector<uint8_t> good_, blocks_;
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
  std::vector<size_t> pages;  // of the database, with entries: their first byte is a kind of page
  for (size_t page = 0; page < good_.size() / kPage; ++page) {
    const uint8_t kind = good_[page * kPage];
    if (page == 0 || kind == 2 || kind == 5 || kind == 10 || kind == 13) pages.push_back(page);
  }
  std::map<int, int> codes;
  const char* const given = std::getenv("HEFT_STORE_FLIPS");
  const int flips = given == nullptr ? 300 : std::atoi(given);
  for (int i = 0; i < flips; ++i) {
    std::vector<uint8_t> bad = good_, bad_blocks = blocks_;
    std::vector<uint8_t>& damaged = i % 5 == 0 ? bad_blocks : bad;
    const size_t page = i % 5 == 0 ? draw(damaged.size() / kPage) : pages[draw(pages.size())];
    for (size_t n = 0; n < 1 + draw(3); ++n) {
      damaged[page * kPage + (i % 2 == 0 ? draw(i % 5 == 0 ? 16 : 32) : draw(kPage))] ^= 1
                                                                                         << draw(8);
    }
    Write(bad, bad_blocks);
    const int code = UseInChild(i % 3 != 0);
    EXPECT_NE(code, -1) << "flip " << i << " of page " << page;
    ++codes[code];
  }
  EXPECT_GT(codes[static_cast<int>(absl::StatusCode::kDataLoss)], flips / 6);
  for (const auto& [code, count] : codes) RecordProperty(absl::StrCat("code_", code), count);
}

// A page of a table that cannot be read hides the rows behind it; Rebuild finds all but its own.
TEST_F(StoreDamageTest, RebuildKeepsAllRowsOfOtherPages) {
  const auto names = [&](const StoreReader& reader, absl::Status* status) {
    size_t count = 0;
    *status = reader.Scan(Table::kNames, {}, [&](ByteSpan, ByteSpan) { return ++count > 0; });
    return count;
  };
  absl::Status status;
  const size_t all = names(**(*OpenStore(Folder(), StoreMode::kWrite))->Read(), &status);
  ASSERT_TRUE(status.ok()) << status;
  // The last page with these rows.
  size_t page = 0;
  for (size_t at = 0; at < good_.size(); ++at) {
    if (std::memcmp(good_.data() + at, "name 5", 6) == 0) page = at / kPage;
  }
  std::vector<uint8_t> bad = good_;
  std::fill_n(bad.begin() + page * kPage, kPage, 0xA5);
  Write(bad, blocks_);
  const auto store = *OpenStore(Folder(), StoreMode::kWrite);
  const size_t before = names(**store->Read(), &status);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("the table other"));
  EXPECT_THAT(store->Check().ToString(), HasSubstr("the table other"));
  {
    const auto lock = *store->Lock(kLong);
    const auto rebuilt = store->Rebuild(*lock, kLong);
    ASSERT_TRUE(rebuilt.ok()) << rebuilt.status();
    EXPECT_TRUE(*rebuilt);
    const auto again = store->Rebuild(*lock, kLong);
    EXPECT_TRUE(again.ok() && !*again) << again.status();
  }
  EXPECT_TRUE(store->Check().ok()) << store->Check();
  const size_t after = names(**store->Read(), &status);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_GT(after, before);
  EXPECT_LT(after, all);
  EXPECT_GT(after + kPage / 100, all);
  EXPECT_TRUE(Fill(*store, 1).ok());
  EXPECT_EQ(UseInChild(true), 0);
}

// The damage is of a table that a rebuild does not read.
TEST_F(StoreDamageTest, RebuildKeepsWhatOtherProgramsMade) {
  Write(good_, blocks_);
  RunSql(
      Folder(),
      "CREATE TABLE \"an audit\" (who TEXT, twice TEXT AS (who || who), at INTEGER);"
      "CREATE TABLE keyed (a TEXT, b INTEGER, PRIMARY KEY (b, a)) WITHOUT ROWID;"
      "CREATE INDEX by_identity ON template (identity);"
      "CREATE VIEW people AS SELECT identity FROM template;"
      "CREATE TRIGGER noted AFTER INSERT ON keyed BEGIN INSERT INTO \"an audit\" (who) VALUES "
      "(new.a); END;"
      "CREATE TABLE \"pages read\" (\"it's \"\"one\"\"\" TEXT); INSERT INTO \"pages read\" VALUES "
      "('a'); ANALYZE;"
      "INSERT INTO keyed VALUES ('x', 1), ('y', 2);"
      "PRAGMA foreign_keys = OFF; DELETE FROM \"pages used\"");
  const auto store = *OpenStore(Folder(), StoreMode::kWrite);
  const auto lock = *store->Lock(kLong);
  const auto rebuilt = store->Rebuild(*lock, kLong);
  ASSERT_TRUE(rebuilt.ok()) << rebuilt.status();
  EXPECT_TRUE(*rebuilt);
  EXPECT_TRUE(store->Check().ok()) << store->Check();
  EXPECT_EQ(RunSql(Folder(), "UPDATE keyed SET b = b + 10"), 2);
  EXPECT_EQ(RunSql(Folder(), "UPDATE \"an audit\" SET at = 5 WHERE twice IN ('xx', 'yy')"), 2);
  EXPECT_EQ(RunSql(Folder(), "DELETE FROM \"pages read\" WHERE \"it's \"\"one\"\"\" = 'a'"), 1);
  EXPECT_EQ(RunSql(Folder(),
                   "DROP INDEX by_identity; DROP VIEW people; DROP TRIGGER noted;"
                   "DELETE FROM keyed"),
            2);
}

TEST_F(StoreDamageTest, RebuildNamesWhatItCannotMakeAgain) {
  Write(good_, blocks_);
  RunSql(Folder(), "CREATE VIRTUAL TABLE words USING fts5(word); DELETE FROM \"pages used\"");
  const auto store = *OpenStore(Folder(), StoreMode::kWrite);
  const auto rebuilt = store->Rebuild(**store->Lock(kLong), kLong);
  EXPECT_EQ(rebuilt.status().code(), absl::StatusCode::kFailedPrecondition) << rebuilt.status();
  EXPECT_THAT(rebuilt.status().ToString(), HasSubstr("words"));
  RunSql(Folder(), "DROP TABLE words");
  EXPECT_TRUE(*store->Rebuild(**store->Lock(kLong), kLong));
}

TEST_F(StoreDamageTest, RebuildCutsOffWhatIsNoWholePage) {
  std::vector<uint8_t> longer = good_;
  longer.resize(good_.size() + 100, 'x');
  Write(longer, blocks_);
  const auto store = *OpenStore(Folder(), StoreMode::kWrite);
  const auto lock = *store->Lock(kLong);
  const auto rebuilt = store->Rebuild(*lock, kLong);
  ASSERT_TRUE(rebuilt.ok()) << rebuilt.status();
  EXPECT_EQ(std::filesystem::file_size(File()) % kPage, 0u);
  EXPECT_TRUE(store->Check().ok()) << store->Check();
}

// A reader of the state before Rebuild may still have a block whose row Rebuild cannot read.
TEST_F(StoreDamageTest, RebuildGivesNobodyThePagesOfLostBlocks) {
  std::vector<uint8_t> bad = good_;
  for (size_t page = kPage; page < bad.size(); page += kPage) {
    const std::string_view text(reinterpret_cast<const char*>(bad.data()) + page, kPage);
    // The key of a block, and of a name.
    if (bad[page] != 10 || text.find("name 0") == std::string_view::npos) continue;
    std::fill_n(bad.begin() + page, kPage, 0xA5);
  }
  Write(bad, blocks_);
  const auto store = *OpenStore(Folder(), StoreMode::kWrite);
  const auto lock = *store->Lock(kLong);
  ASSERT_TRUE(*store->Rebuild(*lock, kLong));
  const std::vector<uint8_t> before = *ReadFile(BlocksPath(Folder()));
  {
    const auto writer = *store->Write(*lock);
    ASSERT_TRUE(writer->Put(Table::kBlocks, AsBytes("new"), AsBytes(std::string(5000, 'n'))).ok());
    ASSERT_TRUE(writer->Commit().ok());
  }
  const std::vector<uint8_t> after = *ReadFile(BlocksPath(Folder()));
  EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
  EXPECT_TRUE(store->Check().ok()) << store->Check();
}

TEST_F(StoreDamageTest, ATruncatedFile) {
  const auto refused = [&](const std::string& what) {
    const auto store = OpenStore(Folder(), StoreMode::kRead);
    if (store.ok()) {  // free pages were cut off
      EXPECT_EQ(UseInChild(true), 0) << what;
      return;
    }
    EXPECT_EQ(store.status().code(), absl::StatusCode::kDataLoss) << store.status();
    EXPECT_THAT(store.status().ToString(), HasSubstr("restore a snapshot"));
    EXPECT_THAT(store.status().ToString(), HasSubstr(Folder()));
  };
  for (size_t size = 0; size < good_.size(); size += size < 3 * kPage ? 512 : 3 * kPage) {
    Write({good_.begin(), good_.begin() + size}, blocks_);
    refused(absl::StrCat("database of ", size));
    ASSERT_FALSE(OpenStore(Folder(), StoreMode::kRead).ok()) << size;
  }
  for (size_t size = 0; size < blocks_.size(); size += size < 3 * kPage ? 512 : 7 * kPage) {
    Write(good_, {blocks_.begin(), blocks_.begin() + size});
    refused(absl::StrCat("blocks of ", size));
  }
  Write(good_, blocks_);
  EXPECT_EQ(UseInChild(false), 0);
}

TEST_F(StoreDamageTest, AnotherVersion) {
  RunSql(Folder(), "PRAGMA user_version = 3");
  const absl::Status status = OpenStore(Folder(), StoreMode::kWrite).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("another version (3"));
}

TEST_F(StoreDamageTest, BlocksOfAnotherStore) {
  ASSERT_TRUE(OpenStore(folder_ / "other", StoreMode::kCreate).ok());
  Write(good_, *ReadFile(BlocksPath(folder_ / "other")));
  const absl::Status status = OpenStore(Folder(), StoreMode::kWrite).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("another store"));
  std::filesystem::remove(BlocksPath(Folder()));
  EXPECT_THAT(OpenStore(Folder(), StoreMode::kWrite).status().ToString(), HasSubstr("is missing"));
}

// SQLite's own program can open a store that is in use.
TEST_F(StoreDamageTest, OthersReadIt) {
  const auto store = *OpenStore(Folder(), StoreMode::kWrite);
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(File().c_str(), &database), SQLITE_OK);
  int names = 0;
  const auto count = [](void* out, int, char** columns, char**) {
    *static_cast<int*>(out) = std::atoi(columns[0]);
    return 0;
  };
  for (int i = 1; i < 3; ++i) {
    ASSERT_EQ(
        sqlite3_exec(database, "SELECT count(*) FROM other WHERE kind = 5", count, &names, nullptr),
        SQLITE_OK);
    EXPECT_GT(names, 200);
    ASSERT_TRUE(Fill(*store, i).ok());
  }
  sqlite3_close(database);
  EXPECT_TRUE(Fill(*store, 3).ok());
  EXPECT_TRUE(store->Check().ok());
}

TEST_F(StoreDamageTest, SomethingElse) {
  Write(std::vector<uint8_t>(100'000, 'x'), blocks_);
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

// Readers of one state share a connection; of many states they need descriptors.
TEST_F(StoreDamageTest, ManyReaders) {
  const auto store = *OpenStore(Folder(), StoreMode::kWrite);
  std::vector<std::unique_ptr<StoreReader>> readers;
  for (int i = 0; i < 2000; ++i) readers.push_back(*store->Read());
  EXPECT_EQ(store->Statistics()->readers, 2000);
  readers.clear();
  const pid_t child = fork();
  if (child == 0) {
    rlimit few = {100, 100};
    setrlimit(RLIMIT_NOFILE, &few);
    const auto own = OpenStore(Folder(), StoreMode::kWrite);
    absl::Status status = own.status();
    while (status.ok() && readers.size() < 200) {
      auto reader = (*own)->Read();
      status = reader.status();
      if (!reader.ok()) break;
      readers.push_back(*std::move(reader));
      status = Fill(**own, static_cast<int>(readers.size()) % 9);
    }
    if (!absl::IsUnavailable(status) || readers.size() < 20) _exit(1);
    if (status.ToString().find("oo many open files") == std::string::npos) _exit(2);
    readers.clear();
    _exit((*own)->Read().ok() ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
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
    const auto get = [&] {
      return (**(*store)->Read()).Get(Table::kBlocks, AsBytes("4")).status();
    };
    const absl::Status status = get();
    if (!absl::IsUnavailable(status)) _exit(3);
    if (status.ToString().find("ulimit -v") == std::string::npos) _exit(4);
    little.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_AS, &little);
    _exit(get().ok() ? 0 : 5);
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
