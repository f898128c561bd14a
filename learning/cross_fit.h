// SPDX-License-Identifier: Apache-2.0
// Cross-fitting: scores of people under models that have not seen them, without giving anybody up
// for training. The people for training and validation are dealt into parts; for each part the
// whole recipe runs on the others, with weights and a stop of its own, and scores the part's people
// with each other. What is fitted to those scores (learning/decide.h) is fitted to nobody's own
// training.
#ifndef HEFT_LEARNING_CROSS_FIT_H_
#define HEFT_LEARNING_CROSS_FIT_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "features/dataset.h"
#include "heft/progress.h"
#include "learning/train.h"

namespace heft {

// CrossFit: parts of people (Split::kTest of a split), each with what was learned from the others.
struct CrossFit {
  Dataset people;                          // no test people of the data among them
  std::vector<std::vector<Split>> splits;  // of the rows of `people`, one a part
  std::vector<TrainResult> results;        // one a part
  // Whether there were too few people: one part then, the validation people, who have stopped the
  // training of the only result.
  bool too_few = false;

  // `people` with the split of a part.
  Dataset Part(size_t part) const;
  // Scores of each part's people under its result, normalised as encrypted scores are.
  absl::StatusOr<std::vector<LabelledScores>> Scores() const;
};

// FitAcross: `shipped` is what the same options gave on the data's own split, for the case that
// there are too few people. `name` tells runs apart in progress. kCancelled; Train's errors.
absl::StatusOr<CrossFit> FitAcross(const Monitor& monitor, const Dataset& dataset,
                                   const TrainOptions& options, const TrainResult& shipped,
                                   const std::string& name);

}  // namespace heft

#endif  // HEFT_LEARNING_CROSS_FIT_H_
