// SPDX-License-Identifier: Apache-2.0
// All public keys of a model whose secret is the sum of several owners' secrets (ckks/owner/
// joint_keys.h): each owner's parts in two rounds, their sums, and the key files.
#ifndef HEFT_FUSION_OWNER_JOINT_KEYS_H_
#define HEFT_FUSION_OWNER_JOINT_KEYS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "ckks/owner/joint_keys.h"
#include "fusion/key_files.h"
#include "fusion/owner/keygen.h"
#include "fusion/rings.h"

namespace heft {

// JointSecrets: of one owner: its term of the secret key, and its ephemeral secrets for
// relinearisation. Both are of two rings.
struct JointSecrets {
  SecretKeys own, ephemeral;
};

// KeyParts: the first round: one owner's parts, or their sums. `keys`: of both rings, the matching
// one first: h0 and h1 for relinearisation, then the Galois keys in the order of the plan; then the
// ring switch.
struct KeyParts {
  PublicKeys encryption;
  std::vector<ckks::SeededSwitchKey> keys;
};
// `reference`: from which all common seeds follow.
absl::StatusOr<KeyParts> MakeKeyParts(const Rings& rings, const JointSecrets& secrets,
                                      const Hash& reference);
void AddKeyParts(const Rings& rings, const KeyParts& part, KeyParts* sum);
// ParseKeyParts: kDataLoss for damaged bytes, kFailedPrecondition for another reference.
std::vector<uint8_t> SerializeKeyParts(const Rings& rings, const KeyParts& parts);
absl::StatusOr<KeyParts> ParseKeyParts(const Rings& rings, const Hash& reference, ByteSpan bytes,
                                       std::string_view what);

// LastParts: the second round: of relinearisation, the matching ring first. `reference` must follow
// from all messages of the first round.
using LastParts = std::vector<ckks::SeededSwitchKey>;
LastParts MakeLastParts(const Rings& rings, const JointSecrets& secrets, const KeyParts& sums,
                        const Hash& reference);
void AddLastParts(const Rings& rings, const LastParts& part, LastParts* sum);
std::vector<uint8_t> SerializeLastParts(const Rings& rings, const LastParts& parts);
absl::StatusOr<LastParts> ParseLastParts(const Rings& rings, const Hash& reference, ByteSpan bytes,
                                         std::string_view what);

// JointKeyFiles: the public key files, unsigned, from the sums of both rounds.
struct JointKeyFiles {
  std::vector<uint8_t> encryption, evaluation, enrolment;
};
JointKeyFiles MakeJointKeyFiles(const Rings& rings, const ckks::KeyId& key_id, KeyParts sums,
                                const LastParts& last);

}  // namespace heft

#endif  // HEFT_FUSION_OWNER_JOINT_KEYS_H_
