// SPDX-License-Identifier: Apache-2.0
// SqlSession: all that the store needs of a connection to PostgreSQL: statements with parameters,
// transactions, one lock. There are two implementations: libpq (postgres/libpq_session.h), and SPI
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

// SqlBytesArray: a parameter of type bytea[]; nullopt is NULL.
using SqlBytesArray = std::span<const std::optional<ByteSpan>>;
// SqlIntegerArray: of type bigint[].
using SqlIntegerArray = std::span<const std::optional<int64_t>>;
// SqlParameter: NULL (of type bytea), bytea, bigint, text, and arrays. The caller keeps the memory.
using SqlParameter = std::variant<std::monostate, ByteSpan, int64_t, std::string_view,
                                  SqlBytesArray, SqlIntegerArray>;

// SqlRows: the rows that a statement returned. Values have PostgreSQL's binary form: bytea and text
// as their bytes, bigint as eight bytes, highest first, boolean as one byte.
struct SqlRows {
  size_t columns = 0;
  std::vector<std::optional<ByteSpan>> values;  // row by row; nullopt is NULL
  std::shared_ptr<const void> memory;           // memory of the values
  size_t size() const { return columns == 0 ? 0 : values.size() / columns; }
  const std::optional<ByteSpan>& at(size_t row, size_t column) const {
    return values[row * columns + column];
  }
};
// SqlInteger: a value of type bigint. kDataLoss if it is not one.
absl::StatusOr<int64_t> SqlInteger(const std::optional<ByteSpan>& value);

// SqlSession: for one thread at a time, except Interrupt. An error is
//   kUnavailable         the connection is lost, or the server refuses for now (too many, starting,
//                        read-only, no room): Lost() says which
//   kPermissionDenied    the role lacks the right
//   kNotFound            the table, schema or database does not exist
//   kAborted             another transaction conflicts: start this one again
//   kCancelled           by Interrupt or by the server's operator
//   kDataLoss            the server finds its data damaged
//   kInternal            the statement is wrong
// with PostgreSQL's message. After an error in a transaction only Rollback works.
class SqlSession {
 public:
  virtual ~SqlSession() = default;

  // Execute: one statement; its parameters are $1, $2, ...
  virtual absl::StatusOr<SqlRows> Execute(std::string_view statement,
                                          std::span<const SqlParameter> parameters) = 0;
  absl::StatusOr<SqlRows> Execute(std::string_view statement) { return Execute(statement, {}); }
  // Run: any number of statements without parameters or rows, outside a transaction, as for making
  // tables or VACUUM. kUnimplemented where that is impossible, as inside a function.
  virtual absl::Status Run(std::string_view statements) = 0;

  // Begin. kRead: every statement sees the state at the begin, and may not change it. kWrite: each
  // statement sees all commits until then and this transaction's own changes.
  enum class Mode { kRead, kWrite };
  virtual absl::Status Begin(Mode mode) = 0;
  // Commit. In a session's own transaction, it is durable when it returns OK, as the database is
  // configured, including synchronous standbys. Inside a backend it becomes part of the caller's
  // transaction. If Lost(), the result is unknown; that is also so if it takes longer than `wait`.
  virtual absl::Status Commit(absl::Duration wait) = 0;
  absl::Status Commit() { return Commit(absl::InfiniteDuration()); }
  // Rollback: may be called without a transaction.
  virtual void Rollback() = 0;

  // Lock: one session of this database at a time has it, in no order. Waits up to `wait`, then
  // kUnavailable. A waiting session has no snapshot, so a scrub need not wait for it. Held until
  // Unlock or the session's end. Inside a backend it is held until the caller's transaction ends,
  // and Unlock does nothing.
  virtual absl::Status Lock(absl::Duration wait) = 0;
  virtual void Unlock() = 0;

  // Lost: the connection is lost, and with it all of this session's state.
  virtual bool Lost() const = 0;
  // Interrupt: ends another thread's statement, with kCancelled.
  virtual void Interrupt() = 0;
};

// SqlConnect: makes a session. kUnavailable, kPermissionDenied, kNotFound, with what to do.
using SqlConnect = std::function<absl::StatusOr<std::unique_ptr<SqlSession>>()>;

// Advisory locks (two integers): "HEFT", and 1 for the writer, which Lock takes; 2, shared, for the
// readers of a state.
inline constexpr int32_t kSqlLockClass = 0x48454654;
inline constexpr int32_t kSqlLockWriter = 1, kSqlLockReader = 2;

}  // namespace heft

#endif  // HEFT_POSTGRES_SQL_SESSION_H_
