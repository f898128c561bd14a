// SPDX-License-Identifier: Apache-2.0
// The store of gallery/store.h in a database's tables (postgres/schema.sql), over sessions of any
// kind.
//
//   SqlDatabase  a database as this process has it open: sessions, cache      sql_database.cc
//   SqlReader, SqlWriter  transactions, as a Store's                          sql_transactions.cc
//   SqlStore     the Store                                                    sql_store.cc
//
// Whoever holds the store's lock holds a session with it, and writes in that session: with the
// connection the lock is lost and the transaction with it, so that no two write. Where it is lost
// between transactions, the lock is taken anew, if nobody has written meanwhile.
#ifndef HEFT_POSTGRES_SQL_STORE_H_
#define HEFT_POSTGRES_SQL_STORE_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gallery/store.h"
#include "postgres/blob_cache.h"
#include "postgres/sql_session.h"

namespace heft {

struct SqlOptions {
  std::string name;                  // of the database, in messages: "postgres:prod"
  std::shared_ptr<BlobCache> cache;  // none: blobs are read from the database each time
  // How long a server that has gone is waited for where it is to say what has become of a commit.
  absl::Duration patience = absl::Seconds(60);
};

// SqlDatabase: shared by all stores, readers and writers of a process. Any number of threads.
class SqlDatabase {
 public:
  // Open: kNotFound where there are no tables, but with kCreate, which makes them.
  static absl::StatusOr<std::shared_ptr<SqlDatabase>> Open(SqlConnect connect, StoreMode mode,
                                                           SqlOptions options);
  const SqlOptions& options() const { return options_; }
  // Named: an error of this database, with its name.
  absl::Status Named(const absl::Status& status) const;
  // Session: `first` of which has worked. One that waits for somebody may have been lost since it
  // was used; then all that wait are dropped, and one that is new begins.
  absl::StatusOr<std::unique_ptr<SqlSession>> Session(
      const std::function<absl::Status(SqlSession&)>& first) const;
  // Done: a session that is in no transaction, for the next.
  void Done(std::unique_ptr<SqlSession> session) const;

 private:
  SqlDatabase(SqlConnect connect, SqlOptions options);
  std::unique_ptr<SqlSession> Waiting() const;

  const SqlConnect connect_;
  const SqlOptions options_;
  const int process_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<SqlSession>> waiting_;
};

// OpenSqlStore: kCreate makes the tables where there are none. kNotFound, kUnavailable,
// kPermissionDenied, kFailedPrecondition (tables of another version).
absl::StatusOr<std::shared_ptr<Store>> OpenSqlStore(SqlConnect connect, StoreMode mode,
                                                    SqlOptions options);
// Of a database that is open. kRead: Lock is refused.
std::shared_ptr<Store> SqlStoreOf(std::shared_ptr<SqlDatabase> database, StoreMode mode);

}  // namespace heft

#endif  // HEFT_POSTGRES_SQL_STORE_H_
