// SPDX-License-Identifier: Apache-2.0
// The store of store/store.h in a database's tables (postgres/schema.sql), over sessions of any
// kind.
//
//   SqlDatabase  a database opened by this process: sessions, cache           sql_database.cc
//   SqlReader, SqlWriter  transactions, with the interface of Store           sql_transactions.cc
//   SqlStore     the Store                                                    sql_store.cc
//
// The holder of the store's lock writes in the session that has the lock. If the connection is
// lost, so are lock and transaction; two writers never write at once. If it is lost between
// transactions, the lock is taken again, unless another writer has written meanwhile.
#ifndef HEFT_POSTGRES_SQL_STORE_H_
#define HEFT_POSTGRES_SQL_STORE_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "postgres/blob_cache.h"
#include "postgres/sql_session.h"
#include "store/store.h"

namespace heft {

struct SqlOptions {
  std::string name;                  // of the database, in messages: "postgres:prod"
  std::shared_ptr<BlobCache> cache;  // none: each read of a blob goes to the database
  // How long to wait for a lost server to report the result of a commit.
  absl::Duration patience = absl::Seconds(60);
};

// SqlDatabase: shared by all stores, readers and writers of a process. For any number of threads.
class SqlDatabase {
 public:
  // Open: kNotFound without tables, except with kCreate, which makes them.
  static absl::StatusOr<std::shared_ptr<SqlDatabase>> Open(SqlConnect connect, StoreMode mode,
                                                           SqlOptions options);
  const SqlOptions& options() const { return options_; }
  // Named: the error with the name of this database.
  absl::Status Named(const absl::Status& status) const;
  // Session: a session after `first` has succeeded in it. An idle session may have been lost since
  // its last use; then all idle ones are dropped, and a new one is opened.
  absl::StatusOr<std::unique_ptr<SqlSession>> Session(
      const std::function<absl::Status(SqlSession&)>& first) const;
  // Done: returns a session without a transaction, for reuse.
  void Done(std::unique_ptr<SqlSession> session) const;

 private:
  SqlDatabase(SqlConnect connect, SqlOptions options);
  std::unique_ptr<SqlSession> Idle() const;

  const SqlConnect connect_;
  const SqlOptions options_;
  const int process_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<SqlSession>> idle_;
};

// OpenSqlStore: kCreate makes missing tables. kNotFound, kUnavailable, kPermissionDenied,
// kFailedPrecondition (tables of another version).
absl::StatusOr<std::shared_ptr<Store>> OpenSqlStore(SqlConnect connect, StoreMode mode,
                                                    SqlOptions options);
// For a database that is open. With kRead, Lock is refused.
std::shared_ptr<Store> SqlStoreOf(std::shared_ptr<SqlDatabase> database, StoreMode mode);

}  // namespace heft

#endif  // HEFT_POSTGRES_SQL_STORE_H_
