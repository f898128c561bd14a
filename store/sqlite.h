// SPDX-License-Identifier: Apache-2.0
// The parts of the store in a folder (store/folder.h):
//
//     Database                    a connection to store.sqlite                    database.cc
//     StoreTables                 the tables of a store, through a connection     tables.cc
//     StoreEnvironment            one store of this process, shared by its users  environment.cc
//     SqliteReader, SqliteWriter  a state, and a transaction                      transactions.cc
//
// A commit writes long values to store.blocks and syncs it, then commits in SQLite's log. Its pages
// of deleted values are used again when no process reads a state that has them. That is known when
// SQLite could copy its whole log into the database and cut it off: then every open state is the
// newest.
#ifndef HEFT_STORE_SQLITE_H_
#define HEFT_STORE_SQLITE_H_

#include <sqlite3.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "store/blocks.h"
#include "store/folder.h"
#include "store/layout_sql.h"
#include "store/store.h"

namespace heft {

// StoreError: explains SQLite's error for the store in `folder`, and says what to do. `table`: that
// was read.
absl::Status StoreError(std::string_view action, const std::string& folder, int rc,
                        std::string_view table = {});
absl::Status ReplacedStore(const std::string& folder);

// SqlStatement: a prepared statement in use; reset when destroyed. Columns are read while the row
// is there.
class SqlStatement {
 public:
  explicit SqlStatement(sqlite3_stmt* statement) : statement_(statement) {}
  ~SqlStatement();
  SqlStatement(const SqlStatement&) = delete;
  SqlStatement& operator=(const SqlStatement&) = delete;
  SqlStatement& Bind(int at, ByteSpan bytes);
  SqlStatement& Bind(int at, uint64_t number);
  SqlStatement& Bind(int at, const Cell& cell, SqlType type);
  // Bind: from the first parameter on, as columns of a table.
  SqlStatement& Bind(std::span<const Cell> cells, const Layout& layout);
  int Step() { return sqlite3_step(statement_); }  // SQLITE_ROW, SQLITE_DONE, or an error
  bool IsNull(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  ByteSpan Bytes(int column) const;
  // Value: NULL if it has another type. Bytes are valid until the next step.
  Cell Value(int column, SqlType type) const;
  uint64_t Number(int column) const {
    return static_cast<uint64_t>(sqlite3_column_int64(statement_, column));
  }

 private:
  sqlite3_stmt* const statement_;
};

// Database: a connection, for one thread at a time. A forked child must not use its parent's; there
// it is not closed.
class Database {
 public:
  enum class Mode { kRead, kWrite, kBuild };  // kBuild: a new file, without a log
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& path,
                                                        const std::string& folder, Mode mode);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  sqlite3* get() const { return db_; }
  const std::string& folder() const { return folder_; }
  // Run, Number: `table` is that of StoreError.
  absl::Status Run(const char* sql, std::string_view action, std::string_view table = {});
  // Number: the first column of the first row; 0 without a row.
  absl::StatusOr<uint64_t> Number(const char* sql, std::string_view table = {});
  // Prepare: once for each text.
  absl::StatusOr<sqlite3_stmt*> Prepare(const std::string& sql);
  // Prepare: a query of a table (LayoutAt), once for each. Deletion returns page and size, if the
  // table is opaque.
  enum Query { kGet, kFrom, kAfter, kInsert, kDelete };
  absl::StatusOr<sqlite3_stmt*> Prepare(Query query, size_t which);
  // CopyOf: becomes a copy of another database.
  absl::Status CopyOf(const Database& other, std::string_view action);
  // Texts: the first column of all rows.
  absl::StatusOr<std::vector<std::string>> Texts(const std::string& sql);

 private:
  explicit Database(std::string folder) : folder_(std::move(folder)) {}
  const std::string folder_;
  const pid_t process_ = getpid();
  sqlite3* db_ = nullptr;
  absl::StatusOr<sqlite3_stmt*> PrepareNew(const std::string& sql);
  std::map<std::string, sqlite3_stmt*, std::less<>> statements_;
  std::array<std::array<sqlite3_stmt*, kLayouts>, kDelete + 1> queries_ = {};
};

// BuildDatabase: makes a database that `fill` fills, completely or not at all. Removes one that is
// there.
absl::Status BuildDatabase(const std::string& path, const std::string& folder,
                           const std::function<absl::Status(Database*)>& fill);
// SyncFile: flushes a file that others have written. Errors are those of the store in `folder`.
absl::Status SyncFile(const std::string& path, const std::string& folder);

// StoreTables: what a transaction of a connection sees and changes.
class StoreTables {
 public:
  StoreTables(Database* database, BlockFile* blocks) : database_(database), blocks_(blocks) {}
  // Make: in an empty database.
  static absl::Status Make(Database* database, const StoreIdentity& identity);
  // CheckVersion: whether the tables are there, and of this version. The identity.
  static absl::StatusOr<StoreIdentity> CheckVersion(Database* database);

