// SPDX-License-Identifier: Apache-2.0
// Signing keys that are somewhere else, in a token or a service of their own: this process has the
// public half, and asks for each signature. Link heft::server.
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

// OutsideSigner: the Ed25519 signature (RFC 8032, without a context) of a message. Any number of
// threads may call. kUnavailable where it does not sign now.
using OutsideSigner =
    std::function<absl::StatusOr<std::array<uint8_t, 64>>(std::span<const uint8_t> message)>;

// OutsideSigningKey: signs like any other, but cannot be saved. What `sign` gives is checked with
// the public half, so that no file leaves with a signature that nobody believes.
HEFT_EXPORT absl::StatusOr<SigningKey> OutsideSigningKey(const SignerKey& public_key,
                                                         OutsideSigner sign);

// UseGallerySigner: from here on this process' GallerySigner of the galleries of the store in
// `folder` is this key, and no FOLDER/server.key is read or made; FOLDER/server.pub is its public
// half. Other processes, which do not have it, are told so when they want to sign.
// kFailedPrecondition of GallerySigner while FOLDER/server.key is there: it would sign still.
HEFT_EXPORT void UseGallerySigner(const std::string& folder, const SignerKey& public_key,
                                  OutsideSigner sign);

}  // namespace heft

#endif  // HEFT_OUTSIDE_SIGNER_H_
