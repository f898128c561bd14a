// SPDX-License-Identifier: Apache-2.0
// Profile: a named parameter set, and what its levels are for.
#ifndef HEFT_FUSION_PROFILE_H_
#define HEFT_FUSION_PROFILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ckks/params.h"

namespace heft {

// Profile: the primes and the scale of an instance. From the top, the last data prime absorbs the
// projection's factors, then come those of s = |z|^2, its square, its application, the mask and the
// match; the base prime holds the result (docs/design.md, "Profiles").
struct Profile {
  std::string name;
  ckks::ParamsSpec spec;
  double scale = 0;  // of a fresh ciphertext, and the target of a normalised template
  std::string purpose;
};

// FindProfile: the profile of that name. kInvalidArgument names those that exist.
absl::StatusOr<Profile> FindProfile(std::string_view name);
// AllProfiles: "compact", "compact-pq", "paper", "deep", "deepest".
const std::vector<Profile>& AllProfiles();

// FindModelProfile: the same among those that a model is trained for, "compact" and "compact-pq". The
// others hold the paper's methods, which have no key files, gallery or scores.
absl::StatusOr<Profile> FindModelProfile(std::string_view name);

}  // namespace heft

#endif  // HEFT_FUSION_PROFILE_H_