  // State: the number of the state: commits so far.
  absl::StatusOr<uint64_t> State() const;
  absl::Status SetState(uint64_t state);

  // Found: a value: in `short_value`, or in the file of blocks.
  struct Found {
    std::optional<std::vector<uint8_t>> short_value;
    size_t skipped = 0;  // of `short_value`, for the alignment of a value that was put together
    ByteSpan block;
    ByteSpan bytes() const { return short_value ? ByteSpan(*short_value).subspan(skipped) : block; }
  };
  absl::StatusOr<std::optional<Found>> Get(Table table, ByteSpan key) const;
  using Entry = std::pair<std::vector<uint8_t>, Found>;
  // Next: up to `count` entries from `from` on, without `from` itself if `after`. `unread`: why the
  // others cannot be read.
  absl::StatusOr<std::vector<Entry>> Next(Table table, ByteSpan from, bool after, size_t count,
                                          absl::Status* unread) const;
  // Put, Delete: pages come from `free`; those of replaced values go to the table of freed pages,
  // or back if they are in `taken`, the pages that this transaction has taken.
  struct Space {
    FreePages free;
    std::set<PageRange> taken;
    uint64_t freed = 0;  // pages that older states may have
  };
  absl::Status Put(Table table, ByteSpan key, ByteSpan value, Space* space);
  absl::Status Delete(Table table, ByteSpan key, Space* space);

  // FindTemplates: as StoreWriter's.
  absl::StatusOr<std::optional<std::vector<uint64_t>>> FindTemplates(uint32_t gallery,
                                                                     const TemplateMarks& marks,
                                                                     uint64_t states) const;
  // Used: the pages of the newest state's blocks. Freed: those of older states'.
  absl::StatusOr<std::vector<PageRange>> Used() const;
  absl::StatusOr<std::vector<PageRange>> Freed() const;
  absl::Status ForgetFreed();
  // Check: whether the tables are consistent.
  absl::Status Check() const;
  // Salvage: copies all rows that can be read into empty tables, and makes the table of used pages
  // from them. Also other programs' tables; kFailedPrecondition names one that cannot be made. No
  // older state may be read any more.
  static absl::Status Salvage(Database* from, Database* to);

 private:
  // Rows: of one table, in order of keys.
  class Rows;
  absl::StatusOr<Found> Read(const SqlStatement& row, size_t which) const;
  absl::StatusOr<std::vector<uint8_t>> JoinRow(Table table, std::span<const Cell> row) const;
  absl::Status Insert(size_t which, std::span<const Cell> cells);
  absl::Status PutTyped(Table table, const SplitEntry& entry, bool* done);
  absl::Status PutTemplates(const SplitEntry& run);
  absl::StatusOr<bool> MayHaveOthers(Table table, ByteSpan key);
  absl::Status PutName(std::span<const Cell> cells, bool* done);
  absl::Status PutOpaque(size_t which, const Cells& cells, ByteSpan value, Space* space);
  absl::Status Remove(size_t which, std::span<const Cell> key, Space* space);
  absl::Status RemoveTyped(Table table, std::span<const Cell> key, Space* space);
  absl::Status HaveGallery(uint32_t number);
  absl::Status Done(int rc) const;
  absl::Status Free(PageRange range, Space* space);
  absl::StatusOr<std::vector<PageRange>> Ranges(const std::string& table) const;

  Database* database_;
  BlockFile* blocks_;
  // What this transaction knows: galleries that have a row; whether a table has other entries that
  // are no second copies.
  std::set<uint32_t> galleries_;
  std::array<std::optional<bool>, kTables> others_;
};

class StoreEnvironment;

// Snapshot: a connection in a transaction that reads one state; for its users in turn. Without a
// database, it was lost.
struct Snapshot {
  Snapshot() = default;
  ~Snapshot();
  std::mutex mutex;
  std::shared_ptr<StoreEnvironment> environment;
  std::unique_ptr<Database> database;
  uint64_t state = 0;
};

// StoreEnvironment: for all users in this process.
class StoreEnvironment : public std::enable_shared_from_this<StoreEnvironment> {
 public:
  using Id = std::pair<dev_t, ino_t>;  // of the database's file
  static absl::StatusOr<std::shared_ptr<StoreEnvironment>> Open(const std::string& folder);
  ~StoreEnvironment();

  // Read: the newest state. Readers of one state share a snapshot.
  absl::StatusOr<std::shared_ptr<Snapshot>> Read();
  void Release(std::unique_ptr<Database> database);
  // BeginReader: marks a state as held, for all processes; pass the result to EndReader.
  off_t BeginReader();
  void EndReader(off_t mark);
  uint64_t Readers() const;

