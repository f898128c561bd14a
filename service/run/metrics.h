// SPDX-License-Identifier: Apache-2.0
// Metrics: counters, gauges and histograms by name and labels (prometheus-cpp), and the text for
// Prometheus. Names begin with heft_; labels have few values: never an identity. Any thread.
#ifndef HEFT_SERVICE_RUN_METRICS_H_
#define HEFT_SERVICE_RUN_METRICS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace heft::service {

using MetricLabels = std::map<std::string, std::string>;

class Metrics {
 public:
  static std::unique_ptr<Metrics> Create();
  virtual ~Metrics() = default;
  // Call once for each name, before its use; aborts if a name has two kinds. `buckets`: upper
  // bounds.
  virtual void Counter(const std::string& name, const std::string& help) = 0;
  virtual void Gauge(const std::string& name, const std::string& help) = 0;
  virtual void Histogram(const std::string& name, const std::string& help,
                         std::vector<double> buckets) = 0;
  virtual void Add(const std::string& name, const MetricLabels& labels, double by = 1) = 0;
  virtual void Set(const std::string& name, const MetricLabels& labels, double value) = 0;
  virtual void Observe(const std::string& name, const MetricLabels& labels, double value) = 0;
  // `update` runs before each reading, to set gauges that change with time (ages, sizes).
  virtual void BeforeReading(std::function<void()> update) = 0;
  virtual std::string Text() = 0;
};

// The content type of Text.
inline constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace heft::service

#endif  // HEFT_SERVICE_RUN_METRICS_H_
