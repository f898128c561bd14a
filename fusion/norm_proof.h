// SPDX-License-Identifier: Apache-2.0
// NormProof: |z|^2 of a vector that somebody else has encrypted, in a form that the key owner can
// believe (docs/design.md, "What a reply proves").
//
// Arithmetic is modulo Q, so a vector that is long on purpose has a squared norm, and scores, that
// wrap around to whatever its maker likes. A factor shows it, unless it is an integer, which wraps
// along, or known. So the server squares u = z (1 + i sigma) with a fresh real sigma that nobody
// else knows. Of an honest z the sum of squares is
//
//   (1 - sigma^2) |z|^2 + 2 i sigma |z|^2,
//
// two real multiples of the norm, which agree; of one that wraps they agree by chance alone. What
// the norm proves of z holds for all of its scores, since |<z, t>| <= |z| |t|: they did not wrap
// either. sigma travels to the key owner inside the ciphertext, added as i sigma (-1)^j in slot j.
#ifndef HEFT_FUSION_NORM_PROOF_H_
#define HEFT_FUSION_NORM_PROOF_H_

#include <optional>
#include <span>

#include "base/csprng.h"
#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/encoder.h"
#include "ckks/keys.h"
#include "fusion/plan.h"
#include "fusion/rings.h"

namespace heft {

// sigma's range. Below, 2 sigma |z|^2 would lose precision; above, both multiples could be alike.
inline constexpr double kLeastNormFactor = 0.25;
inline constexpr double kLargestNormFactor = 0.40;
double DrawNormFactor(Csprng& rng);
// NormFactorOf: the same of 32 random bits.
double NormFactorOf(uint32_t bits);

// NormProofScale: of the ciphertexts that ProveNorm returns. NormProofRange: the
// squared norm that wraps around to zero there.
double NormProofScale(const ckks::Params& params, const FusionPlan& plan);
double NormProofRange(const ckks::Params& params, const FusionPlan& plan);

// ProvesCarefully: whether the folds of a proof come before its rescale, and its relinearisation
// takes digits of one prime: they sum gamma slots, and what was added to those before. With few
// dimensions that is little, and the time for it would show.
inline bool ProvesCarefully(const FusionPlan& plan) { return plan.gamma > 32; }

// ProveNorm: of u = z (1 + i sigma), MatchLimbs limbs at probe_scale, z real and repeating
// with period gamma: one limb. The keys are those of probes.
absl::StatusOr<ckks::Ciphertext> ProveNorm(const Instance& matching, const ckks::Ciphertext& u,
                                           double sigma, const ckks::EvaluationKeys& keys);

// ProveTemplateNorm: of a real vector of TemplateLimbs limbs at any scale near a template's, which
// the mask's prime multiplies. Without `sigma`, a fresh one.
absl::StatusOr<ckks::Ciphertext> ProveTemplateNorm(const Instance& matching,
                                                   const ckks::Ciphertext& z,
                                                   const ckks::EvaluationKeys& keys,
                                                   std::optional<double> sigma = {});

// ProveBatchNorms: of a batch in bulk, real coordinates of TemplateLimbs limbs in the enrolment
// ring: slot j proves the norm of sample j. Slots differ, so sigma is said beside them: it must go
// to the key owner alone. `keys` are that ring's.
struct BatchNorms {
  ckks::Ciphertext norms;  // one limb
  double sigma = 0;
};
absl::StatusOr<BatchNorms> ProveBatchNorms(const Rings& rings,
                                           std::span<const ckks::Ciphertext> coordinates,
                                           const ckks::EvaluationKeys& keys);
// ReadNormOf: of one slot of such a proof. Errors as ReadNorm's.
absl::StatusOr<double> ReadNormOf(ckks::Complex slot, double sigma);

// TurnedNorm: a proof times i (-1)^j in slot j, for decoders that give real parts alone: the mean
// of all slots is -sigma. Exact.
ckks::Ciphertext TurnedNorm(const ckks::Context& context, const ckks::Ciphertext& norm);

// RealPart: z + conj(z), at twice the scale: what a client has projected may be complex, and the
// square of a complex number proves nothing of its length.
absl::StatusOr<ckks::Ciphertext> RealPart(const Instance& matching, const ckks::Ciphertext& z,
                                          const ckks::EvaluationKeys& keys);

// ReadNorm: |z|^2 of `gamma` coordinates from the slots of an opened proof. kFailedPrecondition,
// with the reason, where they differ (many vectors in one ciphertext), where there is no factor, or
// where both multiples disagree by more than the error bound (a vector that wraps around).
absl::StatusOr<double> ReadNorm(std::span<const ckks::Complex> slots, uint32_t gamma);

}  // namespace heft

#endif  // HEFT_FUSION_NORM_PROOF_H_
