// SPDX-License-Identifier: Apache-2.0
// Normalisation of encrypted vectors by every method that the paper compares and ours: composite
// polynomials of any degrees, Goldschmidt's iteration, and deferred exact normalisation. The
// shipped route (fusion/normalise.h) is the special case of one quadratic or cubic. docs/design.md,
// "Normalisation".
#ifndef HEFT_PAPER_METHODS_NORMALISATION_H_
#define HEFT_PAPER_METHODS_NORMALISATION_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/keys.h"
#include "ckks/params.h"
#include "fusion/key_needs.h"
#include "fusion/normalise.h"
#include "heft/model.h"
#include "inverse_sqrt/goldschmidt.h"

namespace heft::paper {

enum class NormalisationMethod {
  kPolynomial,   // composite polynomials, each of degree 1 to 31
  kGoldschmidt,  // the iteration
  kDeferred,     // none: z and |z|^2 go on, and the key owner divides
};

struct NormalisationSpec {
  NormalisationMethod method = NormalisationMethod::kPolynomial;
  Approximation approximation = {};  // kPolynomial
  Goldschmidt goldschmidt = {};      // kGoldschmidt
  Interval interval = {};            // of |z|^2, kDeferred

  static NormalisationSpec Polynomials(const Approximation& approximation);
  static NormalisationSpec Iteration(const Goldschmidt& goldschmidt);
  static NormalisationSpec Deferred(const Interval& interval);

  // Range: the interval of |z|^2.
  const Interval& Range() const;
  // The number that z is multiplied with where |z|^2 = s; 1 for kDeferred.
  double operator()(double s) const;
  // Levels from z to z f(|z|^2): the square, f, and its application; 0 for kDeferred, whose |z|^2
  // takes one. A last stage of degree 2 or 3 is applied in factored form and takes 2 with its
  // application, degree 1 takes 1, Goldschmidt's last iteration 2.
  size_t Levels() const;
};

// PaperNormalisations: those of the paper's tables, on its interval. "Degree 6" is a cubic of a
// cubic in the published code; the iterations start from our linear fit, which needs four.
struct PaperNormalisations {
  NormalisationSpec degree2, degree6, goldschmidt;
};
absl::StatusOr<PaperNormalisations> MakePaperNormalisations();

struct NormalisationPlan {
  NormalisationSpec spec;
  uint32_t gamma = 0;
  bool folds = true;        // sum the squares over gamma slots; false for SIMD coordinates
  size_t input_limbs = 0;   // of z
  size_t output_limbs = 0;  // of z f(|z|^2)
  // z is expected at exactly this scale, and its result comes out at the other.
  double input_scale = 0, output_scale = 0;
  KeyNeeds keys;
};

// PlanNormalisation from z with `input_limbs` limbs to templates at `output_scale`. The plan says
// which scale z must have (give it to PlanProjection). kInvalidArgument where levels lack: it says
// how many.
absl::StatusOr<NormalisationPlan> PlanNormalisation(const ckks::Params& params,
                                                    const NormalisationSpec& spec, uint32_t gamma,
                                                    size_t input_limbs, double output_scale,
                                                    bool folds = true);

// Fused: normalised vectors, one ciphertext or gamma (SIMD).
struct Fused {
  std::vector<ckks::Ciphertext> z = {};
  ckks::Ciphertext squared_norm = {};
};

// Normaliser: the server's half of a normalisation, by the method of its plan.

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
  absl::StatusOr<Fused> ApplyToCoordinates(std::span<const ckks::Ciphertext> z) const;

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

#endif  // HEFT_PAPER_METHODS_NORMALISATION_H_
