// SPDX-License-Identifier: Apache-2.0
// The samples of a request that form one template.
#ifndef HEFT_MATCHER_COMBINATIONS_H_
#define HEFT_MATCHER_COMBINATIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "heft/server.h"
#include "matcher/server_impl.h"

namespace heft {

// Combination: the samples of one template to enrol: one, or several for a mean.
struct Combination {
  std::string identity;
  std::vector<SampleRows> samples;
};

// Combine: as the options say. kInvalidArgument if labels are missing or disagree, if row counts
// differ, or if a mean would have more than kMaxSamples.
absl::StatusOr<std::vector<Combination>> Combine(const SampleSet& samples,
                                                 const EnrolOptions& options);

// CheckOnePerson: checks that all labelled rows of a request are one person's, and that a mean can
// take all rows. Returns their number. kInvalidArgument.
absl::StatusOr<size_t> CheckOnePerson(const SampleSet& samples);

}  // namespace heft

#endif  // HEFT_MATCHER_COMBINATIONS_H_
