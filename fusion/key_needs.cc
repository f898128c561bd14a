// SPDX-License-Identifier: Apache-2.0
#include "fusion/key_needs.h"

#include <algorithm>

namespace heft {

void KeyNeeds::Rotation(const ckks::Params& params, int64_t steps, size_t limbs) {
  Galois(ckks::RotationElement(params, steps), limbs);
}

void KeyNeeds::Galois(uint32_t element, size_t limbs) {
  if (element == 1) return;
  size_t& have = galois_keys[element];
  have = std::max(have, limbs);
}

void KeyNeeds::Galois(std::span<const uint32_t> elements, size_t limbs) {
  for (uint32_t element : elements) Galois(element, limbs);
}

void KeyNeeds::Relinearisation(size_t limbs) {
  relinearisation_limbs = std::max(relinearisation_limbs, limbs);
}

void KeyNeeds::Merge(const KeyNeeds& other) {
  for (const auto& [element, limbs] : other.galois_keys) Galois(element, limbs);
  Relinearisation(other.relinearisation_limbs);
}

KeyNeeds KeyNeeds::Lacking(const ckks::EvaluationKeys& keys) const {
  KeyNeeds lacking;
  for (const auto& [element, limbs] : galois_keys) {
    if (!keys.Galois(element, limbs).ok()) lacking.Galois(element, limbs);
  }
  if (!keys.Relinearisation(relinearisation_limbs).ok()) {
    lacking.Relinearisation(relinearisation_limbs);
  }
  return lacking;
}

absl::Status CheckKeys(const KeyNeeds& needs, const ckks::EvaluationKeys& keys) {
  for (const auto& [element, limbs] : needs.galois_keys) {
    HEFT_RETURN_IF_ERROR(keys.Galois(element, limbs).status());
  }
  return keys.Relinearisation(needs.relinearisation_limbs).status();
}

}  // namespace heft
