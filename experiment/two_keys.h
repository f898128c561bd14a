// SPDX-License-Identifier: Apache-2.0
// The same samples enrolled under two keys that have nothing in common but the model, and a gallery
// that moves from one to the other.
#ifndef HEFT_EXPERIMENT_TWO_KEYS_H_
#define HEFT_EXPERIMENT_TWO_KEYS_H_

#include <memory>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "experiment/roles.h"
#include "features/matrix.h"
#include "heft/model.h"

namespace heft::experiment {

// UnderKey: of one key: samples as clients send them, of the first modality; fused templates as a
// server holds them; and a block of all of them.
struct UnderKey {
  std::unique_ptr<Roles> roles;
  std::vector<ckks::Ciphertext> sent;
  std::vector<ckks::Ciphertext> templates;
  TiledCiphertexts block;
};

// EnrolUnderKey: makes a new key; samples as many as one block holds at most. kCancelled.
absl::StatusOr<UnderKey> EnrolUnderKey(const Monitor& monitor, const Model& model,
                                       const std::vector<Vectors>& samples);

// Opened: templates decrypted with the key of `by`, a row each: the mean over the slots' periods.
FeatureMatrix Opened(const Roles& by, const std::vector<ckks::Ciphertext>& templates);

// Encoded: such vectors as the plaintexts that templates are, one part, to be compared with
// ciphertexts.
absl::StatusOr<std::vector<ckks::Ciphertext>> Encoded(const Roles& roles,
                                                      const FeatureMatrix& templates,
                                                      const ckks::Ciphertext& like);

// BlockCiphertexts: the ciphertexts that a block is made of.
std::vector<ckks::Ciphertext> BlockCiphertexts(const Roles& roles, const TiledCiphertexts& block);

// Rekeyed: a block of `from` under the key of `to`, as heft-server apply does it.
absl::StatusOr<TiledCiphertexts> Rekeyed(const Roles& from, const Roles& to,
                                         const TiledCiphertexts& block);

// BlockScores: the scores of samples, as probes, with the first `templates` templates of a block,
// [probe][template].
absl::StatusOr<FeatureMatrix> BlockScores(const Monitor& monitor, const Roles& roles,
                                          const std::vector<Vectors>& probes,
                                          const TiledCiphertexts& block, size_t templates);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_TWO_KEYS_H_
