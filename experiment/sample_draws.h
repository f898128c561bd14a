// SPDX-License-Identifier: Apache-2.0
// Who is enrolled with which samples, and probed with which others: the protocol of an experiment
// with several samples of a person.
#ifndef HEFT_EXPERIMENT_SAMPLE_DRAWS_H_
#define HEFT_EXPERIMENT_SAMPLE_DRAWS_H_

#include <cstdint>
#include <vector>

#include "features/dataset.h"

namespace heft::experiment {

// SampleWay: how many samples make a template, how many a probe, and whether they become one, their
// mean, or stay separate templates of which the best score counts.
struct SampleWay {
  int enrolled = 1;
  int probe = 1;
  bool separate = false;
};

// SampleDraw: of one person: rows of a data set, in a random order.
struct SampleDraw {
  std::vector<int> enrolled, probes;
};

// DrawSamples: of each person of `rows` who has samples enough for `enrolled` and `probes`; the
// others are left out. The same for the same seed.
struct DrawnPeople {
  std::vector<SampleDraw> people;
  int left_out = 0;
};
DrawnPeople DrawSamples(const Dataset& dataset, const std::vector<int>& rows, int enrolled,
                        int probes, uint64_t seed);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_SAMPLE_DRAWS_H_
