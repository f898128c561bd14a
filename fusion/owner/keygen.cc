// SPDX-License-Identifier: Apache-2.0
#include "fusion/owner/keygen.h"

#include "base/threads.h"
#include "fusion/key_files.h"

namespace heft {

absl::StatusOr<SecretKeys> GenerateSecretKeys(const Rings& rings, Csprng& rng) {
  HEFT_ASSIGN_OR_RETURN(ckks::SecretKey large,
                        ckks::SecretKey::Generate(*rings.enrolment.context, rng));
  if (!rings.thin()) return SecretKeys(std::move(large));
  const ckks::Context& matching = *rings.matching.context;
  HEFT_ASSIGN_OR_RETURN(const ckks::SecretKey drawn, ckks::SecretKey::Generate(matching, rng));
  HEFT_ASSIGN_OR_RETURN(ckks::SecretKey half, ckks::SecretKey::FromCoefficients(
                                                  matching, large.key_id(), drawn.coefficients()));
  return SecretKeys(std::move(large), std::move(half));
}

PublicKeys MakeEncryptionKeys(const Rings& rings, const SecretKeys& secret, Csprng& rng) {
  PublicKeys keys;
  keys.enrolment = ckks::MakePublicKey(*rings.enrolment.context, secret.enrolment, rng);
  if (rings.thin()) {
    keys.small = ckks::MakePublicKey(*rings.matching.context, secret.matching(), rng);
  }
  return keys;
}

absl::StatusOr<std::vector<uint8_t>> MakeEvaluationKeys(
    const Instance& instance, const ckks::SecretKey& secret,
    const std::function<bool(size_t, size_t)>& progress) {
  const ckks::Context& context = *instance.context;
  const KeyNeeds& needs = instance.plan.keys;
  std::vector<std::pair<uint32_t, size_t>> wanted = {{1, needs.relinearisation_limbs}};
  wanted.insert(wanted.end(), needs.galois_keys.begin(), needs.galois_keys.end());
  EvaluationKeysWriter writer(context, secret.key_id(), wanted.size());
  constexpr size_t kChunk = 8;
  for (size_t start = 0; start < wanted.size(); start += kChunk) {
    const size_t count = std::min(kChunk, wanted.size() - start);
    std::vector<ckks::SeededSwitchKey> keys(count);
    std::vector<Csprng> rngs(count);  // made in order, so that tests can fix which key gets which
    ParallelFor(count, [&](size_t i) {
      Csprng& rng = rngs[i];
      const auto [element, limbs] = wanted[start + i];
      keys[i] = element == 1 ? ckks::MakeRelinearisationKey(context, secret, limbs, rng)
                             : ckks::MakeGaloisKey(context, secret, element, limbs, rng);
    });
    for (size_t i = 0; i < count; ++i) writer.Add(wanted[start + i].first, keys[i]);
    if (progress && !progress(start + count, wanted.size())) {
      return absl::CancelledError("interrupted");
    }
  }
  return writer.Finish();
}

absl::StatusOr<std::vector<uint8_t>> MakeEnrolmentKeys(
    const Rings& rings, const SecretKeys& secret,
    const std::function<bool(size_t, size_t)>& progress) {
  if (!rings.thin()) {
    return absl::FailedPreconditionError("one ring's evaluation keys serve enrolment too");
  }
  HEFT_ASSIGN_OR_RETURN(const auto evaluation,
                        MakeEvaluationKeys(rings.enrolment, secret.enrolment, progress));
  Csprng rng;
  HEFT_ASSIGN_OR_RETURN(
      const ckks::SeededSwitchKey ring_switch,
      ckks::MakeRingSwitchKey(*rings.switching, secret.enrolment, secret.matching(),
                              TemplateLimbs(rings.enrolment.params()), rng));
  return SerializeEnrolmentKeys(rings, secret.key_id(), evaluation, ring_switch);
}

}  // namespace heft
