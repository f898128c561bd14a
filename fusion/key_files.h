// SPDX-License-Identifier: Apache-2.0
// Public key files: the encryption key (kind PUBK), the evaluation keys (kind EVAL) and, for two
// rings, the enrolment keys (kind ENRK). None can decrypt. Formats: docs/formats.md.
#ifndef HEFT_FUSION_KEY_FILES_H_
#define HEFT_FUSION_KEY_FILES_H_

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/envelope.h"
#include "base/status.h"
#include "ckks/context.h"
#include "ckks/keys.h"
#include "fusion/rings.h"

namespace heft {

inline constexpr std::string_view kEncryptionKeyKind = "PUBK";
inline constexpr std::string_view kEvaluationKeysKind = "EVAL";
inline constexpr std::string_view kEnrolmentKeysKind = "ENRK";
inline constexpr uint32_t kKeyFileVersion = 1;
// Both halves of every key in full, none expanded from a seed: keys of other programs (SEAL).
inline constexpr uint32_t kFullKeyFileVersion = 2;
// PUBK: one key for each of two rings.
inline constexpr uint32_t kTwoRingsKeyFileVersion = 3;

std::vector<uint8_t> SerializeEncryptionKey(const ckks::Context& context,
                                            const ckks::PublicKey& key);
// `what` names the file in errors. kFailedPrecondition for a key of other parameters, kDataLoss for
// damaged bytes.
absl::StatusOr<ckks::PublicKey> ParseEncryptionKey(const ckks::Context& context, ByteSpan bytes,
                                                   std::string_view what);

// PublicKeys: the enrolment ring's key and, with two rings, the matching ring's.
struct PublicKeys {
  ckks::PublicKey enrolment;
  std::optional<ckks::PublicKey> small;
  const ckks::PublicKey& matching() const { return small ? *small : enrolment; }
};
std::vector<uint8_t> SerializeEncryptionKeys(const Rings& rings, const PublicKeys& keys);
absl::StatusOr<PublicKeys> ParseEncryptionKeys(const Rings& rings, ByteSpan bytes,
                                               std::string_view what);

// SerializeEnrolmentKeys: for two rings: `evaluation`, the bytes of the large ring's evaluation
// keys, and the key of the switch to the small ring.
std::vector<uint8_t> SerializeEnrolmentKeys(const Rings& rings, const ckks::KeyId& key_id,
                                            ByteSpan evaluation,
                                            const ckks::SeededSwitchKey& ring_switch);
// ParseEnrolmentKeys: into `keys`, which must have the same key id.
absl::Status ParseEnrolmentKeys(const Rings& rings, ByteSpan bytes, std::string_view what,
                                RingKeys* keys, Checksum checksum = Checksum::kCheck);

// Writes evaluation keys one after another, so that only one seeded key is in memory at a time.
class EvaluationKeysWriter {
 public:
  EvaluationKeysWriter(const ckks::Context& context, const ckks::KeyId& key_id, size_t keys);
  // Element 1 is the relinearisation key.
  void Add(uint32_t element, const ckks::SeededSwitchKey& key);
  std::vector<uint8_t> Finish();

 private:
  const ckks::Context& context_;
  ByteWriter writer_;
};

// The bytes of an evaluation key file with both halves of every key; element 1 is the
// relinearisation key.
std::vector<uint8_t> SerializeFullEvaluationKeys(
    const ckks::Context& context, const ckks::KeyId& key_id,
    const std::map<uint32_t, ckks::FullSwitchKey>& keys);

// Parses and expands, on all threads.
absl::StatusOr<ckks::EvaluationKeys> ParseEvaluationKeys(const ckks::Context& context,
                                                         ByteSpan bytes, std::string_view what,
                                                         Checksum checksum = Checksum::kCheck);

// kFailedPrecondition unless the ids agree: "X was made with other parameters / under another key".
absl::Status CheckParamsId(const ckks::Params& params, const ckks::ParamsId& id,
                           std::string_view what);
absl::Status CheckRingCount(bool two_needed, bool two_found, std::string_view what);
absl::Status CheckKeyId(const ckks::KeyId& expected, const ckks::KeyId& id, std::string_view what);

}  // namespace heft

#endif  // HEFT_FUSION_KEY_FILES_H_
