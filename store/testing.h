// SPDX-License-Identifier: Apache-2.0
// Shared by tests of stores.
#ifndef HEFT_STORE_TESTING_H_
#define HEFT_STORE_TESTING_H_

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/testing.h"
#include "store/store.h"

namespace heft::store_testing {

inline constexpr absl::Duration kLong = absl::Seconds(60);

inline std::string Text(ByteSpan bytes) { return {bytes.begin(), bytes.end()}; }

// Long: bytes from a seed; no eight of them are equal to another eight.
inline std::vector<uint8_t> Long(size_t size, uint32_t seed) {
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
inline absl::Status Change(Store& store, const std::function<absl::Status(StoreWriter&)>& change) {
  HEFT_ASSIGN_OR_RETURN(const auto lock, store.Lock(kLong));
  HEFT_ASSIGN_OR_RETURN(const auto writer, store.Write(*lock));
  HEFT_RETURN_IF_ERROR(change(*writer));
  return writer->Commit();
}

inline absl::Status Put(Store& store, Table table, std::string_view key, ByteSpan value) {
  return Change(store, [&](StoreWriter& w) { return w.Put(table, AsBytes(key), value); });
}

inline std::string Get(const StoreReader& reader, Table table, std::string_view key) {
  const auto value = reader.Get(table, AsBytes(key));
  if (!value.ok()) return value.status().ToString();
  return value->has_value() ? Text(**value) : "none";
}

inline std::string Get(const Store& store, Table table, std::string_view key) {
  return Get(**store.Read(), table, key);
}

inline std::vector<std::string> Keys(const StoreReader& reader, Table table,
                                     std::string_view from = {}, size_t most = SIZE_MAX) {
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

// InChild: runs an action in a forked process; returns its exit status.
inline int InChild(const std::function<bool()>& action) {
  const pid_t child = fork();
  if (child == 0) _exit(action() ? 0 : 1);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// StoreBytes: all files of the store in a folder, one after another.
inline std::vector<uint8_t> StoreBytes(const std::string& folder) {
  std::vector<uint8_t> all;
  for (const char* const name : {"store.sqlite", "store.sqlite-wal", "store.blocks"}) {
    const auto file = ReadFile(folder + "/" + name, uint64_t{1} << 32);
    EXPECT_TRUE(file.ok()) << file.status();
    if (file.ok()) all.insert(all.end(), file->begin(), file->end());
  }
  return all;
}

// RunSql: as another program does it, behind the store's back. The rows that it changed.
inline int RunSql(const std::string& folder, const std::string& sql) {
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open(absl::StrCat(folder, "/store.sqlite").c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  const int changes = sqlite3_changes(database);
  sqlite3_close(database);
  return changes;
}

// MemoryStore: keeps a store's promises in memory, while it lives (Copy: kUnimplemented).
std::shared_ptr<Store> MemoryStore();

// StoreKind: a kind of store, for which the suite (store_test.cc) runs. A program with the suite
// defines StoreKinds. `make` returns nothing if this machine lacks something that the kind needs.
struct StoreKind {
  std::string name;
  std::function<std::shared_ptr<Store>(const std::string& folder)> make;
};
std::vector<StoreKind> StoreKinds();

// FolderStoreTest: a store in a folder of its own.
class FolderStoreTest : public ::testing::Test {
 protected:
  std::string Folder() const { return folder_ / "store"; }
  std::shared_ptr<Store> Make() const { return *OpenStore(Folder(), StoreMode::kCreate); }

  const testing::TemporaryFolder folder_;
};

}  // namespace heft::store_testing

#endif  // HEFT_STORE_TESTING_H_
