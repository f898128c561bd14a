// SPDX-License-Identifier: Apache-2.0
// Resampling of people, for all intervals of this folder. Internal: bootstrap.h says how it is
// done.
#ifndef HEFT_EVALUATION_RESAMPLE_H_
#define HEFT_EVALUATION_RESAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "features/random.h"

namespace heft::internal {

// CheckOptions: kInvalidArgument with the option that is out of range.
absl::Status CheckOptions(const BootstrapOptions& options);

// SetRandom: the random numbers of one replicate for one set. Every caller gets the same ones, so
// all measurements of a set see the same people.
Random SetRandom(const BootstrapOptions& options, size_t replicate, size_t set);

// DrawWeights: how often each of `count` identities is drawn in a replicate.
std::vector<double> DrawWeights(Random& random, size_t count);

// SetWeights: the same for one set of a replicate, as SystemComparison draws them first.
std::vector<double> SetWeights(const BootstrapOptions& options, size_t replicate, size_t set,
                               size_t count);

// CountIdentities: how many numbers identities have, the largest and one. kInvalidArgument for a
// negative one, or none at all.
absl::StatusOr<size_t> CountIdentities(std::span<const int> identities);

// Percentiles: `value` with the interval that holds a share `confidence` of the replicates.
Estimate Percentiles(double value, std::vector<double> replicates, double confidence);

// AtLeastPoisson: a rate seen as `count` events in `of` comparisons, its interval widened to the
// one that it would have if all comparisons were independent. Resampling alone says nothing of
// events that were never seen. N. E. Breslow and N. E. Day, Statistical methods in cancer research
// II, 1987, equation 2.13 (Byar's approximation).
Estimate AtLeastPoisson(Estimate rate, double of, double confidence);

}  // namespace heft::internal

#endif  // HEFT_EVALUATION_RESAMPLE_H_
