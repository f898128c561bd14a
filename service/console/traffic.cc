// SPDX-License-Identifier: Apache-2.0
#include "service/console/traffic.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "service/json.h"

namespace heft::service {
namespace {

constexpr double kFirst = 0.05, kStep = 1.2;  // milliseconds
constexpr uint64_t kMinute = 60;

}  // namespace

size_t Traffic::BinOf(double seconds) {
  const double milliseconds = std::max(seconds * 1000, kFirst);
  const double bin = std::ceil(std::log(milliseconds / kFirst) / std::log(kStep));
  return std::min(static_cast<size_t>(std::max(bin, 0.0)), kBins - 1);
}

// The middle of a bin, by ratio.
double Traffic::TimeOf(size_t bin) {
  return kFirst * std::pow(kStep, static_cast<double>(bin) - 0.5);
}

void Traffic::Cell::Add(const Cell& other) {
  requests += other.requests;
  errors += other.errors;
  failures += other.failures;
  for (size_t i = 0; i < kBins; ++i) times[i] += other.times[i];
}

Json Traffic::Cell::Quantile(double share) const {
  if (requests == 0) return nullptr;
  const double wanted = share * requests;
  double seen = 0;
  for (size_t i = 0; i < kBins; ++i) {
    seen += times[i];
    if (seen >= wanted) return std::round(TimeOf(i) * 1000) / 1000;
  }
  return TimeOf(kBins - 1);
}

Json Traffic::Cell::Describe() const {
  return {{"requests", requests},
          {"errors", errors},
          {"failures", failures},
          {"p50_ms", Quantile(0.5)},
          {"p99_ms", Quantile(0.99)}};
}

void Traffic::Observe(const Answered& answered, uint64_t now) {
  static const auto* const watching = new std::set<std::string>(
      {"live", "ready", "metrics", "readService", "readStatus", "readTraffic"});
  if (answered.route == nullptr || watching->contains(answered.route->operation) ||
      answered.route->operation.starts_with("console:")) {
    return;
  }
  Observe(answered.route->operation, answered.status, answered.seconds, now);
}

void Traffic::Observe(const std::string& operation, int status, double seconds, uint64_t now) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const uint64_t minute = now / kMinute;
  Cell& cell = operations_[operation][minute % kMinutes];
  if (cell.minute != minute) cell = {.minute = minute};
  ++cell.requests;
  cell.errors += status >= 400 ? 1 : 0;
  cell.failures += status >= 500 ? 1 : 0;
  ++cell.times[BinOf(seconds)];
}

Json Traffic::Read(uint64_t now) const {
  const uint64_t last = now / kMinute;
  std::array<Cell, kMinutes> minutes;
  Cell total;
  Json operations = Json::array();
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    for (const auto& [operation, cells] : operations_) {
      Cell sum;
      for (const Cell& cell : cells) {
        if (cell.minute + kMinutes <= last || cell.minute > last) continue;
        sum.Add(cell);
        minutes[kMinutes - 1 - (last - cell.minute)].Add(cell);
      }
      if (sum.requests == 0) continue;
      total.Add(sum);
      Json described = sum.Describe();
      described["operation"] = operation;
      operations.push_back(std::move(described));
    }
  }
  Json out = {{"minutes", Json::array()}, {"total", total.Describe()}};
  for (const Cell& cell : minutes) out["minutes"].push_back(cell.Describe());
  out["operations"] = std::move(operations);
  return out;
}

}  // namespace heft::service
