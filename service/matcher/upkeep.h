// SPDX-License-Identifier: Apache-2.0
// Upkeep: completes removals in all galleries. It renews blocks that removed templates leave, even
// if the task for that failed; it overwrites erased bytes that could not be overwritten at once;
// and it removes expired templates. It starts with the service and goes on until all of this is
// done. It also keeps the metrics of damage up to date.
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
  std::chrono::milliseconds poll{2000};      // between checks for changes
  std::chrono::milliseconds sweep{3600000};  // between checks for expired templates
};

// ShowDamage: in the metrics: what this process has met in the gallery and is damaged still.
void ShowDamage(const std::string& name, const Gallery& gallery, Metrics* metrics);

class Upkeep {
 public:
  // All of them outlive it.
  Upkeep(const CurrentEngine* engine, Galleries* galleries, Exchange* exchange,
         UpkeepOptions options, AuditLog* audit_log, Metrics* metrics);
  ~Upkeep();
  Upkeep(const Upkeep&) = delete;
  Upkeep& operator=(const Upkeep&) = delete;

  // Owe: erased bytes of this gallery could not be overwritten yet.
  void Owe(const std::string& gallery);
  // Stop: ends the work; the next start continues it.
  void Stop();

 private:
  using Clock = std::chrono::steady_clock;
  // The state of a gallery; only the thread uses it.
  struct Known {
    uint64_t settled = 0;  // generation without leaving templates; 0: none yet
    bool owed = true;      // bytes may be left to overwrite; unknown at a start
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
  std::map<std::string, Known> known_;  // only of the thread
  mutable std::mutex mutex_;            // of all below
  std::condition_variable woken_;
  std::set<std::string> owed_;  // told of by Owe
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_UPKEEP_H_
