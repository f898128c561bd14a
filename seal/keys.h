// SPDX-License-Identifier: Apache-2.0
// KeyPart: SEAL 4.x public, relinearisation and Galois keys (docs/seal.md). Nothing here can
// decrypt. Readers check as in seal/objects.h. SEAL's keys always have the full level.
#ifndef HEFT_SEAL_KEYS_H_
#define HEFT_SEAL_KEYS_H_

#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "ckks/keys.h"
#include "seal/encryption.h"
#include "seal/format.h"

namespace heft::seal {

// KeyPart: (b, a) with b = -(a s + e), plus P t in limb j for digit j of a switching key from t:
// modulo all primes, the special one last. Written with the seed if there is one.
struct KeyPart {
  ring::RnsPoly b, a;
  std::optional<SealSeed> seed;  // that a is expanded from
};
// KeyDigits: a switching key, one part for each data prime.
using KeyDigits = std::vector<KeyPart>;

// WritePublicKey, ReadPublicKey: one part.
std::vector<uint8_t> WritePublicKey(const ckks::Context& context, const KeyPart& key,
                                    Compression compression);
absl::StatusOr<KeyPart> ReadPublicKey(const ckks::Context& context, ByteSpan bytes,
                                      std::string_view what);

// WriteRelinearisationKey: the key for s^2.
std::vector<uint8_t> WriteRelinearisationKey(const ckks::Context& context, const KeyDigits& key,
                                             Compression compression);
// ReadRelinearisationKey: the key for s^2; keys of higher powers are checked and left out.
absl::StatusOr<KeyDigits> ReadRelinearisationKey(const ckks::Context& context, ByteSpan bytes,
                                                 std::string_view what);

// WriteGaloisKeys: by Galois element.
std::vector<uint8_t> WriteGaloisKeys(const ckks::Context& context,
                                     const std::map<uint32_t, KeyDigits>& keys,
                                     Compression compression);
// ReadGaloisKeys: the keys of `wanted` (element -> limbs) that the file has, each cut to its number
// of limbs. The whole file is checked. `progress` is called with (keys read, keys wanted) and
// returns false to stop (kCancelled).
absl::StatusOr<std::map<uint32_t, ckks::FullSwitchKey>> ReadGaloisKeys(
    const ckks::Context& context, ByteSpan bytes, const std::map<uint32_t, size_t>& wanted,
    std::string_view what, const std::function<bool(size_t, size_t)>& progress = {});

// RotationSteps: the rotations to the left, in SEAL's steps, among Galois elements.
std::vector<uint32_t> RotationSteps(const ckks::Params& params,
                                    const std::map<uint32_t, size_t>& elements);

// CutKey, ToPublicKey, FromPublicKey: conversions. `limbs` in [1, params.limbs()]: the highest
// level of the key's use.
ckks::FullSwitchKey CutKey(const KeyDigits& key, size_t limbs);
ckks::PublicKey ToPublicKey(const ckks::KeyId& key_id, const KeyPart& key);
KeyPart FromPublicKey(const ckks::PublicKey& key);

}  // namespace heft::seal

#endif  // HEFT_SEAL_KEYS_H_
