// SPDX-License-Identifier: Apache-2.0
// Secret key files (kind SECK): unencrypted, to be kept at mode 0600, or sealed under a passphrase
// with Argon2id and XChaCha20-Poly1305 (libsodium). Format: docs/formats.md.
#ifndef HEFT_FUSION_OWNER_SECRET_KEY_FILE_H_
#define HEFT_FUSION_OWNER_SECRET_KEY_FILE_H_

#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/secure.h"
#include "base/status.h"
#include "ckks/owner/secret_key.h"
#include "fusion/owner/keygen.h"
#include "fusion/plan.h"
#include "fusion/samples.h"
#include "heft/model.h"

namespace heft {

inline constexpr std::string_view kSecretKeyKind = "SECK";

// Without a passphrase the bytes themselves are secret: wipe them after writing.
absl::StatusOr<std::vector<uint8_t>> SerializeSecretKey(const ckks::Context& context,
                                                        const ckks::SecretKey& key,
                                                        std::span<const char> passphrase);

// The same for all of a model's rings. Two rings: version 2, their coefficients one after another.
absl::StatusOr<std::vector<uint8_t>> SerializeSecretKeys(const Rings& rings,
                                                         const SecretKeys& keys,
                                                         std::span<const char> passphrase);

// True if the file is sealed under a passphrase. kDataLoss for damaged bytes.
absl::StatusOr<bool> SecretKeyIsSealed(ByteSpan bytes, std::string_view what);

// kFailedPrecondition for other parameters or a missing passphrase, kInvalidArgument for a wrong
// passphrase.
absl::StatusOr<ckks::SecretKey> ParseSecretKey(const ckks::Context& context, ByteSpan bytes,
                                               std::span<const char> passphrase,
                                               std::string_view what);

absl::StatusOr<SecretKeys> ParseSecretKeys(const Rings& rings, ByteSpan bytes,
                                           std::span<const char> passphrase,
                                           std::string_view what);

// Secret-key encryption of samples: seeded, half the bytes of EncryptSamples, and less noise.
absl::StatusOr<std::vector<uint8_t>> EncryptSamplesSymmetric(
    const Instance& instance, const Model& model, size_t index, const ckks::SecretKey& key,
    std::span<const std::vector<double>> rows, std::span<const std::string> labels,
    SampleForm form = {});

}  // namespace heft

#endif  // HEFT_FUSION_OWNER_SECRET_KEY_FILE_H_
