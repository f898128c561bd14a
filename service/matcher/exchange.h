// SPDX-License-Identifier: Apache-2.0
// Exchange: the matcher's messages to the key owner. It sends pending enrolments and adds approved
// ones to the gallery, and it has blocks renewed that templates leave. One thread serves all
// galleries; renewals are tasks of their callers.
#ifndef HEFT_SERVICE_MATCHER_EXCHANGE_H_
#define HEFT_SERVICE_MATCHER_EXCHANGE_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/base.h"
#include "heft/gallery_admin.h"
#include "service/matcher/decider_link.h"
#include "service/matcher/engine.h"
#include "service/matcher/galleries.h"
#include "service/run/audit_log.h"
#include "service/run/metrics.h"

namespace heft::service {

struct ExchangeOptions {
  std::chrono::milliseconds poll{2000};       // between checks without a wake-up
  std::chrono::milliseconds patience{30000};  // for an answer of the decider
  PendingLimit most;                          // of one request for admission
};

class Exchange {
 public:
  // `decider`: nullptr if files are carried by hand: then no thread runs. The others outlive it.
  Exchange(const CurrentEngine* engine, Galleries* galleries, std::shared_ptr<Decider> decider,
           ExchangeOptions options, AuditLog* audit_log, Metrics* metrics);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  bool has_decider() const { return decider_ != nullptr; }
  // Wake: call after an enrolment.
  void Wake();
  // Changes: the number of admissions to all galleries. WaitForChange: until it exceeds `seen`, or
  // the deadline.
  uint64_t Changes() const;
  void WaitForChange(uint64_t seen, std::chrono::steady_clock::time_point deadline) const;

  // TakeHead: soon keeps the end of the key owner's journal, which came with a decision, in the
  // gallery's store. Empty: none. A failure is logged; the next decision brings a newer end. A fork
  // is also written to the audit log.
  void TakeHead(const std::string& gallery, std::vector<uint8_t> head);

  // Request: the signed request for the pending enrolments of a gallery; if they are too many, for
  // the first. Apply: takes the key owner's answer.
  absl::StatusOr<std::vector<uint8_t>> Request(const std::string& gallery);
  // `request_id`: the request behind it, for the audit log.
  absl::StatusOr<ActivateResult> Apply(const std::string& gallery,
                                       std::span<const uint8_t> admission,
                                       const std::string& request_id);

  // TakeOwed: whether an admission's rejected templates wait to be overwritten; true once each.
  bool TakeOwed(const std::string& gallery);

  // Renewed: the result of one renewal or several.
  // RenewAll: until no template is leaving; with `compact`, also until few blocks are sparse.
  // Callers run one after the other. kFailedPrecondition without a decider.
  absl::StatusOr<RenewResult> RenewAll(const std::string& gallery, bool compact,
                                       const Monitor& monitor);
  // AskRenewal, FinishRenewal: both halves of a renewal, for files that are carried by hand.
  absl::StatusOr<std::vector<uint8_t>> AskRenewal(const std::string& gallery, bool compact,
                                                  const Monitor& monitor);
  absl::StatusOr<RenewResult> FinishRenewal(const std::string& gallery,
                                            std::span<const uint8_t> answer);

  // Stop: sends no more messages.
  void Stop();

 private:
  void Run();
  // Activate: serves one gallery; whether an enrolment was activated.
  absl::StatusOr<bool> Activate(const std::string& gallery);
  void ActivateAll();
  void KeepHeads();
  void KeepHead(const std::string& gallery, const std::vector<uint8_t>& head);
  // ForwardedFor: a message with its own request id, which both daemons record.
  Forwarded ForwardedFor(const std::string& gallery) const;
  void Remember(const std::string& gallery);

  const CurrentEngine* const engine_;
  Galleries* const galleries_;
  const std::shared_ptr<Decider> decider_;
  const ExchangeOptions options_;
  AuditLog* const audit_log_;
  Metrics* const metrics_;
  std::mutex renewing_;       // held from a renewal's request to its end: a second request ends it
  mutable std::mutex mutex_;  // of all below
  mutable std::condition_variable woken_, changed_;
  bool stopping_ = false, awake_ = true;
  std::string asked_as_;  // the last admission's request id; only of the thread
  uint64_t changes_ = 0;
  std::map<std::string, std::vector<std::vector<uint8_t>>> heads_;  // by gallery, to be kept
  std::set<std::string> owed_;
  std::map<std::string, uint64_t> signed_;     // generation whose state the key owner has signed
  std::map<std::string, std::string> failed_;  // why the last exchange did; logged once
  std::thread thread_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_EXCHANGE_H_
