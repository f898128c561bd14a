// SPDX-License-Identifier: Apache-2.0
// Signing keys outside this process, such as in a token or a service. This process has the public
// half and requests each signature. Link heft::server.
#ifndef HEFT_OUTSIDE_SIGNER_H_
#define HEFT_OUTSIDE_SIGNER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "heft/export.h"
#include "heft/trust.h"

namespace heft {

// OutsideSigner: returns the Ed25519 signature (RFC 8032, without a context) of a message. Any
// number of threads may call it. kUnavailable if it cannot sign now.
using OutsideSigner =
    std::function<absl::StatusOr<std::array<uint8_t, 64>>(std::span<const uint8_t> message)>;

// OutsideSigningKey: a signing key that cannot be saved. Each signature of `sign` is checked with
// the public half before it is used.
HEFT_EXPORT absl::StatusOr<SigningKey> OutsideSigningKey(const SignerKey& public_key,
                                                         OutsideSigner sign);

// UseGallerySigner: makes this key the GallerySigner, in this process, for the galleries of the
// store in `folder`. FOLDER/server.key is then neither read nor created; FOLDER/server.pub is the
// public half. Other processes get an error that says so when they sign. GallerySigner returns
// kFailedPrecondition while FOLDER/server.key exists, because it could still sign.
HEFT_EXPORT void UseGallerySigner(const std::string& folder, const SignerKey& public_key,
                                  OutsideSigner sign);

}  // namespace heft

#endif  // HEFT_OUTSIDE_SIGNER_H_
