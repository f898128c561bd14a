// SPDX-License-Identifier: Apache-2.0
// Normaliser: the server's half of a normalisation, by the method of its plan.
#ifndef HEFT_PAPER_METHODS_NORMALISER_H_
#define HEFT_PAPER_METHODS_NORMALISER_H_

#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/keys.h"
#include "fusion/normalise.h"
#include "paper/methods/normalisation_plan.h"

namespace heft::paper {

class Normaliser {
 public:
  // `keys` must outlive the normaliser.
  static absl::StatusOr<Normaliser> Create(std::shared_ptr<const ckks::Context> context,
                                           const NormalisationPlan& plan,
                                           const ckks::EvaluationKeys* keys);
  const NormalisationPlan& plan() const { return plan_; }

  // Apply, for dense and compact encodings: z repeats with period gamma over the slots that are
  // used. The result is right where the gamma slots from it on hold a whole period.
  absl::StatusOr<Normalised> Apply(const ckks::Ciphertext& z) const;

  // ApplyToCoordinates, for SIMD: one ciphertext a coordinate; the norm is relinearised once, and f
  // is evaluated once.
  struct NormalisedCoordinates {
    std::vector<ckks::Ciphertext> z;
    ckks::Ciphertext squared_norm;
  };
  absl::StatusOr<NormalisedCoordinates> ApplyToCoordinates(
      std::span<const ckks::Ciphertext> z) const;

 private:
  Normaliser() = default;
  // Factors: what z is multiplied with, one after the other, deepest last; `leading` is a matter of
  // scale. `error`: of the normalised vector, beyond what the factors carry.
  struct Factors {
    std::vector<ckks::Ciphertext> factors;
    double leading = 1;
    double error = 0;
  };
  absl::Status CheckInput(const ckks::Ciphertext& z) const;
  // From |z|^2, whose estimate counts its own error only; adds that of z's coordinates to it.
  absl::StatusOr<Factors> MakeFactors(ckks::Ciphertext* s, double z_error) const;
  absl::StatusOr<Factors> MakePolynomialFactors(const ckks::Ciphertext& s) const;
  absl::StatusOr<Factors> MakeGoldschmidtFactors(const ckks::Ciphertext& s) const;
  absl::StatusOr<ckks::Ciphertext> ApplyFactors(const Factors& factors,
                                                const ckks::Ciphertext& z) const;

  std::shared_ptr<const ckks::Context> context_;
  NormalisationPlan plan_;
  const ckks::EvaluationKeys* keys_ = nullptr;
};

// DeferredCosine: the exact cosine from decrypted <z, g>, |z|^2 and |g|^2. 0 where a norm
// is not positive.
double DeferredCosine(double dot, double squared_norm_z, double squared_norm_g);

}  // namespace heft::paper

#endif  // HEFT_PAPER_METHODS_NORMALISER_H_
