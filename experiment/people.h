// SPDX-License-Identifier: Apache-2.0
// People who do not exist, of the statistics of people who do, in any number: for galleries that
// are larger than any data set at hand. Fused templates z before normalisation are modelled, not
// features: a person's mean, and samples around it, both with the covariances measured and with
// tails as heavy as those measured (multivariate Student).
#ifndef HEFT_EXPERIMENT_PEOPLE_H_
#define HEFT_EXPERIMENT_PEOPLE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "features/matrix.h"

namespace heft::experiment {

// PeopleLaw: of z = mean + between * u + within * e, u of the person and e of the sample, both
// spherical with covariance 1 and Student's tails of so many degrees of freedom.
struct PeopleLaw {
  Eigen::RowVectorXd mean;
  FeatureMatrix between, within;  // roots of the covariances, to be multiplied from the left
  int between_freedom = 0, within_freedom = 0;  // 0: normal
};

// FitPeople: of rows z with the identities of their people. The covariance of people is shrunk
// towards a sphere until the cosines of two of them scatter as they do in the data: the eigenvalues
// of few people are further apart than those of many. kInvalidArgument for fewer than 10 people, or
// none with a second sample.
absl::StatusOr<PeopleLaw> FitPeople(const FeatureMatrix& z, std::span<const int> identities);

// Crowd: rows of length 1.
struct Crowd {
  FeatureMatrix unit;
  std::vector<int> identities;
};
Crowd DrawCrowd(const PeopleLaw& law, size_t people, size_t samples, uint64_t seed);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_PEOPLE_H_
