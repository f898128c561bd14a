// SPDX-License-Identifier: Apache-2.0
// KeyNeeds: the keys that a plan needs.
#ifndef HEFT_FUSION_KEY_NEEDS_H_
#define HEFT_FUSION_KEY_NEEDS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "base/status.h"
#include "ckks/keys.h"
#include "ckks/params.h"

namespace heft {

// KeyNeeds: Galois element -> limbs, and limbs of the relinearisation key, 0 for none. A key that
// is needed several times gets the most limbs.
struct KeyNeeds {
  std::map<uint32_t, size_t> galois_keys;
  size_t relinearisation_limbs = 0;

  void Rotation(const ckks::Params& params, int64_t steps, size_t limbs);
  void Galois(uint32_t element, size_t limbs);  // nothing for 1, the identity
  void Galois(std::span<const uint32_t> elements, size_t limbs);
  void Relinearisation(size_t limbs);
  void Merge(const KeyNeeds& other);
  // Lacking: the needs that `keys` do not meet.
  KeyNeeds Lacking(const ckks::EvaluationKeys& keys) const;
};

// CheckKeys: kFailedPrecondition if `keys` lack a needed key.
absl::Status CheckKeys(const KeyNeeds& needs, const ckks::EvaluationKeys& keys);

}  // namespace heft

#endif  // HEFT_FUSION_KEY_NEEDS_H_
