// SPDX-License-Identifier: Apache-2.0
// Predicted errors of a plan: root mean square errors of a slot, in slot units, from parameters,
// plan and model only (docs/design.md, "The noise"). Neither a gallery's blocks nor a prepared
// probe contain an estimate, so their contributions to a score are predicted here.
#ifndef HEFT_FUSION_ERRORS_H_
#define HEFT_FUSION_ERRORS_H_

#include "ckks/params.h"
#include "fusion/plan.h"
#include "heft/model.h"

namespace heft {

// kKeyMargin: a factor for estimates without a bound of their own. It covers a secret key with more
// coefficients than most, six standard deviations, and a slot's share of them.
inline constexpr double kKeyMargin = 1.1;

// ProjectedError: of z, projected from fresh samples of all modalities, or from sums of `samples`
// samples (fusion/mean.h).
double ProjectedError(const ckks::Params& params, const FusionPlan& plan, const Model& model,
                      size_t samples = 1);

// SquaredNormError: of |z|^2, from the error of z.
double SquaredNormError(const ckks::Params& params, const FusionPlan& plan, double z_error);

// NormalisedError: of z f(s), from the errors of z and s: the largest over the interval of s, for
// coordinates of z that match its length.
double NormalisedError(const ckks::Params& params, const FusionPlan& plan, double z_error,
                       double s_error);

// SwitchedError: of a vector that was switched to the small ring of two; `switching` are the ring
// switch's parameters.
double SwitchedError(const ckks::Params& switching, const FusionPlan& plan, double error);

// ProductError: of the inner products of a prepared probe and a block's templates, before
// relinearisation, with |z| at most matching.probe_length. Assumes a full block, a separate call
// for each added template, which rounds most, and as many renewals of the block
// (gallery/added_error.h). `masked`: for a verification's probe.
double ProductError(const ckks::Params& params, const FusionPlan& plan, bool masked);

// ScoreError, NormProofError: of an honest reply's scores (`masked`: of a verification) and of the
// proof of its probe's norm, when the key owner opens them. Flooding covers at least these errors,
// whatever a reply states.
double ScoreError(const ckks::Params& params, const FusionPlan& plan, bool masked);
double NormProofError(const ckks::Params& params, const FusionPlan& plan);

// Errors that changes to a block add to every template's score, independent of earlier errors:
// variances of one lane, for a probe of unit length; variances add up. AdditionVariance: one call
// of AddToBlock with `templates` templates. BatchVariance: one of AddBatchToBlock. RenewalVariance:
// an exchange with the key owner (fusion/renewal.h). RekeyVariance: RekeyBlock.
double AdditionVariance(const ckks::Params& params, const FusionPlan& plan, size_t templates = 1);
double BatchVariance(const ckks::Params& params, const FusionPlan& plan);
double RenewalVariance(const ckks::Params& params, const FusionPlan& plan);
double RekeyVariance(const ckks::Params& params, const FusionPlan& plan);

}  // namespace heft

#endif  // HEFT_FUSION_ERRORS_H_
