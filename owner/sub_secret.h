// SPDX-License-Identifier: Apache-2.0
// SubSecret: 32 bytes that follow from a secret key and a purpose: who has them learns nothing of
// the key, nor of other purposes', and no file more is needed.
#ifndef HEFT_OWNER_SUB_SECRET_H_
#define HEFT_OWNER_SUB_SECRET_H_

#include <cstdint>
#include <string_view>

#include "base/secure.h"
#include "base/status.h"
#include "fusion/owner/key_share.h"

namespace heft {

absl::StatusOr<SecureVector<uint8_t>> SubSecret(const SecretKeys& keys, std::string_view purpose);
// The same of a whole key or a share; of a share it follows from its owner's own secret, `own`.
absl::StatusOr<SecureVector<uint8_t>> SubSecret(const SecureVector<uint8_t>& own,
                                                std::string_view purpose);
absl::StatusOr<SecureVector<uint8_t>> SubSecret(const HeldKey& held, std::string_view purpose);

}  // namespace heft

#endif  // HEFT_OWNER_SUB_SECRET_H_
