// SPDX-License-Identifier: Apache-2.0
// Traffic: the number and duration of requests in each minute of the last hour, for users of the
// console. Programs read the metrics.
#ifndef HEFT_SERVICE_CONSOLE_TRAFFIC_H_
#define HEFT_SERVICE_CONSOLE_TRAFFIC_H_

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "service/http/server.h"
#include "service/json.h"

namespace heft::service {

class Traffic {
 public:
  // Observe: records an answered request; any thread. Routes for watching (health, metrics, the
  // console's own) are left out, as they would dominate. `now`: Unix seconds.
  void Observe(const Answered& answered, uint64_t now);
  void Observe(const std::string& operation, int status, double seconds, uint64_t now);
  // {"minutes": [60 of {"requests", "errors", "p50_ms", "p99_ms"}, the last is running],
  //  "total": the sum with "failures", "operations": [...]}. Times are null without a request, and
  // accurate within a tenth.
  Json Read(uint64_t now) const;

 private:
  static constexpr size_t kMinutes = 60, kBins = 128;
  struct Cell {
    uint64_t minute = 0;  // since 1970
    uint32_t requests = 0, errors = 0, failures = 0;
    std::array<uint32_t, kBins> times{};  // bin b: below 0.05 ms times 1.2^b
    void Add(const Cell& other);
    Json Describe() const;
    Json Quantile(double share) const;
  };
  static size_t BinOf(double seconds);
  static double TimeOf(size_t bin);  // milliseconds

  mutable std::mutex mutex_;
  std::map<std::string, std::array<Cell, kMinutes>> operations_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_CONSOLE_TRAFFIC_H_
