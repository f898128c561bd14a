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

// Calls come from any number of threads.
class ThinFuser {
 public:
  // `matching` is the small ring's; `keys` must outlive the fuser. kFailedPrecondition names the
  // first key that is missing. `samples` as Fuser's.
  static absl::StatusOr<ThinFuser> Create(const Instance& matching, const Model& model,
                                          const ckks::EvaluationKeys* keys, size_t samples = 1);

  const Instance& instance() const { return matching_; }

  // As Fuser::Project's arguments: z in MatchLimbs limbs at probe_scale. Without `sigma`, the
  // factor of the norm, one is drawn for this probe alone.
  absl::StatusOr<ProvenProbe> Fuse(std::span<const ckks::Ciphertext* const> modalities,
                                   std::optional<double> sigma = {}) const;

 private:
  using Factors = std::vector<std::vector<ckks::Plaintext>>;  // [pair][rotation]
  // Coefficients: in floats where the integers that they become are below each prime, which is
  // fast, else in doubles (profile flooded). One of both is empty.
  struct Coefficients {
    std::vector<float> small;
    std::vector<double> large;
  };
  // Spare: factors that have served. The next probe's take their memory, 64 kB a rotation.
  struct Spare {
    std::mutex mutex;
    std::vector<Factors> factors;
    Factors Take();
    void Give(Factors given);
  };

  ThinFuser() = default;
  absl::StatusOr<Factors> Encode(double times) const;
  absl::Status MakeImaginary();
  // Turn: a factor of the projection times i sigma.
  void Turn(double sigma, const ckks::Plaintext& factor, const Coefficients& imaginary,
            ckks::Plaintext* out) const;
  // Blinding: the projection's factors times i sigma. They serve one probe: whoever learns that a
  // probe has passed knows something of its sigma.
  Factors Blinding(double sigma) const;
  // The projection, and i sigma times it, before the folds.
  absl::StatusOr<std::vector<ckks::ExtendedCiphertext>> Products(
      std::span<const ckks::Ciphertext* const> modalities, const Factors& blinding) const;
  // z (1 + i sigma), folded, with the special prime.
  absl::StatusOr<ckks::ExtendedCiphertext> Folded(
      std::span<const ckks::Ciphertext* const> modalities, const Factors& blinding) const;

  Instance matching_;
  Model model_;
  double mean_factor_ = 1;
  const ckks::EvaluationKeys* keys_ = nullptr;
  std::unique_ptr<Fuser> fuser_;  // of z / 2
  // The projection's factors times i: a new sigma takes roundings and transforms, no encoding.
  std::vector<std::vector<Coefficients>> imaginary_;  // [pair][rotation]
  std::unique_ptr<Spare> spare_ = std::make_unique<Spare>();
};

}  // namespace heft

#endif  // HEFT_FUSION_THIN_FUSER_H_
