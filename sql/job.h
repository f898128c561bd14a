// SPDX-License-Identifier: Apache-2.0
// HeftJob: work in its own thread, which receives no signals, and the requests of it and its
// helping threads to the backend for data of the database (sql/bridge.h).
#ifndef HEFT_SQL_JOB_H_
#define HEFT_SQL_JOB_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/status.h"
#include "postgres/sql_session.h"
#include "sql/bridge.h"

namespace heft::sql {

// Field: one field of a result.
struct Null {};
using Field = std::variant<Null, int64_t, bool, std::string, std::vector<uint8_t>>;
using Record = std::vector<Field>;

// Asked: a request with its answer.
struct Asked : HeftRequest {
  SqlRows rows;
  bool failed = false;  // no memory for the rows
  bool answered = false;
};

}  // namespace heft::sql

struct HeftJob {
 public:
  using Work = std::function<absl::Status(HeftJob& job)>;

  // Start: throws the exceptions of std::thread.
  explicit HeftJob(Work work);
  ~HeftJob();  // stops, and waits
  HeftJob(const HeftJob&) = delete;
  HeftJob& operator=(const HeftJob&) = delete;

  // For the job's threads. Ask: waits for the backend's answer; kCancelled if the backend has
  // stopped answering. Stopped: whether the job must end.
  absl::Status Ask(heft::sql::Asked* request);
  bool Stopped() const { return stopped_.load(); }
  void Return(heft::sql::Record record) { records_.push_back(std::move(record)); }
  // Current: the process' job; nullptr if there is none. Each job has a different number.
  static HeftJob* Current();
  uint64_t number() const { return number_; }

  // For the backend.
  heft::sql::Asked* Next();
  void Answer(heft::sql::Asked* request);
  bool Done() const { return done_.load(); }
  void Stop();
  // For a finished job.
  const absl::Status& status() const { return status_; }
  const std::vector<std::vector<HeftValue>>& values() const { return values_; }
  const std::string& message() const { return message_; }

 private:
  void Run(const Work& work);
  void Show();

  const uint64_t number_;
  std::mutex mutex_;
  std::condition_variable answered_;
  std::deque<heft::sql::Asked*> asked_;
  std::atomic<bool> stopped_ = false, done_ = false;
  absl::Status status_;
  std::string message_;
  std::vector<heft::sql::Record> records_;
  std::vector<std::vector<HeftValue>> values_;  // into records_
  std::thread thread_;
};

namespace heft::sql {

// Catching: the result of `work`; an exception becomes an error.
absl::Status Catching(const std::function<absl::Status()>& work);

}  // namespace heft::sql

#endif  // HEFT_SQL_JOB_H_
