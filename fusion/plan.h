// SPDX-License-Identifier: Apache-2.0
// FusionPlan: how a model is evaluated under a parameter set: levels, scales, rotations, and the
// keys that they need. It is computed once for a model; client, key owner and server derive the
// same plan.
//
// Levels of the compact route, from the top (docs/design.md, "Profiles"): the projection's factors,
// s = |z|^2, its square, its application to z, a mask, the match; the base prime remains for a
// score.
#ifndef HEFT_FUSION_PLAN_H_
#define HEFT_FUSION_PLAN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "ckks/context.h"
#include "ckks/encoder.h"
#include "ckks/params.h"
#include "ckks/short_ciphertext.h"
#include "fusion/factored.h"
#include "fusion/key_needs.h"
#include "fusion/profile.h"
#include "fusion/rotation_grid.h"
#include "heft/model.h"

namespace heft {

// Limbs of a template, which is fusion's result and the input of enrolment and verification (three
// levels: base, match, mask); of a probe for an identification (base, match); and of scores (base).
inline size_t TemplateLimbs(const ckks::Params& params) { return 3 * params.level_primes(); }
inline size_t MatchLimbs(const ckks::Params& params) { return 2 * params.level_primes(); }
inline size_t ScoreLimbs(const ckks::Params& params) { return params.level_primes(); }
// The mask's prime if a level is one prime: probes of one ring leave it out.
inline constexpr size_t kMaskPrime = 2;

// One complex ciphertext of the compact encoding: one modality, or two with the second in the
// imaginary part. Slot t holds v[run * floor(t / gamma) + t mod run].
struct PackedPair {
  size_t first = 0;            // index of the modality in the real part
  int second = -1;             // in the imaginary part, or -1
  uint32_t run = 1;            // values in a row: c of docs/design.md, "The compact encoding"
  RotationGrid grid = {1, 1};  // of the projection's `run` rotations
};

// FusionPlan: the plan of one ring. Every ring of a profile has the same three parts, in the order
// of a sample's processing, and the keys and operations of all of them together. A part that a ring
// lacks is empty: the small ring of two does not normalise, and the large one has no gallery.
struct FusionPlan {
  uint32_t gamma = 0;

  // Projection: from fresh ciphertexts to z.
  struct Projection {
    std::vector<PackedPair> pairs;
    size_t input_limbs = 0;   // of fresh ciphertexts, the products and the folds before the rescale
    double input_scale = 0;   // of fresh ciphertexts
    double factor_scale = 0;  // of the projection's factors
    // Galois elements: each group is one hoisted sum over groups of slots; one group has the
    // conjugation.
    std::vector<std::vector<uint32_t>> folds;
    size_t folds_before_rescale = 0;  // at input_limbs; at least one
    size_t z_limbs = 0;
    double z_scale = 0;
    double z_error = 0;  // predicted (fusion/errors.h)
  } projection;

  // Normalisation: from z to z f(|z|^2), or only to |z|^2, by which the key owner divides.
  struct Normalisation {
    // c ((s + a)^2 + b) or c ((s + a)^2 + b)(s + d); degree 0: none, z is not normalised.
    FactoredPolynomial polynomial;
    double interval_lo = 0, interval_hi = 0;  // |z|^2 expected
    // Galois elements as above, over the gamma slots of a template, one limb below z.
    std::vector<std::vector<uint32_t>> folds;
  } normalisation;

  // Matching: of probes with templates in blocks, and the templates that are added to blocks.
  struct Matching {
    size_t template_limbs = 0;  // of a template that is added to a block or masked: fusion's result
    double template_scale = 0;  // of the same
    double fused_scale = 0;     // of templates that a client has fused (fusion/projected.h)
    size_t probe_limbs = 0;     // of PrepareProbe's input, at least MatchLimbs
    // Of a probe before its rotations, of templates in blocks, and of an identification's scores.
    double probe_scale = 0;
    double block_scale = 0;
    double score_scale = 0;
    // Of a probe masked for a verification, and of its scores. They leave room in the base level
    // for the noise over other people's scores.
    double masked_scale = 0;
    double verified_scale = 0;
    double mask_modulus = 0;  // the divisor of the rescale after a mask
    // If `short_replies`, the form of an identification's scores in the reply. It has no room for a
    // large coefficient, so templates in blocks have SlotSign's signs.
    bool short_replies = false;
    ckks::ShortForm reply_form;
    // Giants of a block: its ciphertext k = J gamma / giants + i is rotated by -J gamma / giants
    // slots, so that a probe needs gamma / giants rotations (docs/design.md, "Giant steps in the
    // gallery").
    uint32_t giants = 1;
    RotationGrid grid;  // of a probe's rotations; empty if the other ring has the gallery
    // Predicted, as z_error: of a template that is added to a block, of a probe before its
    // rotations, and of a vector masked for a verification; the largest |z| of a probe.
    double template_error = 0, probe_error = 0, claim_error = 0;
    double probe_length = 1;
  } matching;

