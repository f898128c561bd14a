// SPDX-License-Identifier: Apache-2.0
// Cross-fitting: scores of people under models that have not seen them, while all people train the
// model that ships. The people for training and validation are dealt into parts, and each fold
// leaves some parts out: its model is made of the other parts and scores the people left out. Every
// such model repeats the choices of the model that ships (method, dimension, settings, epochs):
// only then its scores have the same distribution. Thresholds, calibration (learning/decide.h) and
// the interval are fitted to these scores.
//
// A fold leaves out two parts where the samples are few enough, fewer where epochs follow the
// closed form. There is a fold for every two parts, so all people are compared with each other. A
// threshold for a rare rate needs these comparisons: of 123 people in five parts of one fold each,
// a fifth are made. Otherwise a fold leaves out one part, and people of different parts are not
// compared.
#ifndef HEFT_LEARNING_CROSS_FIT_H_
#define HEFT_LEARNING_CROSS_FIT_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "features/dataset.h"
#include "heft/base.h"
#include "learning/train.h"

namespace heft {

// CrossFit: folds (Split::kTest of a split is left out), each with what the others' samples taught.
struct CrossFit {
  Dataset people;                          // no test people of the data among them
  std::vector<std::vector<Split>> splits;  // of the rows of `people`, one a fold
  std::vector<TrainResult> results;        // one a fold
  bool across = false;                     // a fold for every two parts
  // Whether there were too few people: one part then, the validation people, who have stopped the
  // training of the only result, which ships.
  bool too_few = false;

  // `people` with the split of a fold.
  Dataset Fold(size_t fold) const;
  // Collect: `score` gives the scores of the people that a fold leaves out, rows and columns in the
  // order of `people`. One set a fold; with `across` a single set of all people, in which each
  // comparison is of the first fold that leaves out both. Errors of `score`.
  using ScoreFold = std::function<absl::StatusOr<LabelledScores>(size_t fold)>;
  absl::StatusOr<std::vector<LabelledScores>> Collect(const ScoreFold& score) const;
  // Scores: under each fold's result, normalised as encrypted scores are.
  absl::StatusOr<std::vector<LabelledScores>> Scores() const;
};

// DevelopmentPeople: the rows for training and validation, and the unpaired samples of all people
// but those of the test split.
Dataset DevelopmentPeople(const Dataset& dataset);
// PeopleWithTwo: how many people have a second sample. Genuine scores come from these people alone.
int PeopleWithTwo(std::span<const int> identities);
// CrossFitParts: into how many parts people are dealt where a fold leaves out one; below 2 there
// are too few people. Twice as many where a fold leaves out two, so that a model trains on the same
// share of the people.
int CrossFitParts(const Dataset& people);

// FitAcross: under the generalising recipe TrainFully with `options` and `epochs` for each fold,
// under the paper's Train. CrossFitParts must be 2 or more. `name` tells runs apart in progress.
// kCancelled; Train's errors.
absl::StatusOr<CrossFit> FitAcross(const Monitor& monitor, const Dataset& dataset,
                                   const TrainOptions& options, int epochs,
                                   const std::string& name);
// EpochsAcross: ChooseEpochs where a fold leaves out one part and those people judge. CrossFitParts
// must be 2 or more. kCancelled; Train's errors.
absl::StatusOr<int> EpochsAcross(const Monitor& monitor, const Dataset& dataset,
                                 const TrainOptions& options, const std::string& name);
// OfValidationPeople: the cross-fit of too few people; `shipped` was trained on the data's own
// split.
CrossFit OfValidationPeople(const Dataset& dataset, const TrainResult& shipped);
// OfAllPeople: the same where labels took no part in the training, so that all people may judge.
CrossFit OfAllPeople(const Dataset& people, const TrainResult& shipped);

// HeldOutNorms: |P x|^2 of each row, under the result of the first fold that leaves it out. Where
// training drops modalities, of one re-pairing with modalities dropped, too.
absl::StatusOr<Eigen::VectorXd> HeldOutNorms(const CrossFit& fit, const TrainOptions& options);
// SetIntervals: gives every fold's result the normaliser. Concatenate's errors.
absl::Status SetIntervals(const Normaliser& normaliser, CrossFit& fit);

}  // namespace heft

#endif  // HEFT_LEARNING_CROSS_FIT_H_
