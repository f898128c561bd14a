// SPDX-License-Identifier: Apache-2.0
// Functions for keys and signatures that access/jwt*.cc share.
#ifndef HEFT_SERVICE_ACCESS_JWT_KEYS_H_
#define HEFT_SERVICE_ACCESS_JWT_KEYS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "service/access/jwt.h"

namespace heft::service {

// AlgorithmOf: "EdDSA", "ES256" or "RS256"; kInvalidArgument for a key that is for none of these.
absl::StatusOr<std::string> AlgorithmOf(EVP_PKEY* key);
// SignatureOf, SignatureFits: as JWS has it (ES256: r and s, 32 bytes each).
absl::StatusOr<std::vector<uint8_t>> SignatureOf(EVP_PKEY* key, const std::string& algorithm,
                                                 std::span<const uint8_t> message);
bool SignatureFits(EVP_PKEY* key, const std::string& algorithm, std::span<const uint8_t> message,
                   std::span<const uint8_t> signature);

}  // namespace heft::service

#endif  // HEFT_SERVICE_ACCESS_JWT_KEYS_H_
