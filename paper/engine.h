// SPDX-License-Identifier: Apache-2.0
// The paper's route under encryption, all roles in one process: keys, samples, fusion, packed
// gallery, scores of all pairs. As in cli/encrypted_scores.h the key is thrown away afterwards.
#ifndef HEFT_PAPER_ENGINE_H_
#define HEFT_PAPER_ENGINE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/csprng.h"
#include "base/human.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/status.h"
#include "ckks/context.h"
#include "ckks/encoder.h"
#include "ckks/keys.h"
#include "ckks/owner/secret_key.h"
#include "features/matrix.h"
#include "fusion/profile.h"
#include "heft/model.h"
#include "paper/route.h"

namespace heft::paper {

// A parameter set with a key pair, and evaluation keys for what was asked for.
struct KeyedContext {
  Profile profile;
  std::shared_ptr<const ckks::Context> context;
  std::shared_ptr<const ckks::Encoder> encoder;
  std::optional<ckks::SecretKey> secret;
  ckks::PublicKey public_key;
  ckks::EvaluationKeys keys;
  Csprng rng;

  // `needs` in addition to the keys that are there.
  void MakeKeys(const KeyNeeds& needs);
  absl::StatusOr<std::vector<ckks::Ciphertext>> Encrypt(std::span<const ckks::Plaintext> plain);
  std::vector<ckks::Complex> Open(const ckks::Ciphertext& ciphertext) const;
};
absl::StatusOr<std::unique_ptr<KeyedContext>> MakeKeyedContext(const Profile& profile);
absl::StatusOr<std::unique_ptr<KeyedContext>> MakeKeyedContext(const std::string& profile);

// The paper's route for a model and a normalisation, under the smallest of the profiles "paper",
// "deep" and "deepest" that has the levels.
struct PaperEngine {
  std::unique_ptr<KeyedContext> world;
  Model model;
  std::optional<PaperRoute> route;

  const PaperRoutePlan& plan() const { return route->plan(); }
  // Ciphertexts of samples first, first + 1, ... (at most `count`, as many as a batch takes); one
  // sample fills all windows. `modalities`: n rows each, scaled to unit length here.
  absl::StatusOr<std::vector<std::vector<ckks::Ciphertext>>> EncryptBatch(
      const std::vector<FeatureMatrix>& modalities, std::size_t first, std::size_t count);
};
absl::StatusOr<std::unique_ptr<PaperEngine>> MakePaperEngine(
    const Model& model, const NormalisationSpec& normalisation,
    ProjectionMethod projection = ProjectionMethod::kHybrid, const KeyNeeds& more = {});

// Scores of all pairs, n x n, computed under encryption (deferred normalisation: inner products,
// and the squared norms on the diagonal): fused in the paper's encoding, packed, and every packed
// ciphertext multiplied with the rotations of every other, so that each pair of templates meets in
// some product.
struct PaperScores {
  FeatureMatrix scores;
  double predicted_error = 0;  // the noise estimator's bound for one score
  std::string parameters, security;
};
absl::StatusOr<PaperScores> ScoreByPaperRoute(const Monitor& monitor, const std::string& name,
                                              const Model& model,
                                              const NormalisationSpec& normalisation,
                                              const std::vector<FeatureMatrix>& modalities);

}  // namespace heft::paper

#endif  // HEFT_PAPER_ENGINE_H_
