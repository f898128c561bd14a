// SPDX-License-Identifier: Apache-2.0
// SpiSession: a SqlSession of the backend in which the process' job runs. Its reading transaction
// is a snapshot, its writing one a subtransaction of the caller's. An error of the database ends
// the job: the caller gets it as it is, with its SQLSTATE.
#ifndef HEFT_SQL_SPI_SESSION_H_
#define HEFT_SQL_SPI_SESSION_H_

#include <memory>

#include "postgres/sql_session.h"

namespace heft::sql {

// ConnectSpi: a SqlConnect.
absl::StatusOr<std::unique_ptr<SqlSession>> ConnectSpi();

}  // namespace heft::sql

#endif  // HEFT_SQL_SPI_SESSION_H_
