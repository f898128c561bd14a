// SPDX-License-Identifier: Apache-2.0
// MatcherState: the shared state of the matcher's routes, and the form of their answers.
#ifndef HEFT_SERVICE_MATCHER_STATE_H_
#define HEFT_SERVICE_MATCHER_STATE_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/http/message.h"
#include "service/http/router.h"
#include "service/json.h"
#include "service/matcher/batcher.h"
#include "service/matcher/bucket_nodes.h"
#include "service/matcher/callbacks.h"
#include "service/matcher/config.h"
#include "service/matcher/decider_link.h"
#include "service/matcher/engine.h"
#include "service/matcher/exchange.h"
#include "service/matcher/galleries.h"
#include "service/matcher/stored_answers.h"
#include "service/matcher/tasks.h"
#include "service/matcher/upkeep.h"
#include "service/matcher/uploads.h"
#include "service/run/audit_log.h"
#include "service/run/metrics.h"

namespace heft::service {

// Places: a limit on concurrent work; further callers wait until their deadlines.
class Places {
 public:
  explicit Places(uint32_t free) : free_(free) {}
  // TryTake: takes a place if one is free now.
  bool TryTake() { return Take(std::chrono::steady_clock::time_point::min()); }
  bool Take(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    if (!freed_.wait_until(lock, deadline, [&] { return free_ > 0; })) return false;
    --free_;
    return true;
  }
  void Give() {
    {
      const std::lock_guard lock(mutex_);
      ++free_;
    }
    freed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  uint32_t free_;
};

// Leave: gives a place back.
struct Leave {
  Places* places;
  ~Leave() {
    if (places != nullptr) places->Give();
  }
};

struct MatcherState {
  // `decider` and `callbacks` may be nullptr; the logs outlive it.
  MatcherState(const MatcherConfig& its_config, std::shared_ptr<const Engine> first,
               std::shared_ptr<Decider> its_decider, std::shared_ptr<Callbacks> its_callbacks,
               AuditLog* its_audit_log, Metrics* its_metrics);

  // Ready: whether the store can be read.
  absl::Status Ready();
  // Use: brings an engine into use.
  Uploads::Use Use() {
    return [this](std::shared_ptr<const Engine> fresh) { engine.Set(std::move(fresh)); };
  }
  // Stop: ends background work, after the last answer.
  void Stop();

  const MatcherConfig config;
  AuditLog* const audit_log;
  Metrics* const metrics;
  CurrentEngine engine;
  Galleries galleries;
  Uploads uploads;
  const std::shared_ptr<Decider> decider;
  const std::shared_ptr<Callbacks> callbacks;
  Exchange exchange;
  Upkeep upkeep;
  BucketNodes bucket_nodes;
  Places node_probes;  // probes at the nodes, with their replies in memory
  Places verifications;
  Places changes;  // enrolments and removals; half of the workers, so that others have theirs
  Places waits;    // waits for an admission; a quarter of the workers
  StoredAnswers stored_answers;
  Batcher batcher;
  Tasks tasks;  // last: its work uses all the others
};

// kManyChanges: the error if no more changes may begin.
inline constexpr char kManyChanges[] =
    "too many enrolments and removals are in progress: try again later";

// Answers: a handler whose errors become Error{code, message}; errors of load have Retry-After.
using Answering = std::function<absl::StatusOr<HttpResponse>(const HttpRequest&)>;
Handler Answers(MatcherState* state, Answering answering);

// AnswersOnce: the same; a repetition with the same Idempotency-Key gets the stored answer.
Handler AnswersOnce(MatcherState* state, Answering answering);

// Intend: writes a line to the audit log before an irreversible change. After an error the change
// must not be made.
absl::Status Intend(MatcherState* state, const HttpRequest& request, Json fields);

// Accepted: 202 with OSIA's TaskId.
HttpResponse Accepted(const std::string& task);

// ErasureJson: the record of a change that erases. A store in a database overwrites nothing.
template <typename Record>
Json ErasureJson(const Galleries& galleries, const Record& done) {
  Json json = RecordJson(done);
  if (!galleries.overwrites()) json["overwritten"] = false;
  return json;
}

// The routes, by subject.
void AddMatchRoutes(MatcherState* state, Router* router);     // identify, verify
void AddPersonRoutes(MatcherState* state, Router* router);    // persons and encounters
void AddRemovalRoutes(MatcherState* state, Router* router);   // persons go; receipts
void AddGalleryRoutes(MatcherState* state, Router* router);   // galleries and their maintenance
void AddExchangeRoutes(MatcherState* state, Router* router);  // admissions and renewals by hand
void AddKeyRoutes(MatcherState* state, Router* router);       // parameters, model and keys
void AddTaskRoutes(MatcherState* state, Router* router);      // tasks, the contract
// All of them.
void AddMatcherRoutes(MatcherState* state, Router* router);

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_STATE_H_
