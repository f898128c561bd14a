// SPDX-License-Identifier: Apache-2.0
// Time of the wall and of the processor, what repeated measurements come to, and the machine.
#ifndef HEFT_EXPERIMENT_STOPWATCH_H_
#define HEFT_EXPERIMENT_STOPWATCH_H_

#include <ctime>
#include <utility>
#include <vector>

#include "base/status.h"
#include "heft/files.h"

namespace heft::experiment {

// Stopwatch runs from its creation, by default with the wall.
class Stopwatch {
 public:
  enum Clock {
    kWall = CLOCK_MONOTONIC,
    // CPU time of all threads together, or of the thread that made the watch: what else the machine
    // does moves it little.
    kProcess = CLOCK_PROCESS_CPUTIME_ID,
    kThread = CLOCK_THREAD_CPUTIME_ID,
  };
  explicit Stopwatch(Clock clock = kWall) : clock_(clock), start_(Now()) {}

  double Milliseconds() const { return Now() - start_; }
  double Seconds() const { return Milliseconds() / 1000; }

 private:
  double Now() const {
    timespec now;
    clock_gettime(clock_, &now);
    return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
  }
  Clock clock_;
  double start_;
};

// Quantile: the value below which the share `q` of the values lies; 0 of none.
double Quantile(std::vector<double> values, double q);
inline double Median(std::vector<double> values) { return Quantile(std::move(values), 0.5); }

// Timings: wall times, and the calling thread's CPU times, of repeated runs, in milliseconds.
class Timings {
 public:
  // Time measures one run of `work`, whose status or result it passes on; only one that ended well
  // counts.
  template <typename Work>
  auto Time(const Work& work) {
    const Stopwatch cpu(Stopwatch::kThread), wall;
    auto result = work();
    if (result.ok()) {
      wall_.push_back(wall.Milliseconds());
      cpu_.push_back(cpu.Milliseconds());
    }
    return result;
  }

  double Median() const { return experiment::Median(wall_); }
  // Spread: median, 10% and 90% quantiles, median of the CPU times, number of runs.
  Json Spread() const;

 private:
  std::vector<double> wall_, cpu_;
};

// Machine: what measurements were made on: processor, threads, instruction set, compiler, build.
Json Machine();

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_STOPWATCH_H_
