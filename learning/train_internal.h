// SPDX-License-Identifier: Apache-2.0
// Pieces of Train; not for use outside this folder.
#ifndef HEFT_LEARNING_TRAIN_INTERNAL_H_
#define HEFT_LEARNING_TRAIN_INTERNAL_H_

#include <span>
#include <vector>

#include "base/status.h"
#include "learning/pairing.h"
#include "learning/projection.h"
#include "learning/train.h"

namespace heft::internal {

// Options as the model file and the checkpoint hold them.
Json OptionsToJson(const TrainOptions& options);

// Scores of all pairs of features (n x d) projected by P.
FeatureMatrix ProjectedScores(const FeatureMatrix& projection, const FeatureMatrix& features,
                              Metric metric, const Normaliser& normaliser);

// AUROC of all pairs of samples; -1 where there are no two kinds.
double FastAuroc(const FeatureMatrix& scores, std::span<const int> classes);

// AUROC of unit-length features projected by P, mean over the batches; -1 if not computable.
double MeanAuroc(const std::vector<Batch>& batches, const FeatureMatrix& projection,
                 const Normaliser& normaliser, Metric metric = Metric::kCosine);

// JudgeAll: the mean AUROC of the batches, and the FNMR estimate of all of them at recipe::kFmr; 0
// and 1 without batches.
struct Judged {
  double auroc = 0, fnmr = 1;
};
Judged JudgeAll(const std::vector<Batch>& batches, const FeatureMatrix& projection,
                const Normaliser& normaliser, Metric metric);

// OutsideShare: of squared norms, those that are not in the interval.
double OutsideShare(const Eigen::VectorXd& s, const Interval& interval);

// Quantile (linear between order statistics) of values; `share` in [0, 1].
double Quantile(const Eigen::VectorXd& values, double share);

// The interval from the 0.1% quantile / margin to the 99.9% quantile * margin of the squared
// norms, and 4.5 deviations of their logarithm about its mean. It is scaled by gain^2 so that its
// geometric middle is 1, or less where its upper end would exceed options.largest_norm. The fit on
// it.
absl::StatusOr<Normaliser> FitToNorms(const Eigen::VectorXd& norms, const TrainOptions& options);

}  // namespace heft::internal

#endif  // HEFT_LEARNING_TRAIN_INTERNAL_H_
