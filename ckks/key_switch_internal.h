// SPDX-License-Identifier: Apache-2.0
// Shared by key_switch.cc and galois_sums.cc; not for use elsewhere.
#ifndef HEFT_CKKS_KEY_SWITCH_INTERNAL_H_
#define HEFT_CKKS_KEY_SWITCH_INTERNAL_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/context.h"
#include "ckks/keys.h"

namespace heft::ckks::internal {

// CheckTwoParts: kInvalidArgument for a ciphertext that must be relinearised first.
absl::Status CheckTwoParts(const Ciphertext& a);

// CheckRescale: kInvalidArgument if no level is left to divide by.
absl::Status CheckRescale(const Context& context, const Ciphertext& a);

// RescaleNoise: the effect of a rescale from `limbs` limbs on scale and error.
void RescaleNoise(const Context& context, Ciphertext* c, size_t limbs);

// SwitchingError: the error that `switches` key switches and one division by the special prime add.
double SwitchingError(const Params& params, size_t limbs, size_t switches, const DigitSizes& sizes);

// FoundKeys: the keys of all elements except 1 (nullptr there), and their common digits.
struct FoundKeys {
  std::vector<const SwitchKey*> keys;
  DigitSizes sizes;
};

// FindKeys: kFailedPrecondition if a key is missing, kInvalidArgument if their digits differ.
absl::StatusOr<FoundKeys> FindKeys(const EvaluationKeys& keys, std::span<const uint32_t> elements,
                                   size_t limbs);

}  // namespace heft::ckks::internal

#endif  // HEFT_CKKS_KEY_SWITCH_INTERNAL_H_
