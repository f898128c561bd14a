// SPDX-License-Identifier: Apache-2.0
// Exchange: the matcher's errands to the key owner. It sends what waits in quarantine, and brings
// what was admitted into the gallery; and it has blocks renewed that templates leave. One thread
// looks after all galleries; renewals are tasks of whoever asks for them.
#ifndef HEFT_SERVICE_MATCHER_EXCHANGE_H_
#define HEFT_SERVICE_MATCHER_EXCHANGE_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/pending.h"
#include "heft/progress.h"
#include "heft/removal.h"
#include "service/matcher/decider_link.h"
#include "service/matcher/engine.h"
#include "service/matcher/galleries.h"
#include "service/run/audit_log.h"
#include "service/run/metrics.h"

namespace heft::service {

struct ExchangeOptions {
  std::chrono::milliseconds poll{2000};       // between looks at what nobody has told of
  std::chrono::milliseconds patience{30000};  // for an answer of the decider
  PendingLimit most;                          // of one request for admission
};

class Exchange {
 public:
  // `decider`: nullptr where files are carried by hand: then no thread runs. The others outlive it.
  Exchange(const CurrentEngine* engine, Galleries* galleries, std::shared_ptr<Decider> decider,
           ExchangeOptions options, AuditLog* audit_log, Metrics* metrics);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  bool has_decider() const { return decider_ != nullptr; }
  // Wake: somebody has brought something.
  void Wake();
  // Changes: counts admissions that came into any gallery. WaitForChange: until there are more than
  // `seen`, or the deadline.
  uint64_t Changes() const;
  void WaitForChange(uint64_t seen, std::chrono::steady_clock::time_point deadline) const;

  // Request: what waits in a gallery, signed, for the key owner; of much, what comes first. Apply:
  // what he answered.
  absl::StatusOr<std::vector<uint8_t>> Request(const std::string& gallery);
  // `request_id`: in whose name, for the audit log.
  absl::StatusOr<AdmitResult> Apply(const std::string& gallery, std::span<const uint8_t> admission,
                                    const std::string& request_id);

  // Renewed: what came of one renewal or several.
  struct Renewed {
    uint64_t blocks = 0, freed = 0, moved = 0, erased = 0, leaving = 0;
    std::vector<std::vector<uint8_t>> receipts;
    absl::Status overwritten;
  };
  // RenewAll: until nobody leaves any more; `compact`: and sparse blocks have become few. Several
  // callers take turns. kFailedPrecondition without a decider.
  absl::StatusOr<Renewed> RenewAll(const std::string& gallery, bool compact,
                                   const Monitor& monitor);
  // AskRenewal and FinishRenewal: both ends of one, where files are carried by hand.
  absl::StatusOr<std::vector<uint8_t>> AskRenewal(const std::string& gallery, bool compact,
                                                  const Monitor& monitor);
  absl::StatusOr<RenewResult> FinishRenewal(const std::string& gallery,
                                            std::span<const uint8_t> answer);

  // Stop: no more errands.
  void Stop();

 private:
  void Run();
  // Looks after one gallery; whether anything came into it.
  absl::StatusOr<bool> Admit(const std::string& gallery);
  void AdmitAll();
  absl::StatusOr<std::vector<uint8_t>> SignFor(const std::string& gallery,
                                               const std::vector<uint8_t>& request);
  // Errand: under a request id of its own, by which both daemons write it down.
  Forwarded Errand(const std::string& gallery) const;
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
  std::string asked_as_;  // the last admission's request id; the thread's alone
  uint64_t changes_ = 0;
  std::map<std::string, uint64_t> signed_;     // generation whose state the key owner has signed
  std::map<std::string, std::string> failed_;  // why the last errand did; logged once
  std::thread thread_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_EXCHANGE_H_