  // For the holder of the writer's lock.
  // Begin: a transaction, with the pages that can be used. Returns the connection.
  absl::StatusOr<Database*> Begin();
  // Commit: of the transaction that Begin began. A commit can be complete in the log although its
  // process was killed or its sync failed. SQLite would then find it after a power loss. So the
  // next transaction overwrites it before it uses its pages of blocks.
  absl::Status Commit();
  // Ended: after a commit, the new state; nothing if it was not committed.
  void Ended(std::optional<uint64_t> state);
  absl::Status Scrub(absl::Duration wait);
  absl::StatusOr<bool> Rebuild(absl::Duration wait);
  absl::StatusOr<StoreStatistics> Statistics();
  absl::Status Check();

  // CheckPlace: kFailedPrecondition if the store's path now names another file, or in a fork.
  absl::Status CheckPlace() const;
  const std::string& folder() const { return folder_; }
  bool writable() const { return writable_; }
  BlockFile* blocks() const { return blocks_.get(); }
  StoreTables::Space space;
  std::atomic<bool> writing = false;  // whether a StoreWriter exists

 private:
  explicit StoreEnvironment(std::string folder) : folder_(std::move(folder)) {}
  absl::Status OpenFiles();
  absl::StatusOr<std::unique_ptr<Database>> Connect() const;
  absl::Status BeginOn(Snapshot* snapshot);
  absl::Status OpenWriter();
  absl::Status Settle(absl::Duration wait);
  uint64_t LogBytes() const;
  void CutLongLog();
  absl::Status Repair();
  absl::Status CommitBy(const std::function<absl::Status()>& commit);
  absl::Status Remake(absl::Duration wait);
  absl::Status ClearPages();
  absl::Status LoadSpace();
  absl::Status Reclaim();
  void Renew();

  const std::string folder_;
  const pid_t process_ = getpid();
  bool writable_ = false;
  Id id_ = {};
  std::unique_ptr<BlockFile> blocks_;

  std::mutex mutex_;                  // of the following
  std::unique_ptr<Database> newest_;  // reads the newest state's number
  std::weak_ptr<Snapshot> snapshot_;  // the last one that was made
  std::vector<std::unique_ptr<Database>> idle_;
  std::set<off_t> readers_;

  std::unique_ptr<Database> writer_;
  int lock_ = -1;                        // the file `lock`: its first byte is 1 during a commit
  std::optional<uint64_t> space_state_;  // of `space`
  uint64_t try_freed_ = 0;               // Reclaim is tried when more pages than these are freed
};

// SqliteReads: what readers and writers have in common.
template <typename Base>
class SqliteReads : public Base {
 public:
  absl::StatusOr<std::optional<ByteSpan>> Get(Table table, ByteSpan key) const override;
  absl::StatusOr<bool> Look(Table table, ByteSpan key,
                            const std::function<void(ByteSpan)>& use) const override;
  absl::Status Scan(Table table, ByteSpan from,
                    const std::function<bool(ByteSpan, ByteSpan)>& use) const override;

 protected:
  // With: for one thread at a time.
  virtual absl::Status With(const std::function<absl::Status(const StoreTables&)>& use) const = 0;
  mutable std::deque<std::vector<uint8_t>> values_;  // short ones that were read
};

class SqliteReader : public SqliteReads<StoreReader> {
 public:
  SqliteReader(std::shared_ptr<StoreEnvironment> environment, std::shared_ptr<Snapshot> snapshot);
  ~SqliteReader() override;

 private:
  absl::Status With(const std::function<absl::Status(const StoreTables&)>& use) const override;
  const std::shared_ptr<StoreEnvironment> environment_;
  const std::shared_ptr<Snapshot> snapshot_;
  const off_t mark_;
};

class SqliteWriter : public SqliteReads<StoreWriter> {
 public:
  // In the environment's transaction.
  SqliteWriter(std::shared_ptr<StoreEnvironment> environment, Database* database, uint64_t state);
  ~SqliteWriter() override;
  absl::StatusOr<std::optional<std::vector<uint64_t>>> FindTemplates(
      uint32_t gallery, const TemplateMarks& marks, uint64_t states) const override;
  absl::Status Put(Table table, ByteSpan key, ByteSpan value) override;
  absl::Status Delete(Table table, ByteSpan key) override;
  absl::Status Commit() override;

 private:
  absl::Status With(const std::function<absl::Status(const StoreTables&)>& use) const override;
  absl::Status CheckOpen() const;
  absl::Status Kept(absl::Status status);
  void End(std::optional<uint64_t> state);

  std::shared_ptr<StoreEnvironment> environment_;  // none once it has ended
  StoreTables tables_;
  const uint64_t state_;  // that it makes
  const std::thread::id thread_ = std::this_thread::get_id();
  mutable std::mutex mutex_;
  absl::Status failure_;
  bool changed_ = false;
};

}  // namespace heft

#endif  // HEFT_STORE_SQLITE_H_
