// SPDX-License-Identifier: Apache-2.0
// Templates that use their directions alike. Where a few directions hold most of the energy, one
// guess fits many people, and every score tells more of a template.
#ifndef HEFT_LEARNING_ISOTROPY_H_
#define HEFT_LEARNING_ISOTROPY_H_

#include <vector>

#include "base/status.h"
#include "features/matrix.h"
#include "heft/files.h"
#include "learning/cross_fit.h"

namespace heft {

// Limiter: limits the strongest directions of templates. M is the second-moment matrix of the
// templates of `features` (n x d, n > 0) under `projection` P (gamma x d) at unit length.
class Limiter {
 public:
  Limiter(const FeatureMatrix& projection, const FeatureMatrix& features);

  // A P, where A divides each eigenvector of M whose eigenvalue is above `limit` times their mean
  // by the square root of their ratio. 0: no limit, P itself.
  FeatureMatrix Projection(double limit) const;

 private:
  FeatureMatrix projection_;
  FeatureMatrix vectors_;   // rows
  Eigen::VectorXd values_;  // over their mean
};

// Isotropy: the limit that a model has, and the estimates by which it was chosen.
struct Isotropy {
  struct Trial {
    double limit = 0;
    double fnmr = 1;  // EstimateFnmr at recipe::kFmr
  };
  std::vector<Trial> trials;  // of recipe::kLimits
  double limit = 0;
  Json ToJson() const;
};

// LimitFolds: chooses one of recipe::kLimits by estimates on the people that the folds leave out,
// and gives it to the result of each fold. It takes the last one whose estimate exceeds the lowest
// by at most recipe::kLimitTolerance of it, and by at most recipe::kLimitCost. Every fold has its
// own M, of the samples that trained it. Concatenate's errors.
absl::StatusOr<Isotropy> LimitFolds(CrossFit& fit);

}  // namespace heft

#endif  // HEFT_LEARNING_ISOTROPY_H_
