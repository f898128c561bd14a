// SPDX-License-Identifier: Apache-2.0
// Transactions of the store in a database, and the writer's lock.
#ifndef HEFT_POSTGRES_SQL_TRANSACTIONS_H_
#define HEFT_POSTGRES_SQL_TRANSACTIONS_H_

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "postgres/sql_entries.h"
#include "postgres/sql_store.h"

namespace heft {

// SqlReader: values stay valid while it lives: in its memory, or as maps of the cache.
class SqlReader : public StoreReader {
 public:
  static absl::StatusOr<std::unique_ptr<StoreReader>> Begin(
      std::shared_ptr<const SqlDatabase> database);
  ~SqlReader() override;
  absl::StatusOr<std::optional<ByteSpan>> Get(Table table, ByteSpan key) const override;
  absl::Status Scan(Table table, ByteSpan from,
                    const std::function<bool(ByteSpan, ByteSpan)>& use) const override;

 private:
  SqlReader(std::shared_ptr<const SqlDatabase> database, std::unique_ptr<SqlSession> session);
  absl::StatusOr<std::optional<SqlEntry>> Find(Table table, ByteSpan key) const;
  absl::StatusOr<ByteSpan> Bytes(const SqlEntry& entry) const;

  const std::shared_ptr<const SqlDatabase> database_;
  std::unique_ptr<SqlSession> session_;
  mutable std::mutex mutex_;  // for the session
  const SqlEntries entries_;
  mutable std::mutex known_mutex_;
  // Entries that were read, and those behind them.
  mutable std::array<std::map<std::string, SqlEntry, std::less<>>, kTables> known_;
  mutable std::map<Hash, std::shared_ptr<const Blob>> blobs_;
};

// SqlHold: the store's lock, and the session that has it.
class SqlHold {
 public:
  static absl::StatusOr<std::shared_ptr<SqlHold>> Take(std::shared_ptr<const SqlDatabase> database,
                                                       absl::Duration wait);
  ~SqlHold();
  // Session: the session with the lock, taken again if it was lost. kUnavailable if another writer
  // has written meanwhile.
  absl::StatusOr<SqlSession*> Session();
  const SqlDatabase& database() const { return *database_; }
  // Generation: of the store's tables after the last transaction under this lock.
  int64_t generation() const { return generation_; }
  void Committed() { ++generation_; }
  // Resolve: whether a commit, in which the connection was lost, has succeeded: its token exists
  // and is durable. kUnknown if the server does not answer in time.
  absl::StatusOr<bool> Resolve(ByteSpan token);
  // Whether a StoreWriter exists.
  std::atomic<bool> writing = false;

 private:
  explicit SqlHold(std::shared_ptr<const SqlDatabase> database) : database_(std::move(database)) {}
  absl::Status Retake(absl::Duration wait);
  absl::StatusOr<bool> Find(ByteSpan token, absl::Duration wait);

  const std::shared_ptr<const SqlDatabase> database_;
  std::unique_ptr<SqlSession> session_;
  int64_t generation_ = 0;
};

// SqlWriter: changes are buffered until there are many, a table is scanned, or the transaction
// ends.
class SqlWriter : public StoreWriter {
 public:
  explicit SqlWriter(std::shared_ptr<SqlHold> hold) : hold_(std::move(hold)) {}
  ~SqlWriter() override { End(); }
  absl::StatusOr<std::optional<ByteSpan>> Get(Table table, ByteSpan key) const override;
  absl::Status Scan(Table table, ByteSpan from,
                    const std::function<bool(ByteSpan, ByteSpan)>& use) const override;
  absl::Status Put(Table table, ByteSpan key, ByteSpan value) override;
  absl::Status Delete(Table table, ByteSpan key) override;
  absl::Status Commit() override;

 private:
  absl::Status CheckOpen() const;
  absl::Status Begin() const;
  absl::Status Fail(const absl::Status& status) const;
  absl::Status Change(Table table, ByteSpan key, std::shared_ptr<const Blob> value);
  absl::Status Flush(Table table) const;
  absl::Status CommitNow();
  void End();

  const std::shared_ptr<SqlHold> hold_;
  mutable std::mutex mutex_;
  bool open_ = true;
  mutable absl::Status failure_;               // of the transaction; it cannot commit
  mutable std::optional<SqlEntries> entries_;  // of a transaction that has begun
  mutable std::array<SqlEntries::Changes, kTables> changes_;
  mutable size_t changed_bytes_ = 0;
  mutable std::vector<std::shared_ptr<const Blob>> read_;  // until the next change
};

}  // namespace heft

#endif  // HEFT_POSTGRES_SQL_TRANSACTIONS_H_
