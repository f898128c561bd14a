// SPDX-License-Identifier: Apache-2.0
// NodeCalls: one statement at each of several databases at the same time, on connections that are
// kept for the next calls. An error at one database ends the calls at all.
#ifndef HEFT_POSTGRES_NODE_CALLS_H_
#define HEFT_POSTGRES_NODE_CALLS_H_

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "postgres/sql_session.h"

namespace heft {

struct NodeCall {
  std::string service;  // of pg_service.conf; errors name it
  std::string_view statement;
  std::vector<SqlParameter> parameters;
  size_t columns = 0;  // of each row
  size_t most_rows = 0;
};

class NodeCalls {
 public:
  using Clock = std::chrono::steady_clock;
  NodeCalls();
  // Waits for connections that are being made, some seconds for each host.
  ~NodeCalls();
  NodeCalls(const NodeCalls&) = delete;
  NodeCalls& operator=(const NodeCalls&) = delete;

  // Ask: the rows of each call. Each SqlRows has one row, with memory of its own, as the database
  // sent it. `most_bytes`: of all values together. Any number of threads.
  // kDeadlineExceeded after `until`. Calls that have not ended then, or end by another call's
  // error, lose their connections, and their databases end the work within a second. kUnavailable:
  // a database does not answer, or the connection is lost. A call is made once, so the caller
  // decides whether to repeat it. kInternal: other columns, more rows than `most_rows`, or more
  // than `most_bytes`. Otherwise the database's error (NodeError). A message begins with "node
  // NAME: ".
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

// NodeError: the status for an error code of the extension `heft` (sql/job.cc, sql/buckets.sql).
// kAborted: a bucket is not on this node.
absl::Status NodeError(std::string_view state, std::string_view message);

}  // namespace heft

#endif  // HEFT_POSTGRES_NODE_CALLS_H_
