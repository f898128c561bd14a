// SPDX-License-Identifier: Apache-2.0
// Upkeep: what is owed to those who have gone, in all galleries. Blocks that somebody leaves are
// renewed, whoever removed him and whatever became of the task that was to see to it; what could
// not be overwritten yet is; and who has expired goes. It begins anew with each start of the
// service and goes on until nothing is owed.
#ifndef HEFT_SERVICE_MATCHER_UPKEEP_H_
#define HEFT_SERVICE_MATCHER_UPKEEP_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/matcher/engine.h"
#include "service/matcher/exchange.h"
#include "service/matcher/galleries.h"
#include "service/run/audit_log.h"
#include "service/run/metrics.h"

namespace heft::service {

struct UpkeepOptions {
  std::chrono::milliseconds poll{2000};      // between looks at what has changed
  std::chrono::milliseconds sweep{3600000};  // between looks for who has expired
};

class Upkeep {
 public:
  // They outlive it.
  Upkeep(const CurrentEngine* engine, Galleries* galleries, Exchange* exchange,
         UpkeepOptions options, AuditLog* audit_log, Metrics* metrics);
  ~Upkeep();
  Upkeep(const Upkeep&) = delete;
  Upkeep& operator=(const Upkeep&) = delete;

  // Owe: something of this gallery could not be overwritten.
  void Owe(const std::string& gallery);
  // Stop: no more of it; what is owed is taken up at the next start.
  void Stop();

 private:
  using Clock = std::chrono::steady_clock;
  // Of a gallery; of the thread alone.
  struct Known {
    uint64_t settled = 0;  // generation in which nobody was leaving; 0: none yet
    bool owed = true;      // something may be left to overwrite: at a start, nobody knows
    Clock::time_point swept{}, not_before{};
    std::chrono::milliseconds pause{0};  // after a failure, twice as long each time
    std::string failure;                 // the last one; logged once
  };

  void Run();
  bool Stopping() const;
  void LookAfter(const std::string& gallery, Known* known);
  absl::Status Settle(const std::string& gallery, Known* known);
  absl::Status Sweep(const std::string& gallery, const std::string& address, Known* known);
  absl::Status RenewLeaving(const std::string& gallery, const std::string& address, Known* known);

  const CurrentEngine* const engine_;
  Galleries* const galleries_;
  Exchange* const exchange_;
  const UpkeepOptions options_;
  AuditLog* const audit_log_;
  Metrics* const metrics_;
  std::map<std::string, Known> known_;  // of the thread alone
  mutable std::mutex mutex_;            // of all below
  std::condition_variable woken_;
  std::set<std::string> owed_;  // told of by Owe
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_UPKEEP_H_
