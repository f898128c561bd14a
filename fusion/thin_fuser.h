// SPDX-License-Identifier: Apache-2.0
// ThinFuser: the fusion of a thin probe, in the small ring of a profile of two: a projection, and
// the proof of its norm from the same pass over the samples and keys.
#ifndef HEFT_FUSION_THIN_FUSER_H_
#define HEFT_FUSION_THIN_FUSER_H_

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/csprng.h"
#include "base/status.h"
#include "ckks/extended_ciphertext.h"
#include "fusion/fuser.h"
#include "heft/model.h"

namespace heft {

// ProvenProbe: what a probe is matched with, and the proof of its norm (fusion/norm_proof.h).
struct ProvenProbe {
  ckks::Ciphertext z;
  ckks::Ciphertext norm;
};

// kUsesOfAFactor: probes that one secret factor serves. The projection has to be encoded with it,
// which takes longer than a probe.
inline constexpr size_t kUsesOfAFactor = 1000;

// Calls come from any number of threads.
class ThinFuser {
 public:
  // `matching` is the small ring's; `keys` must outlive the fuser. kFailedPrecondition names the
  // first key that is missing. `samples` as Fuser's.
  static absl::StatusOr<ThinFuser> Create(const Instance& matching, const Model& model,
                                          const ckks::EvaluationKeys* keys, size_t samples = 1);

  const Instance& instance() const { return matching_; }

  // As Fuser::Project's arguments: z in MatchLimbs limbs at probe_scale. Without `sigma`, the
  // factor of the norm, it is one of the fuser's own; one that was given last costs no more.
  absl::StatusOr<ProvenProbe> Fuse(std::span<const ckks::Ciphertext* const> modalities,
                                   std::optional<double> sigma = {}) const;

 private:
  using Factors = std::vector<std::vector<ckks::Plaintext>>;  // [pair][rotation]
  // Secret: a factor of the norm, with the projection, halved, times 1 + i sigma and 1 - i sigma.
  // Nobody but the key owner learns it; still, it serves a thousand probes and no more.
  struct Secret {
    double sigma = 0;
    Factors plus, minus;
  };

  ThinFuser() = default;
  absl::StatusOr<Factors> Encode(double times) const;
  absl::StatusOr<std::shared_ptr<const Secret>> SecretOf(double sigma) const;
  absl::StatusOr<std::shared_ptr<const Secret>> CurrentSecret(std::optional<double> sigma) const;
  // The sums of products with both, before the folds.
  absl::StatusOr<std::vector<ckks::ExtendedCiphertext>> Products(
      std::span<const ckks::Ciphertext* const> modalities, const Secret& secret) const;
  // z (1 + i sigma), folded, with the special prime.
  absl::StatusOr<ckks::ExtendedCiphertext> Folded(
      std::span<const ckks::Ciphertext* const> modalities, const Secret& secret) const;

  Instance matching_;
  Model model_;
  double mean_factor_ = 1;
  const ckks::EvaluationKeys* keys_ = nullptr;
  std::unique_ptr<Fuser> fuser_;  // of z / 2
  struct State {
    std::mutex mutex;
    std::shared_ptr<const Secret> secret, given;
    size_t uses = 0;  // of `secret`
  };
  std::unique_ptr<State> state_;
};

}  // namespace heft

#endif  // HEFT_FUSION_THIN_FUSER_H_
