// SPDX-License-Identifier: Apache-2.0
// NormProof: |z|^2 of a vector that another party has encrypted, in a form that the key owner can
// verify (docs/design.md, "What a reply proves").
//
// Arithmetic is modulo Q, so a vector that is deliberately long has a squared norm, and scores,
// that wrap around to values of its maker's choice. Multiplying by a factor reveals this, unless
// the factor is an integer, which wraps too, or is known. So the server squares u = z (1 + i sigma)
// with a fresh, secret, real sigma (fusion/norm_factor.h). For an honest z the sum of squares is
//
//   (1 - sigma^2) |z|^2 + 2 i sigma |z|^2,
//
// two real multiples of the norm, which agree; after wrapping around they agree only by chance. The
// proof of the norm covers all scores of z, because |<z, t>| <= |z| |t|: they did not wrap either.
// sigma is sent to the key owner inside the ciphertext, added as i sigma (-1)^j in slot j.
#ifndef HEFT_FUSION_NORM_PROOF_H_
#define HEFT_FUSION_NORM_PROOF_H_

#include <optional>
#include <span>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/encoder.h"
#include "ckks/keys.h"
#include "fusion/plan.h"
#include "fusion/rings.h"

namespace heft {

// NormProofScale: of the ciphertexts of ProveNorm. NormProofRange: the squared norm that wraps
// around to zero at this scale.
double NormProofScale(const ckks::Params& params, const FusionPlan& plan);
double NormProofRange(const ckks::Params& params, const FusionPlan& plan);

// ProvesCarefully: whether a proof folds before its rescale, and relinearises with digits of one
// prime. The folds sum gamma slots, and also all errors that were added before. With few dimensions
// this error is small, and avoiding it would cost noticeable time.
inline bool ProvesCarefully(const FusionPlan& plan) { return plan.gamma > 32; }

// ProveNorm: for u = z (1 + i sigma), MatchLimbs limbs at probe_scale, z real and with period
// gamma; returns one limb. The keys are those for probes.
absl::StatusOr<ckks::Ciphertext> ProveNorm(const Instance& matching, const ckks::Ciphertext& u,
                                           double sigma, const ckks::EvaluationKeys& keys);

// ProveTemplateNorm: for a real vector of TemplateLimbs limbs at any scale near a template's; the
// mask's prime multiplies it. Without `sigma` it draws one.
absl::StatusOr<ckks::Ciphertext> ProveTemplateNorm(const Instance& matching,
                                                   const ckks::Ciphertext& z,
                                                   const ckks::EvaluationKeys& keys,
                                                   std::optional<double> sigma = {});

// ProveBatchNorms: for a batch in bulk, real coordinates of TemplateLimbs limbs in the enrolment
// ring: slot j proves the norm of sample j. Slots differ, so sigma is returned separately: it must
// go only to the key owner. `keys` are that ring's.
struct BatchNorms {
  ckks::Ciphertext norms;  // one limb
  double sigma = 0;
};
absl::StatusOr<BatchNorms> ProveBatchNorms(const Rings& rings,
                                           std::span<const ckks::Ciphertext> coordinates,
                                           const ckks::EvaluationKeys& keys);
// ReadNormOf: for one slot of such a proof. Errors as ReadNorm's.
absl::StatusOr<double> ReadNormOf(ckks::Complex slot, double sigma);

// TurnedNorm: a proof times i (-1)^j in slot j, for decoders that return only real parts: the mean
// of all slots is -sigma. Exact.
ckks::Ciphertext TurnedNorm(const ckks::Context& context, const ckks::Ciphertext& norm);

// RealPart: z + conj(z), at twice the scale. A client's projected vector may be complex, and the
// square of a complex number proves nothing about its length.
absl::StatusOr<ckks::Ciphertext> RealPart(const Instance& matching, const ckks::Ciphertext& z,
                                          const ckks::EvaluationKeys& keys);

// NormTolerance: by how much both multiples of an honest vector of length 1 may differ: at least
// five deviations of their errors at 32 dimensions, more beyond. kProbe: of a reply. kTemplate: of
// an enrolment; with few copies in the slots its errors average less. kBatchSlot: of one slot of
// ProveBatchNorms, whose errors do not average.
enum class ProofOf { kProbe, kTemplate, kBatchSlot };
double NormTolerance(ProofOf of, uint32_t gamma);

// ReadNorm: |z|^2 of `gamma` coordinates from the slots of an opened proof. kFailedPrecondition,
// with the reason, if the slots differ (many vectors in one ciphertext), if there is no factor, or
// if the multiples disagree by more than the tolerance (a vector that wraps around).
absl::StatusOr<double> ReadNorm(std::span<const ckks::Complex> slots, ProofOf of, uint32_t gamma);

}  // namespace heft

#endif  // HEFT_FUSION_NORM_PROOF_H_
