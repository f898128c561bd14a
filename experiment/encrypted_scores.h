// SPDX-License-Identifier: Apache-2.0
// All scores of a set of samples, computed under encryption by the library's roles in one process:
// key owner, capture device, server, key owner again.
//
// The raw scores of every pair leave the key owner here, as they never do elsewhere (SECURITY.md):
// an evaluation is the key owner's own experiment, on its own data, with a key that is thrown away.
#ifndef HEFT_EXPERIMENT_ENCRYPTED_SCORES_H_
#define HEFT_EXPERIMENT_ENCRYPTED_SCORES_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "features/matrix.h"
#include "heft/files.h"
#include "heft/model.h"

namespace heft::experiment {

// EncryptedRun: n x n scores, [probe][template], and what they cost. Each sample is encrypted and
// fused once and serves as probe and as template.
struct EncryptedRun {
  FeatureMatrix scores;
  // The same with probes that have one modality only, an entry for each of `only`.
  std::vector<FeatureMatrix> partial_scores;

  // Bound on the error of a score that the noise estimator predicts (ckks/noise.h).
  double predicted_error = 0;
  size_t refused = 0;  // whole samples whose probe the key owner rejects: their norm proves nothing
  size_t blocks = 0;
  std::string parameters;
  std::string security;

  // Bytes: of the evaluation keys, of one sample file of each modality together, of one enrolled
  // template in a full block.
  double evaluation_keys_bytes = 0;
  double sample_bytes = 0;
  double template_bytes = 0;

  // Wall clock of the stages, in seconds, on `threads` threads.
  int threads = 1;
  double keys_seconds = 0;
  double fuse_seconds = 0;  // encryption included
  double enrol_seconds = 0;
  double match_seconds = 0;  // decryption included

  // Medians of single operations as one thread saw them, in milliseconds, other threads working
  // beside it: encrypting all modalities of a sample, fusing it, preparing a probe, matching a
  // block, decrypting a block's scores.
  double encrypt_ms = 0;
  double fuse_ms = 0;
  double prepare_ms = 0;
  double match_block_ms = 0;
  double decrypt_ms = 0;
};

// ForAll calls task(i) for i in [0, count) on all threads, in portions between which progress is
// shown. kCancelled when the monitor says so.
absl::Status ForAll(const Progress& progress, size_t count,
                    const std::function<absl::Status(size_t)>& task);

// `modalities`: n rows each, in the model's order. Encrypts with the public key, as a capture
// device does. Templates alternate between the lanes of a block, so that both are exercised.
// `only`: indices of modalities; for each, the probes are matched once more with that modality
// alone, the templates being whole.
// kInvalidArgument for samples that cannot be encrypted (NaN, zero), kCancelled when interrupted.
absl::StatusOr<EncryptedRun> ScoreEncrypted(const Monitor& monitor, const Model& model,
                                            const std::vector<FeatureMatrix>& modalities,
                                            const std::vector<int>& only = {});

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_ENCRYPTED_SCORES_H_
