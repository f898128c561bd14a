// SPDX-License-Identifier: Apache-2.0
#include "ckks/subchain.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/threads.h"

namespace heft::ckks {

absl::StatusOr<Params> WithoutPrime(const Params& params, size_t limb) {
  if (limb >= params.limbs() || params.limbs() < 2 || params.level_primes() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("data prime ", limb, " of ", params.Describe(), " cannot be left out"));
  }
  std::vector<uint32_t> primes = params.primes();
  primes.erase(primes.begin() + static_cast<std::ptrdiff_t>(limb));
  // Leaving out a prime only increases security.
  return Params::FromPrimes(params.n(), primes, /*allow_insecure=*/true);
}

absl::StatusOr<Ciphertext> WithoutPrime(const Ciphertext& a, size_t limb) {
  if (limb >= a.limbs() || a.limbs() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("limb ", limb, " of ", a.limbs(), " cannot be left out"));
  }
  Ciphertext out;
  out.scale = a.scale;
  out.noise = a.noise;
  for (const ring::RnsPoly& part : a.parts) {
    out.parts.emplace_back(part.n(), part.limbs() - 1);
    for (size_t l = 0; l < part.limbs(); ++l) {
      if (l == limb) continue;
      std::copy(part.limb(l).begin(), part.limb(l).end(),
                out.parts.back().limb(l < limb ? l : l - 1).begin());
    }
  }
  return out;
}

SwitchKey WithoutPrime(const SwitchKey& key, size_t limb) {
  return key.limbs() <= limb ? key : key.WithoutLimb(limb);
}

EvaluationKeys WithoutPrime(const EvaluationKeys& keys, size_t limb) {
  EvaluationKeys out;
  out.key_id = keys.key_id;
  out.relinearisation = WithoutPrime(keys.relinearisation, limb);
  std::vector<std::pair<const SwitchKey*, SwitchKey*>> pairs;
  for (const auto& [element, key] : keys.galois) pairs.push_back({&key, &out.galois[element]});
  ParallelFor(pairs.size(),
              [&](size_t i) { *pairs[i].second = WithoutPrime(*pairs[i].first, limb); });
  return out;
}

}  // namespace heft::ckks
