// SPDX-License-Identifier: Apache-2.0
// Profile: a named parameter set, and the purpose of its levels.
#ifndef HEFT_FUSION_PROFILE_H_
#define HEFT_FUSION_PROFILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ckks/params.h"

namespace heft {

// Profile: the primes and the scale of an instance. From the top, the last data prime absorbs the
// projection's factors. Then come the primes of s = |z|^2, its square, its application, the mask
// and the match; the base prime holds the result (docs/design.md, "Profiles").
struct Profile {
  std::string name;
  ckks::ParamsSpec spec;
  double scale = 0;  // of a fresh ciphertext, and the target of a normalised template
  std::string purpose;
  // Two rings: gallery, probes of identifications and scores are in the ring of half the degree,
  // modulo the primes of the chain's first three levels, with the next prime as the special prime.
  // match_scale: the scale of their probes and templates; 0 for one ring.
  double match_scale = 0;
  // Decryptions are flooded (ckks/owner/flooding.h); the primes have room for it.
  bool flooded = false;
  // The largest fused dimension: 256, or what the comments of AllProfiles say.
  uint32_t max_gamma = 256;
  bool thin() const { return match_scale > 0; }
};

// MatchingParams: of the small ring. SwitchingParams: the same primes in the large one, for the
// switch between them.
absl::StatusOr<ckks::Params> MatchingParams(const ckks::Params& enrolment);
absl::StatusOr<ckks::Params> SwitchingParams(const ckks::Params& enrolment);

// FindProfile: the profile of that name. kInvalidArgument lists the profiles.
absl::StatusOr<Profile> FindProfile(std::string_view name);
// AllProfiles: "standard", "flooded", "compact", "paper", "deep", "deepest".
const std::vector<Profile>& AllProfiles();

// FindModelProfile: the same among the first two, which are for models. The others are for the
// paper's methods, which have no key files, gallery or scores.
absl::StatusOr<Profile> FindModelProfile(std::string_view name);

}  // namespace heft

#endif  // HEFT_FUSION_PROFILE_H_
