// SPDX-License-Identifier: Apache-2.0
// Renewal of keys: a gallery block moves from one secret key to another without being decrypted,
// with one key switch for each ciphertext. The re-keying key (kind RKEY) is made by the key owner;
// it decrypts nothing without the new secret key. Format: docs/formats.md.
#ifndef HEFT_FUSION_REKEY_H_
#define HEFT_FUSION_REKEY_H_

#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "ckks/keys.h"
#include "fusion/matching.h"
#include "fusion/plan.h"

namespace heft {

inline constexpr std::string_view kRekeyingKeyKind = "RKEY";

struct RekeyingKey {
  ckks::KeyId from{};  // the old key
  ckks::KeyId to{};    // the new key
  ckks::SwitchKey key;
};

std::vector<uint8_t> SerializeRekeyingKey(const ckks::Context& context, const ckks::KeyId& from,
                                          const ckks::KeyId& to, const ckks::SeededSwitchKey& key);
// kFailedPrecondition for other parameters; kDataLoss for damaged bytes, a key with fewer limbs
// than a block, or a key that leads to itself.
absl::StatusOr<RekeyingKey> ParseRekeyingKey(const ckks::Context& context, ByteSpan bytes,
                                             std::string_view what);

// Moves all ciphertexts of a block to the new key. kInvalidArgument, with the block unchanged, for
// a block of another size.
absl::Status RekeyBlock(const Instance& instance, TiledCiphertexts* block,
                        const ckks::SwitchKey& key);

// Root mean square of the error that re-keying a gallery once adds to a score, for unit vectors.
// The errors of several renewals are independent: k of them add sqrt(k) times as much.
double RekeyScoreError(const Instance& instance);

}  // namespace heft

#endif  // HEFT_FUSION_REKEY_H_
