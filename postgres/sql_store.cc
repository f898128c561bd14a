// SPDX-License-Identifier: Apache-2.0
#include "postgres/sql_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "postgres/schema.h"
#include "postgres/sql_maintenance.h"
#include "postgres/sql_transactions.h"
#include "store/folder.h"

namespace heft {
namespace {

class SqlLock : public StoreLock {
 public:
  explicit SqlLock(std::shared_ptr<SqlHold> hold) : hold_(std::move(hold)) {}
  const std::shared_ptr<SqlHold>& hold() const { return hold_; }

 private:
  const std::shared_ptr<SqlHold> hold_;
};

class SqlStore : public Store {
 public:
  SqlStore(std::shared_ptr<SqlDatabase> database, StoreMode mode)
      : database_(std::move(database)), mode_(mode) {}

  absl::StatusOr<std::unique_ptr<StoreReader>> Read() const override {
    return SqlReader::Begin(database_);
  }

  absl::StatusOr<std::unique_ptr<StoreLock>> Lock(absl::Duration wait) override {
    if (mode_ == StoreMode::kRead) {
      return absl::FailedPreconditionError(
          absl::StrCat("the store in ", database_->options().name, " was opened only for reading"));
    }
    HEFT_ASSIGN_OR_RETURN(auto hold, SqlHold::Take(database_, wait));
    return std::make_unique<SqlLock>(std::move(hold));
  }

  absl::StatusOr<std::unique_ptr<StoreWriter>> Write(const StoreLock& lock) override {
    HEFT_ASSIGN_OR_RETURN(const auto hold, HoldOf(lock));
    if (hold->writing.exchange(true)) {
      return absl::FailedPreconditionError("another transaction of this store is open: end it");
    }
    return std::make_unique<SqlWriter>(hold);
  }

  absl::Status Scrub(const StoreLock& lock, absl::Duration wait) override {
    HEFT_ASSIGN_OR_RETURN(const auto hold, HoldOf(lock));
    if (hold->writing) {
      return absl::FailedPreconditionError("a transaction of this store is open: end it");
    }
    return database_->Named(ScrubDatabase(*hold, wait));
  }

  absl::Status Copy(const std::string& folder,
                    const std::function<bool(uint64_t, uint64_t)>& progress) const override {
    HEFT_ASSIGN_OR_RETURN(const StoreStatistics statistics, Statistics());
    HEFT_ASSIGN_OR_RETURN(const auto state, Read());
    return CopyStore(folder, *state, statistics.live_bytes, progress);
  }

  std::string Remains() const override {
    return "the database has freed the deleted data, and HEFT cannot read it any more. Its bytes "
           "stay in pages of the database's files until they are reused, in its log (WAL), in "
           "standbys' files and in backups for as long as those are kept";
  }

  absl::StatusOr<StoreStatistics> Statistics() const override {
    StoreStatistics statistics;
    HEFT_RETURN_IF_ERROR(InSession([&](SqlSession& session) -> absl::Status {
      HEFT_ASSIGN_OR_RETURN(statistics, DatabaseStatistics(session));
      return absl::OkStatus();
    }));
    return statistics;
  }

  absl::Status Check() const override {
    return InSession([](SqlSession& session) { return CheckDatabase(session); });
  }

 private:
  absl::StatusOr<std::shared_ptr<SqlHold>> HoldOf(const StoreLock& lock) const {
    const auto* const ours = dynamic_cast<const SqlLock*>(&lock);
    if (ours != nullptr && &ours->hold()->database() == database_.get()) return ours->hold();
    return absl::InvalidArgumentError("this lock is of another store");
  }

  absl::Status InSession(const std::function<absl::Status(SqlSession&)>& work) const {
    auto session = database_->Session(work);
    HEFT_RETURN_IF_ERROR(session.status());
    database_->Done(*std::move(session));
    return absl::OkStatus();
  }

  const std::shared_ptr<SqlDatabase> database_;
  const StoreMode mode_;
};

}  // namespace

std::shared_ptr<Store> SqlStoreOf(std::shared_ptr<SqlDatabase> database, StoreMode mode) {
  return std::make_shared<SqlStore>(std::move(database), mode);
}

absl::StatusOr<std::shared_ptr<Store>> OpenSqlStore(SqlConnect connect, StoreMode mode,
                                                    SqlOptions options) {
  HEFT_ASSIGN_OR_RETURN(auto database,
                        SqlDatabase::Open(std::move(connect), mode, std::move(options)));
  return SqlStoreOf(std::move(database), mode);
}

}  // namespace heft
