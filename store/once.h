// SPDX-License-Identifier: Apache-2.0
// OnceTable: remembers things that must happen once, each until it expires. It detects repeated
// requests and keeps the answers to them.
//
// A file of SQLite (mode 0600, with -wal, -shm and .lock), for any number of threads and processes.
// It is not in store.sqlite, because a probe must not wait for a change of the gallery. If the file
// is replaced or removed, the next call uses the new one.
#ifndef HEFT_STORE_ONCE_H_
#define HEFT_STORE_ONCE_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3_stmt;

namespace heft {

class Database;

// kOnceFile: the name of the table's file in a gallery's folder or a daemon's state folder.
inline constexpr std::string_view kOnceFile = "once.sqlite";

class OnceTable {
 public:
  // Scope: the entries of one user of a table.
  struct Scope {
    std::string_view name;
    uint64_t most_entries = 0;
    uint64_t most_bytes = std::numeric_limits<int64_t>::max();  // of the results
    bool oldest_goes = false;  // when it is full; otherwise nothing is added
    bool durable = false;      // an entry survives a crash of the machine, not only of the process
  };
  struct Entry {
    std::string key;
    std::string digest = {};  // of what was asked
    std::string result = {};
    uint64_t expires = 0;  // Unix seconds; afterwards there is no entry
    bool operator==(const Entry&) const = default;
  };

  // The file is opened, and created, by the first call. An empty path: in memory.
  explicit OnceTable(std::string path);
  ~OnceTable();
  // Of: a table that this process keeps open.
  static std::shared_ptr<OnceTable> Of(const std::string& path);

  // All calls: kUnavailable if the system refuses, kDataLoss for a damaged file.
  // Take: adds all entries, unless one exists; then it returns that one's place. An entry also
  // exists if its key begins with another's, or another's with it. kResourceExhausted.
  absl::StatusOr<std::optional<size_t>> Take(const Scope& scope, std::span<const Entry> entries,
                                             uint64_t now);
  // Put: adds an entry, or replaces it. kResourceExhausted.
  absl::Status Put(const Scope& scope, const Entry& entry, uint64_t now);
  absl::StatusOr<std::optional<Entry>> Find(const Scope& scope, std::string_view key, uint64_t now);
  absl::Status Remove(const Scope& scope, std::string_view key);
  // Count: also some entries that have expired. A few of these go with each new entry.
  absl::StatusOr<uint64_t> Count(const Scope& scope);

  // Sync: all entries that were added before it survive a crash of the machine. Never makes other
  // calls wait.
  absl::Status Sync() const;
  // LockPath: while a FileLock of this file lives, no entry is added.
  static std::string LockPath(const std::string& path) { return path + ".lock"; }
  // Copy: replaces the file `to` by a copy of `from`. The caller is the only user of `to`.
  static absl::Status Copy(const std::string& from, const std::string& to);

 private:
  // Connect: with the file's lock. Connected: whether `path_` is still the open file.
  bool Connected() const;
  absl::Status Connect();
  // With: `work` in a transaction of the scope to change, which is committed if it returns true; or
  // without one.
  absl::Status With(const Scope* change, const std::function<absl::StatusOr<bool>()>& work);
  absl::Status Begin(bool durable);
  absl::Status Step(const char* sql);
  absl::Status Done(int rc) const;
  absl::StatusOr<sqlite3_stmt*> Prepare(const char* sql, const Scope& scope);
  absl::StatusOr<bool> Meets(const Scope& scope, std::string_view key, uint64_t now);
  absl::Status MakeRoom(const Scope& scope, std::span<const Entry> entries, uint64_t now);
  absl::Status Forget(const Scope& scope, uint64_t before, uint64_t count);
  absl::Status Insert(const Scope& scope, Entry entry);
  absl::Status Delete(const Scope& scope, std::string_view key);

  const std::string path_;
  std::mutex mutex_;  // of the following
  std::unique_ptr<Database> database_;
  pid_t process_ = 0;
  std::pair<dev_t, ino_t> file_ = {};
  bool durable_ = true;  // how the connection commits
};

}  // namespace heft

#endif  // HEFT_STORE_ONCE_H_
