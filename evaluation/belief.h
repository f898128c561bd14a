// SPDX-License-Identifier: Apache-2.0
// Belief: what an attacker believes of a template: a Gaussian. Scores of known probes are linear
// measurements of it, so the belief after them has a closed form (C. E. Rasmussen and C. K. I.
// Williams, Gaussian Processes for Machine Learning, 2006, section A.2), and so has the vector that
// is most likely to be accepted.
#ifndef HEFT_EVALUATION_BELIEF_H_
#define HEFT_EVALUATION_BELIEF_H_

#include <Eigen/Core>

#include "features/decompositions.h"
#include "features/matrix.h"

namespace heft {

// Belief: `covariance` has the eigenvalues and vectors, rising and none negative, of a space that
// holds the mean and all rows; `norm` is the root of the sum of all squared eigenvalues.
struct Belief {
  Eigen::VectorXd mean;
  Spectrum covariance;
  double norm = 0;
};

// BeliefOf: mean and covariance of `rows`, two at least, the covariance shrunk a little towards a
// multiple of the identity, because people are few.
Belief BeliefOf(const FeatureMatrix& rows);

// Measurement: of `probes`, a row each in the belief's space, with independent errors of variance
// `noise` > 0. `gain` turns the difference between scores and expected scores into a change of the
// mean; `gain_along` is the same, and `seen` the covariance of scores and template, along the
// eigenvectors.
struct Measurement {
  Eigen::MatrixXd probes, gain, gain_along, seen;
};
Measurement Measure(const Belief& prior, const Eigen::MatrixXd& probes, double noise);
// LeftAfter: the covariance after it, whatever the scores are: the part that LikeliestAccepted
// needs for `mean`. It costs some 50 products with a vector instead of a decomposition.
Spectrum LeftAfter(const Belief& prior, const Measurement& measurement,
                   const Eigen::VectorXd& mean);
// MeasureLargest: by the directions of the `count` largest variances, which leave the least
// variance; `left` is the whole covariance after it, along the same eigenvectors. The measurement
// has only probes and gain.
struct Largest {
  Measurement measurement;
  Spectrum left;
};
Largest MeasureLargest(const Belief& prior, int count, double noise);
// After: the mean after `scores`.
Eigen::VectorXd After(const Belief& prior, const Measurement& measurement,
                      const Eigen::VectorXd& scores);

// LikeliestAccepted: the vector g of length 1 for which <g, t> is most likely to reach `threshold`.
// It has the form (1 - k covariance)^-1 mean for a number k: 0 gives the direction of the mean; a
// mean that does not reach the threshold needs k > 0, which prefers directions of large variance.
Eigen::VectorXd LikeliestAccepted(const Eigen::VectorXd& mean, const Spectrum& covariance,
                                  double threshold);

}  // namespace heft

#endif  // HEFT_EVALUATION_BELIEF_H_
