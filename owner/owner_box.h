// SPDX-License-Identifier: Apache-2.0
// Secrets between the owners of a shared key: sealed for one of them, whose signing key (Ed25519)
// serves as an X25519 key. Anybody can seal, so a file with sealed secrets must be signed.
#ifndef HEFT_OWNER_OWNER_BOX_H_
#define HEFT_OWNER_OWNER_BOX_H_

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/secure.h"
#include "base/status.h"
#include "fusion/owner/key_share.h"
#include "heft/trust.h"

namespace heft {

// SealFor: for the owner that signs with `signer`. kInvalidArgument if this is no key.
absl::StatusOr<std::vector<uint8_t>> SealFor(const SignerKey& signer, ByteSpan secret);
// OpenBox: a secret that is sealed for this owner. kDataLoss.
absl::StatusOr<SecureVector<uint8_t>> OpenBox(const HeldKey& held, ByteSpan sealed);

}  // namespace heft

#endif  // HEFT_OWNER_OWNER_BOX_H_
