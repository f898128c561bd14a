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

#include "base/aligned.h"
#include "base/csprng.h"
#include "base/status.h"
#include "ckks/extended_ciphertext.h"
#include "fusion/fuser.h"
#include "heft/model.h"

namespace heft {

// ProvenProbe: a fused probe, and the proof of its norm (fusion/norm_proof.h).
struct ProvenProbe {
  ckks::Ciphertext z;
  ckks::Ciphertext norm;
};

// Any number of threads may call at once.
class ThinFuser {
 public:
  // `matching` is the small ring's; `keys` must outlive the fuser. kFailedPrecondition names the
  // first missing key. `samples` as in Fuser.
  static absl::StatusOr<ThinFuser> Create(const Instance& matching, const Model& model,
                                          const ckks::EvaluationKeys* keys, size_t samples = 1);

  const Instance& instance() const { return matching_; }

  // Arguments as in Fuser::Project; z has MatchLimbs limbs at probe_scale. Without `sigma`, the
  // factor of the norm, it draws one for this probe only.
  absl::StatusOr<ProvenProbe> Fuse(std::span<const ckks::Ciphertext* const> modalities,
                                   std::optional<double> sigma = {}) const;
  // PrepareFactor: what a factor of its own costs a probe, which Fuse includes; for measurements.
  void PrepareFactor(double sigma) const { spare_->Give(Blinding(sigma)); }

 private:
  using Factors = std::vector<std::vector<ckks::Plaintext>>;  // [pair][rotation]
  // Coefficients: as floats, which is fast, if the resulting integers are below each prime;
  // otherwise as doubles (profile flooded). One of both is empty.
  struct Coefficients {
    AlignedVector<float> small;
    std::vector<double> large;
  };
  // Spare: used factors. The next probe's factors take their memory, 64 kB for each rotation.
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
  // Blinding: the projection's factors times i sigma, for one probe only: the outcome of a probe
  // reveals something about its sigma.
  Factors Blinding(double sigma) const;
  // The projection, and the same times i sigma, before the folds.
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
  // The projection's factors times i: a new sigma needs roundings and transforms, but no encoding.
  std::vector<std::vector<Coefficients>> imaginary_;  // [pair][rotation]
  std::unique_ptr<Spare> spare_ = std::make_unique<Spare>();
};

}  // namespace heft

#endif  // HEFT_FUSION_THIN_FUSER_H_
