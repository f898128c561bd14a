// SPDX-License-Identifier: Apache-2.0
// For tests only: random models with a plain reference, and keys without files.
#ifndef HEFT_FUSION_TESTING_H_
#define HEFT_FUSION_TESTING_H_

#include "ckks/owner/secret_key.h"
#include "experiment/random_model.h"
#include "fusion/key_needs.h"

namespace heft::testing {

using experiment::Dot;
using experiment::FusePlain;
using experiment::RandomModel;
using experiment::RandomUnit;

// MakeKeys: the keys of `needs`.
inline ckks::EvaluationKeys MakeKeys(const ckks::Context& context, const KeyNeeds& needs,
                                     const ckks::SecretKey& secret, Csprng& rng) {
  ckks::EvaluationKeys keys;
  keys.key_id = secret.key_id();
  if (needs.relinearisation_limbs > 0) {
    keys.relinearisation = ckks::SwitchKey(
        context, ckks::MakeRelinearisationKey(context, secret, needs.relinearisation_limbs, rng),
        1);
  }
  for (const auto& [element, limbs] : needs.galois_keys) {
    keys.galois[element] = ckks::SwitchKey(
        context, ckks::MakeGaloisKey(context, secret, element, limbs, rng), element);
  }
  return keys;
}

}  // namespace heft::testing

#endif  // HEFT_FUSION_TESTING_H_
