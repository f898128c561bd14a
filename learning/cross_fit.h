// SPDX-License-Identifier: Apache-2.0
// Cross-fitting: scores of people under models that have not seen them, without giving anybody up
// for training. The people for training and validation are dealt into parts. For each part a model
// is made of the others, and scores the part's people with each other. Every such model repeats the
// choices of the model that ships (method, dimension, settings, epochs): only then its scores have
// the same distribution. What is fitted to those scores (learning/decide.h), and the interval, are
// fitted to nobody's own training.
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
  // training of the only result, which ships.
  bool too_few = false;

  // `people` with the split of a part.
  Dataset Part(size_t part) const;
  // Scores of each part's people under its result, normalised as encrypted scores are.
  absl::StatusOr<std::vector<LabelledScores>> Scores() const;
};

// DevelopmentPeople: the rows for training and validation, and the unpaired samples of all people
// but those of the test split.
Dataset DevelopmentPeople(const Dataset& dataset);
// CrossFitParts: how many parts FitAcross deals these people into; below 2 there are too few.
int CrossFitParts(const Dataset& people);

// FitAcross: under the generalising recipe TrainFully with `options` and `epochs` for each part,
// under the paper's Train. CrossFitParts must be 2 or more. `name` tells runs apart in progress.
// kCancelled; Train's errors.
absl::StatusOr<CrossFit> FitAcross(const Monitor& monitor, const Dataset& dataset,
                                   const TrainOptions& options, int epochs,
                                   const std::string& name);
// OfValidationPeople: the cross-fit of too few people; `shipped` was trained on the data's own
// split.
CrossFit OfValidationPeople(const Dataset& dataset, const TrainResult& shipped);
// OfAllPeople: the same where labels took no part in the training, so that all people may judge.
CrossFit OfAllPeople(const Dataset& people, const TrainResult& shipped);

// HeldOutNorms: |P x|^2 of all parts' people under their part's result. Where training drops
// modalities, of one re-pairing with modalities dropped, too.
absl::StatusOr<Eigen::VectorXd> HeldOutNorms(const CrossFit& fit, const TrainOptions& options);
// SetIntervals: gives every part's result the normaliser. Concatenate's errors.
absl::Status SetIntervals(const Normaliser& normaliser, CrossFit& fit);

}  // namespace heft

#endif  // HEFT_LEARNING_CROSS_FIT_H_