  // ProbeRotations: the rotations of a prepared probe. GiantSteps: by how many slots ciphertext k
  // of a block is rotated back: the value of slot j is in slot j + GiantSteps(k), modulo the slots.
  uint32_t ProbeRotations() const { return gamma / matching.giants; }
  uint32_t GiantSteps(uint32_t k) const { return k - k % ProbeRotations(); }

  KeyNeeds keys;

  // Predicted counts of one fusion.
  size_t plain_products = 0;
  size_t ciphertext_products = 0;
  size_t key_switches = 0;
};

// kInvalidArgument if the model does not fit the parameters (dimension over n/2, too few levels).
// `template_limbs`: TemplateLimbs, or MatchLimbs if `params` lack the mask's prime.
absl::StatusOr<FusionPlan> PlanFusion(const ckks::Params& params, const Profile& profile,
                                      const Model& model, size_t template_limbs);

// PlanMatching: how probes are fused and matched in the small ring of two. The templates in its
// blocks come from TemplateLimbs limbs at matching.template_scale. A probe is not normalised: the
// key owner divides its scores by |z|. kInvalidArgument if the model does not fit.
absl::StatusOr<FusionPlan> PlanMatching(const ckks::Params& params, const Profile& profile,
                                        const Model& model);

// ThinNormRoom: the largest squared norm of a thin probe that fits the base level. `params`: of the
// matching ring.
double ThinNormRoom(const ckks::Params& params, double probe_scale);
// LargestNorm: ThinNormRoom of a profile of two rings; infinite for one ring.
absl::StatusOr<double> LargestNorm(const Profile& profile);

// SlotSign: 1, or, for a plan with short replies, a sign that is fixed for each slot and lane of a
// block; half of the signs are -1. It multiplies the template there, and so its score in an
// identification's reply. The common part of all scores of a block would add up in one coefficient;
// signs that are independent of the scores spread it over all coefficients (docs/design.md, "Short
// replies").
double SlotSign(const FusionPlan& plan, uint32_t slot, uint32_t lane);

// PlanCompactProjection: the part up to z, for callers that continue differently. Adds pairs,
// folds, keys and counts to a plan with gamma and projection.input_limbs. `real_first`: the fold
// that adds the conjugates is the first, and separate (fusion/thin_fuser.h), and there are two sums
// of products. `absent`: as in ProductGrid.
absl::Status PlanCompactProjection(const ckks::Params& params, const Model& model, FusionPlan* plan,
                                   bool real_first = false, size_t absent = 0);

// The scale of z that gives a template normalised by `polynomial` the scale `target`. The leading
// coefficient is part of the scale, so no level is needed for it. z has `z_limbs` limbs.
double ScaleBeforeNormalisation(const ckks::Params& params, const FactoredPolynomial& polynomial,
                                size_t z_limbs, double target);

// MaskScale: of a mask that changes the scale `from` to `to`.
inline double MaskScale(const FusionPlan& plan, double from, double to) {
  return plan.matching.mask_modulus * to / from;
}

// Context, encoder and plan of one ring, which every role derives from a model.
struct Instance {
  std::shared_ptr<const ckks::Context> context;
  std::shared_ptr<const ckks::Encoder> encoder;
  FusionPlan plan;
  const ckks::Params& params() const { return context->params(); }
};
// The ring in which a model's samples are enrolled and verified.
absl::StatusOr<Instance> MakeInstance(const Model& model);
// The same without the mask's prime, which only enrolment and verification need (ckks/subchain.h),
// for fusion/probe.h.
absl::StatusOr<Instance> MakeProbeInstance(const Model& model);

}  // namespace heft

#endif  // HEFT_FUSION_PLAN_H_
