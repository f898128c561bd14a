// SPDX-License-Identifier: Apache-2.0
// Who is enrolled with which samples, and probed with which others: the protocol of an experiment
// with several samples of a person.
#ifndef HEFT_EXPERIMENT_SAMPLE_DRAWS_H_
#define HEFT_EXPERIMENT_SAMPLE_DRAWS_H_

#include <cstdint>
#include <vector>

#include "evaluation/comparisons.h"
#include "experiment/mean_scores.h"
#include "features/dataset.h"

namespace heft::experiment {

// SampleWay: how many samples make a template, how many a probe, and whether they become one, their
// mean, or stay separate templates, where the best score counts.
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

// DrawLists: all that some ways enrol and ask of the people of a draw, each list once, so that one
// matrix of scores [probe][reference] serves every way.
class DrawLists {
 public:
  DrawLists(const DrawnPeople& draw, const std::vector<SampleWay>& ways);

  const RowLists& references() const { return references_; }
  const RowLists& probes() const { return probes_; }

  // Compare: adds every probe of a way with every person: all single samples, or the one mean; the
  // best score where templates are separate.
  void Compare(const FeatureMatrix& scores, const SampleWay& way, Comparisons* out) const;

 private:
  // Of one person: a mean for each number of samples, then single samples from the second on.
  size_t ReferencesOfOne() const { return means_.size() + separate_ - 1; }
  size_t MeanPlace(int samples) const;
  // Of one person: single samples, then a mean for each number above one.
  size_t ProbesOfOne() const { return singles_ + asked_.size(); }

  size_t people_ = 0, singles_ = 0, separate_ = 1;
  std::vector<int> means_ = {1}, asked_;  // numbers of samples, rising
  RowLists references_, probes_;
};

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_SAMPLE_DRAWS_H_
