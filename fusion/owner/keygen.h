// SPDX-License-Identifier: Apache-2.0
// Key generation for a model: the secret keys, and only the evaluation keys that the model's plans
// need, each cut to the level of its use.
#ifndef HEFT_FUSION_OWNER_KEYGEN_H_
#define HEFT_FUSION_OWNER_KEYGEN_H_

#include <functional>
#include <optional>
#include <vector>

#include "base/status.h"
#include "ckks/owner/secret_key.h"
#include "fusion/key_files.h"
#include "fusion/rings.h"

namespace heft {

// SecretKeys: one for each of a model's rings, with the same id.
struct SecretKeys {
  SecretKeys(ckks::SecretKey one) : enrolment(std::move(one)) {}  // NOLINT: of one ring
  SecretKeys(ckks::SecretKey large, ckks::SecretKey half)
      : enrolment(std::move(large)), small(std::move(half)) {}

  ckks::SecretKey enrolment;
  std::optional<ckks::SecretKey> small;  // of two rings
  const ckks::SecretKey& matching() const { return small ? *small : enrolment; }
  const ckks::KeyId& key_id() const { return enrolment.key_id(); }
};

// GenerateSecretKeys: independent keys.
absl::StatusOr<SecretKeys> GenerateSecretKeys(const Rings& rings, Csprng& rng);
// MakeEncryptionKeys: for clients.
PublicKeys MakeEncryptionKeys(const Rings& rings, const SecretKeys& secret, Csprng& rng);

// The bytes of an evaluation key file for an existing secret key. `progress` is called with (done,
// total) and returns false to stop (kCancelled).
absl::StatusOr<std::vector<uint8_t>> MakeEvaluationKeys(
    const Instance& instance, const ckks::SecretKey& secret,
    const std::function<bool(size_t, size_t)>& progress = {});

// MakeEnrolmentKeys: the bytes of an enrolment key file, for two rings.
absl::StatusOr<std::vector<uint8_t>> MakeEnrolmentKeys(
    const Rings& rings, const SecretKeys& secret,
    const std::function<bool(size_t, size_t)>& progress = {});

}  // namespace heft

#endif  // HEFT_FUSION_OWNER_KEYGEN_H_
