// SPDX-License-Identifier: Apache-2.0
// Operations on a database as a whole.
#ifndef HEFT_POSTGRES_SQL_MAINTENANCE_H_
#define HEFT_POSTGRES_SQL_MAINTENANCE_H_

#include "postgres/sql_transactions.h"
#include "store/store.h"

namespace heft {

// ScrubDatabase: Store::Scrub, within a database's limits (StoreErasure::kFreed): no transaction
// sees deleted data, VACUUM has freed it, and the cache has overwritten its files.
absl::Status ScrubDatabase(SqlHold& hold, absl::Duration wait);
absl::StatusOr<StoreStatistics> DatabaseStatistics(SqlSession& session);
// CheckDatabase: whether each blob that entries name exists and has the right count of uses.
absl::Status CheckDatabase(SqlSession& session);

}  // namespace heft

#endif  // HEFT_POSTGRES_SQL_MAINTENANCE_H_
