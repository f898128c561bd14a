// SPDX-License-Identifier: Apache-2.0
// Key generation for a model: the secret key, the encryption key, and just the evaluation keys that
// the model's plan needs, each cut to the level where it is used.
#ifndef HEFT_FUSION_OWNER_KEYGEN_H_
#define HEFT_FUSION_OWNER_KEYGEN_H_

#include <functional>
#include <vector>

#include "base/status.h"
#include "ckks/owner/secret_key.h"
#include "fusion/plan.h"

namespace heft {

// The bytes of an evaluation key file for an existing secret key. `progress` is called with (done,
// total) and returns false to stop (kCancelled).
absl::StatusOr<std::vector<uint8_t>> MakeEvaluationKeys(
    const Instance& instance, const ckks::SecretKey& secret,
    const std::function<bool(size_t, size_t)>& progress = {});

}  // namespace heft

#endif  // HEFT_FUSION_OWNER_KEYGEN_H_
