// SPDX-License-Identifier: Apache-2.0
// SpiSession: a SqlSession of the backend that runs the process' job. Its reading transaction is a
// snapshot, its writing one a subtransaction of the caller's. A database error ends the job; the
// caller gets it unchanged, with its SQLSTATE.
#ifndef HEFT_SQL_SPI_SESSION_H_
#define HEFT_SQL_SPI_SESSION_H_

#include <memory>

#include "postgres/sql_session.h"

namespace heft::sql {

// ConnectSpi: a SqlConnect.
absl::StatusOr<std::unique_ptr<SqlSession>> ConnectSpi();

}  // namespace heft::sql

#endif  // HEFT_SQL_SPI_SESSION_H_
