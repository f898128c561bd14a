// SPDX-License-Identifier: Apache-2.0
// NodeCalls: one statement at each of several databases at the same time, on connections that are
// kept for the next calls. An error at one database ends the calls at all.
#ifndef HEFT_POSTGRES_NODE_CALLS_H_
#define HEFT_POSTGRES_NODE_CALLS_H_

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "postgres/sql_session.h"

namespace heft {

struct NodeCall {
  std::string node;     // its name, for errors
  std::string address;  // libpq's connection string, without secrets
  std::string user;     // unless the address names one
  std::string_view statement;
  std::vector<SqlParameter> parameters;
  size_t most_rows = 0;
};

class NodeCalls {
 public:
  using Clock = std::chrono::steady_clock;
  NodeCalls();
  ~NodeCalls();
  NodeCalls(const NodeCalls&) = delete;
  NodeCalls& operator=(const NodeCalls&) = delete;

  // Ask: the rows of each call. Each SqlRows has one row, with memory of its own, as the database
  // sent it. `most_bytes`: of all values together. Any number of threads.
  // kDeadlineExceeded after `until`. Calls that have not ended then, or end by another call's
  // error, lose their connections, and their databases end the work within a second. kUnavailable:
  // a database does not answer, or lost the connection. kInternal: more rows than `most_rows`.
  // kFailedPrecondition: more than `most_bytes`. Otherwise the database's error, as SqlStateError
  // has it. Messages name the node. A call whose kept connection is lost before the first row is
  // made once more on a new one.
  absl::StatusOr<std::vector<std::vector<SqlRows>>> Ask(const std::vector<NodeCall>& calls,
                                                        uint64_t most_bytes,
                                                        Clock::time_point until);
  // Kept: connections without a call, for tests.
  size_t Kept() const;

 private:
  class Call;
  struct Connections;
  const std::unique_ptr<Connections> connections_;
};

}  // namespace heft

#endif  // HEFT_POSTGRES_NODE_CALLS_H_
