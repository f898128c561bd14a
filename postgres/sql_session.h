// SPDX-License-Identifier: Apache-2.0
// SqlSession: what the store needs of a connection to PostgreSQL, and no more: statements with
// parameters, transactions, one lock. Two implement it: libpq (postgres/libpq_session.h), and SPI,
// inside a backend, where the transaction is the caller's.
#ifndef HEFT_POSTGRES_SQL_SESSION_H_
#define HEFT_POSTGRES_SQL_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "base/bytes.h"
#include "base/status.h"

namespace heft {

// SqlBytesArray: a parameter of type bytea[]: nothing is NULL.
using SqlBytesArray = std::span<const std::optional<ByteSpan>>;
// SqlIntegerArray: of type bigint[].
using SqlIntegerArray = std::span<const std::optional<int64_t>>;
// SqlParameter: NULL (of type bytea), bytea, bigint, text, and arrays. Memory is the caller's.
using SqlParameter = std::variant<std::monostate, ByteSpan, int64_t, std::string_view,
                                  SqlBytesArray, SqlIntegerArray>;

// SqlRows: what a statement returned. A value is what PostgreSQL sends of its type in binary:
// bytea and text their bytes, bigint eight bytes, the highest first, boolean one byte.
struct SqlRows {
  size_t columns = 0;
  std::vector<std::optional<ByteSpan>> values;  // row by row; nothing is NULL
  std::shared_ptr<const void> memory;           // that they lie in
  size_t size() const { return columns == 0 ? 0 : values.size() / columns; }
  const std::optional<ByteSpan>& at(size_t row, size_t column) const {
    return values[row * columns + column];
  }
};
// SqlInteger: a value of type bigint. kDataLoss where it is none.
absl::StatusOr<int64_t> SqlInteger(const std::optional<ByteSpan>& value);

// SqlSession: one thread at a time, but for Interrupt. An error is
//   kUnavailable         the connection is lost, or the server refuses for now (too many, starting,
//                        read-only, no room): Lost() says which
//   kPermissionDenied    the role may not
//   kNotFound            there is no such table, schema or database
//   kAborted             another transaction was in the way: again from its beginning
//   kCancelled           Interrupt, or whoever runs the server
//   kDataLoss            the server finds its data damaged
//   kInternal            the statement is wrong
// with PostgreSQL's message. After an error in a transaction nothing but Rollback works.
class SqlSession {
 public:
  virtual ~SqlSession() = default;

  // Execute: one statement; its parameters are $1, $2, ...
  virtual absl::StatusOr<SqlRows> Execute(std::string_view statement,
                                          std::span<const SqlParameter> parameters) = 0;
  absl::StatusOr<SqlRows> Execute(std::string_view statement) { return Execute(statement, {}); }
  // Run: any number of statements without parameters or rows, outside a transaction: tables are
  // made, VACUUM. kUnimplemented where it cannot be, as inside a function.
  virtual absl::Status Run(std::string_view statements) = 0;

  // Begin: kRead: every statement sees the state as of now, and may not change anything. kWrite:
  // each sees what is committed by then, and this transaction's own changes.
  enum class Mode { kRead, kWrite };
  virtual absl::Status Begin(Mode mode) = 0;
  // Commit: durable when it returns OK, as the database is configured, its synchronous standbys
  // too, where the transaction is the session's own; inside a backend, part of the caller's. With
  // Lost() nobody knows what has happened: as where it takes longer than `wait`.
  virtual absl::Status Commit(absl::Duration wait) = 0;
  absl::Status Commit() { return Commit(absl::InfiniteDuration()); }
  // Rollback: also where there is no transaction.
  virtual void Rollback() = 0;

  // Lock: of all sessions of this database one at a time has it, in no order. Waits up to `wait`,
  // then kUnavailable; whoever waits sees nothing that a scrub would have to wait for. Until
  // Unlock, or the session's end. Inside a backend until the caller's transaction ends, and Unlock
  // does nothing.
  virtual absl::Status Lock(absl::Duration wait) = 0;
  virtual void Unlock() = 0;

  // Lost: the connection is no more, and nothing of this session with it.
  virtual bool Lost() const = 0;
  // Interrupt: ends what another thread executes, with kCancelled.
  virtual void Interrupt() = 0;
};

// SqlConnect: another session. kUnavailable, kPermissionDenied, kNotFound, with what to do.
using SqlConnect = std::function<absl::StatusOr<std::unique_ptr<SqlSession>>()>;

// Advisory locks (two integers): "HEFT", and 1 for whoever writes, which Lock takes; 2, shared, for
// whoever reads a state of its own.
inline constexpr int32_t kSqlLockClass = 0x48454654;
inline constexpr int32_t kSqlLockWriter = 1, kSqlLockReader = 2;

}  // namespace heft

#endif  // HEFT_POSTGRES_SQL_SESSION_H_
