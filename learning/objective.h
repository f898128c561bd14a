// SPDX-License-Identifier: Apache-2.0
// What learning minimises: a smooth estimate of the false non-match rate (FNMR) at a low false
// match rate (FMR). AUROC saturates near 1 on good embeddings and cannot choose between systems.
// The empirical FNMR is a step function on few people and cannot choose either.
//
//   Threshold: the highest kTailShare of the impostor scores are taken as exponential above their
//   lowest, with their mean excess (J. Pickands, Annals of Statistics 3, 1975, shape 0). Where
//   `fmr` is above that share, the threshold is the empirical quantile. FNMR: the share of genuine
//   scores below the threshold, each score spread by a normal distribution of kBandwidth times the
//   genuine scores' standard deviation.
//
// docs/learning.md holds the experiment behind both constants.
#ifndef HEFT_LEARNING_OBJECTIVE_H_
#define HEFT_LEARNING_OBJECTIVE_H_

#include <cstddef>
#include <span>
#include <vector>

#include "evaluation/bootstrap.h"
#include "features/matrix.h"

namespace heft {

// PooledPairs: scores of genuine and impostor comparisons of several sets of people.
struct PooledPairs {
  std::vector<double> genuine, impostor;
  std::vector<size_t> person;  // of each genuine score, numbered through the sets
  size_t people = 0;

  // Add: all pairs i < j of `scores` (n x n); `classes` has a number from 0 for each row.
  void Add(const FeatureMatrix& scores, std::span<const int> classes);
};

// TailThreshold: the score that a share `fmr` of impostors reaches, in (0, 1). Reorders `impostor`,
// which must not be empty.
double TailThreshold(std::vector<double>& impostor, double fmr);

// FnmrEstimate: the smooth estimate, and each person's share of it.
struct FnmrEstimate {
  double fnmr = 1;  // in [0, 1]
  // Mean squared length of templates of people who trained over that of people who did not, where a
  // search measured it. Few people in many dimensions make it large, and then one interval cannot
  // hold both.
  double norm_ratio = 1;
  std::vector<double> of_person;  // sum over a person's genuine scores; 0 for people without one
  std::vector<double> pairs;      // the number of these scores
};

// EstimateFnmr: at `fmr`; 1 without genuine or impostor scores. Reorders pairs.impostor.
FnmrEstimate EstimateFnmr(PooledPairs& pairs, double fmr);
FnmrEstimate EstimateFnmr(std::span<const LabelledScores> sets, double fmr);

// Objective: the minimised value: the FNMR, and recipe::kNormPenalty for each factor e by which the
// norm ratio is beyond recipe::kNormRatio, up or down.
double Objective(const FnmrEstimate& estimate);

// FnmrDifference: a's objective minus b's on the same people, and the standard error of the
// difference of FNMR over people. The error of the two thresholds is not in it.
struct FnmrDifference {
  double value = 0, standard_error = 0;
};
FnmrDifference Subtract(const FnmrEstimate& a, const FnmrEstimate& b);

}  // namespace heft

#endif  // HEFT_LEARNING_OBJECTIVE_H_
