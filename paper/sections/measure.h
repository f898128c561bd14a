// SPDX-License-Identifier: Apache-2.0
// What sections that measure share.
#ifndef HEFT_PAPER_SECTIONS_MEASURE_H_
#define HEFT_PAPER_SECTIONS_MEASURE_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "base/threads.h"
#include "experiment/random_model.h"
#include "experiment/stopwatch.h"
#include "features/matrix.h"

namespace heft::paper {

// MedianMs: the median CPU time of `work`, which returns a status, all threads together, in
// milliseconds. kCancelled when the monitor says so.
template <typename Work>
absl::StatusOr<double> MedianMs(const Monitor& monitor, int repetitions, const Work& work) {
  using experiment::Stopwatch;
  std::vector<double> ms;
  for (int i = 0; i < repetitions; ++i) {
    if (Stopped(monitor)) return absl::CancelledError("interrupted");
    const Stopwatch watch(Stopwatch::kProcess);
    HEFT_RETURN_IF_ERROR(work());
    ms.push_back(watch.Milliseconds());
  }
  return experiment::Median(ms);
}

// OneThread: the engine works on one thread as long as this lives, so that times compare.
class OneThread {
 public:
  OneThread() { SetThreadCount(1); }
  ~OneThread() { SetThreadCount(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_ = ThreadCount();
};

// RandomUnits: random vectors of length one, a row each.
inline FeatureMatrix RandomUnits(int rows, uint32_t dimension, std::mt19937_64& random) {
  FeatureMatrix units(rows, dimension);
  for (int i = 0; i < rows; ++i) {
    const std::vector<double> unit = experiment::RandomUnit(dimension, random);
    std::copy(unit.begin(), unit.end(), units.row(i).begin());
  }
  return units;
}

}  // namespace heft::paper

#endif  // HEFT_PAPER_SECTIONS_MEASURE_H_
