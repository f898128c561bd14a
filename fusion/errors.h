// SPDX-License-Identifier: Apache-2.0
// Predicted errors of a plan: root mean square errors of a slot, in slot units, from parameters,
// plan and model alone (docs/design.md, "The noise"). Neither a gallery's blocks nor a prepared
// probe carry an estimate, so what templates and probes bring to a score is predicted here.
#ifndef HEFT_FUSION_ERRORS_H_
#define HEFT_FUSION_ERRORS_H_

#include "ckks/params.h"
#include "fusion/plan.h"
#include "heft/model.h"

namespace heft {

// kKeyMargin: over an estimate that has no bound in it: what a secret key of more coefficients than
// most, six standard deviations, and a slot's share of them add.
inline constexpr double kKeyMargin = 1.1;

// ProjectedError: of z, projected from fresh samples of all modalities, or from sums of so many
// (fusion/mean.h).
double ProjectedError(const ckks::Params& params, const FusionPlan& plan, const Model& model,
                      size_t samples = 1);

// SquaredNormError: of |z|^2, from that of z.
double SquaredNormError(const ckks::Params& params, const FusionPlan& plan, double z_error);

// NormalisedError: of z f(s), from those of z and s: the largest over the interval of s, with
// coordinates of z as large as its length says.
double NormalisedError(const ckks::Params& params, const FusionPlan& plan, double z_error,
                       double s_error);

// SwitchedError: of a vector that was taken to the small ring of two; `switching` are the ring
// switch's parameters.
double SwitchedError(const ckks::Params& switching, const FusionPlan& plan, double error);

// ProductError: of the inner products of a prepared probe and a block's templates, before they are
// relinearised; |z| at most matching.probe_length. Blocks are full, each template was added by a
// call of its own, which rounds most, and as many exchanges have renewed the block
// (gallery/wear.h). `masked`: of a verification's probe.
double ProductError(const ckks::Params& params, const FusionPlan& plan, bool masked);

// ScoreError, NormProofError: of an honest reply's scores (`masked`: of a verification) and of the
// proof of its probe's norm, as the key owner opens them. What is flooded is flooded for these at
// least, whatever a reply says of itself.
double ScoreError(const ckks::Params& params, const FusionPlan& plan, bool masked);
double NormProofError(const ckks::Params& params, const FusionPlan& plan);

// What changes to a block add to the error of a score of every template in it, whatever it was
// before: variances of one lane, for a probe of unit length, which add up. AdditionVariance: one
// call of AddToBlock with so many templates; BatchVariance: one of AddBatchToBlock;
// RenewalVariance: an exchange with the key owner (fusion/renewal.h); RekeyVariance: RekeyBlock.
double AdditionVariance(const ckks::Params& params, const FusionPlan& plan, size_t templates = 1);
double BatchVariance(const ckks::Params& params, const FusionPlan& plan);
double RenewalVariance(const ckks::Params& params, const FusionPlan& plan);
double RekeyVariance(const ckks::Params& params, const FusionPlan& plan);

}  // namespace heft

#endif  // HEFT_FUSION_ERRORS_H_
