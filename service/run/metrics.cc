// SPDX-License-Identifier: Apache-2.0
#include "service/run/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

namespace heft::service {
namespace {

class RegistryMetrics : public Metrics {
 public:
  void Counter(const std::string& name, const std::string& help) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (IsNew(name)) {
      counters_[name] = &prometheus::BuildCounter().Name(name).Help(help).Register(registry_);
    }
  }
  void Gauge(const std::string& name, const std::string& help) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (IsNew(name)) {
      gauges_[name] = &prometheus::BuildGauge().Name(name).Help(help).Register(registry_);
    }
  }
  void Histogram(const std::string& name, const std::string& help,
                 std::vector<double> buckets) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (IsNew(name)) {
      histograms_[name] = {&prometheus::BuildHistogram().Name(name).Help(help).Register(registry_),
                           std::move(buckets)};
    }
  }
  void Add(const std::string& name, const MetricLabels& labels, double by) override {
    Find(counters_, name)->Add(labels).Increment(by);
  }
  void Set(const std::string& name, const MetricLabels& labels, double value) override {
    Find(gauges_, name)->Add(labels).Set(value);
  }
  void Observe(const std::string& name, const MetricLabels& labels, double value) override {
    const auto [family, buckets] = Find(histograms_, name);
    family->Add(labels, buckets).Observe(value);
  }
  void BeforeReading(std::function<void()> update) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    updates_.push_back(std::move(update));
  }
  std::string Text() override {
    std::vector<std::function<void()>> updates;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      updates = updates_;
    }
    for (const auto& update : updates) update();
    return prometheus::TextSerializer().Serialize(registry_.Collect());
  }

 private:
  bool IsNew(const std::string& name) {
    if (names_.insert(name).second) return true;
    Die(name, "is there twice");
  }
  template <typename T>
  T Find(const std::map<std::string, T>& families, const std::string& name) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = families.find(name);
    if (found == families.end()) Die(name, "does not exist, or is of another kind");
    return found->second;
  }
  [[noreturn]] static void Die(const std::string& name, const char* why) {
    std::fprintf(stderr, "metric %s %s\n", name.c_str(), why);
    std::abort();
  }

  std::mutex mutex_;
  prometheus::Registry registry_;
  std::set<std::string> names_;
  std::map<std::string, prometheus::Family<prometheus::Counter>*> counters_;
  std::map<std::string, prometheus::Family<prometheus::Gauge>*> gauges_;
  std::map<std::string, std::pair<prometheus::Family<prometheus::Histogram>*, std::vector<double>>>
      histograms_;
  std::vector<std::function<void()>> updates_;
};

}  // namespace

std::unique_ptr<Metrics> Metrics::Create() { return std::make_unique<RegistryMetrics>(); }

}  // namespace heft::service
