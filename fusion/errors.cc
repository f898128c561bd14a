// SPDX-License-Identifier: Apache-2.0
#include "fusion/errors.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "ckks/noise.h"
#include "fusion/compact.h"
#include "fusion/matching.h"
#include "fusion/mean.h"
#include "fusion/norm_proof.h"

namespace heft {
namespace {

using ckks::Combine;
using ckks::KeySwitchError;
using ckks::Params;
using ckks::RoundingError;

// Folded: in integer units; a fold by ckks::SumGalois at `limbs` limbs.
double Folded(const Params& params, size_t limbs, const std::vector<uint32_t>& fold, double error) {
  const auto terms = static_cast<double>(fold.size());
  const double switches = std::sqrt(terms - 1) * KeySwitchError(params, limbs);
  return Combine(std::sqrt(terms) * error, Combine(switches, RoundingError(params)));
}

// Rescaled: in integer units, divided by the last level of `limbs` limbs.
double Rescaled(const Params& params, size_t limbs, double error) {
  return Combine(error / params.LevelModulus(limbs), RoundingError(params));
}

// OwnError: in integer units, the error that a relinearisation and rescale of `limbs` limbs add.
double OwnError(const Params& params, size_t limbs) {
  return Rescaled(params, limbs, KeySwitchError(params, limbs));
}

// PairError: in integer units, of one pair's products with the projection's factors.
double PairError(const Params& params, const FusionPlan& plan, const Model& model,
                 const PackedPair& pair, size_t samples) {
  const FusionPlan::Projection& projection = plan.projection;
  const double modalities = pair.second >= 0 ? 2 : 1;
  const double count = static_cast<double>(samples);
  const double fresh = std::sqrt(count * modalities) *
                       Combine(ckks::EncodingError(params), ckks::PublicKeyError(params));
  const double rotated = Combine(fresh, KeySwitchError(params, projection.input_limbs));
  const double values = double(pair.run) * params.slots() / plan.gamma;
  ckks::Noise factor = FactorNoise(params, model, plan, pair);
  factor.message *= MeanFactor(model, samples);
  double error = RoundingError(params);
  for (uint32_t i = 0; i < pair.run; ++i) {
    const ckks::Noise image = {count * std::sqrt(modalities / values),
                               i % pair.grid.babies == 0 ? fresh : rotated};
    error = Combine(
        error,
        ckks::MultiplyNoise(image, projection.input_scale, factor, projection.factor_scale).error);
  }
  // A partial sum is rounded before its decomposition, and switched.
  const double giant =
      Combine(RoundingError(params), KeySwitchError(params, projection.input_limbs));
  return Combine(error, std::sqrt(pair.grid.giants - 1.0) * giant);
}

// BlockError: of a coordinate in a block whose slots hold a template in each lane.
double BlockError(const Params& params, const FusionPlan& plan) {
  const FusionPlan::Matching& matching = plan.matching;
  // A giant's rotation is before the mask; a baby's is after it, at a large scale.
  const double rotation =
      Combine(KeySwitchError(params, TemplateLimbs(params)), RoundingError(params));
  const double rotated = Combine(matching.template_error, rotation / matching.template_scale);
  // For both lanes, with each template added by a separate call and as many renewals.
  const double templates = 2.0 * params.slots();
  const double changes = AdditionVariance(params, plan) + RenewalVariance(params, plan);
  return Combine(std::numbers::sqrt2 * rotated, std::sqrt(2 * templates * changes));
}

// MaskRounding, DivisionRounding: of a coordinate in a block, both lanes. The rounding of one mask,
// times a vector of length one; the rounding of one division after masks.
double MaskRounding(const Params& params, const FusionPlan& plan) {
  const FusionPlan::Matching& matching = plan.matching;
  return ckks::EncodingError(params) /
         MaskScale(plan, matching.template_scale, matching.block_scale);
}
double DivisionRounding(const Params& params, const FusionPlan& plan) {
  return RoundingError(params) / plan.matching.block_scale;
}

// OneLane: the variance of a score in one lane, from coordinate errors of this deviation.
double OneLane(double error) { return error * error / 2; }

// PreparedError: of a rotated probe's coordinate.
double PreparedError(const Params& params, const FusionPlan& plan) {
  const FusionPlan::Matching& matching = plan.matching;
  // A giant's rotation and a baby's.
  const double rotation = std::numbers::sqrt2 * Combine(KeySwitchError(params, MatchLimbs(params)),
                                                        RoundingError(params));
  return Combine(matching.probe_error, rotation / matching.probe_scale);
}

// MaskedError: of a rotated and masked probe's coordinate. The mask is one half, because adding the
// conjugate doubles.
double MaskedError(const Params& params, const FusionPlan& plan) {
  const FusionPlan::Matching& matching = plan.matching;
  // A giant's rotation and a baby's.
  const double rotation = std::numbers::sqrt2 * KeySwitchError(params, TemplateLimbs(params));
  const double rotated = Combine(
      matching.claim_error, Combine(rotation, RoundingError(params)) / matching.template_scale);
  const double mask_scale = MaskScale(plan, matching.template_scale, matching.masked_scale);
  const double mask =
      matching.probe_length / std::sqrt(plan.gamma) * ckks::EncodingError(params) / mask_scale;
  return Combine(rotated / 2, Combine(mask, RoundingError(params) / matching.masked_scale));
}

}  // namespace

double ProjectedError(const Params& params, const FusionPlan& plan, const Model& model,
                      size_t samples) {
  const FusionPlan::Projection& projection = plan.projection;
  double error = 0;
  for (const PackedPair& pair : projection.pairs) {
    error = Combine(error, PairError(params, plan, model, pair, samples));
  }
  size_t limbs = projection.input_limbs;
  for (size_t i = 0; i < projection.folds.size(); ++i) {
    error = Folded(params, limbs, projection.folds[i], error);
    if (i + 1 != projection.folds_before_rescale) continue;
    error = Rescaled(params, limbs, error);
    limbs -= params.level_primes();
  }
  return error / projection.z_scale;
}

double SquaredNormError(const Params& params, const FusionPlan& plan, double z_error) {
  const size_t limbs = plan.projection.z_limbs;
  const double z_scale = plan.projection.z_scale;
  const double scale = z_scale * z_scale / params.LevelModulus(limbs);
  // The error of the sum is 2 |z| times that of a coordinate.
  const double coordinate = std::sqrt(plan.normalisation.interval_hi / plan.gamma);
  double error = Combine(2 * coordinate * z_error * scale, OwnError(params, limbs));
  for (const std::vector<uint32_t>& fold : plan.normalisation.folds) {
    error = Folded(params, limbs - params.level_primes(), fold, error);
  }
  return kKeyMargin * error / scale;
}

double NormalisedError(const Params& params, const FusionPlan& plan, double z_error,
                       double s_error) {
  const FactoredPolynomial& f = plan.normalisation.polynomial;
  const size_t limbs = plan.projection.z_limbs;
  const double z_scale = plan.projection.z_scale;
  const size_t level = params.level_primes();
  const double s_scale = z_scale * z_scale / params.LevelModulus(limbs);
  const double q_square = params.LevelModulus(limbs - level);
  // The errors that the products of (s + a)^2 + b, of (s + d) z, and for the template add.
  const double own = OwnError(params, limbs - level);
  const double quadratic_error = own / (s_scale * s_scale / q_square);
  const double linear_error = f.degree == 3 ? own / (s_scale * z_scale / q_square) : 0;
  const double last = OwnError(params, limbs - 2 * level) / plan.matching.template_scale;
  const double c = std::abs(f.leading);
  const double lo = plan.normalisation.interval_lo, hi = plan.normalisation.interval_hi;
  constexpr int kSteps = 64;
  double worst = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double s = lo + (hi - lo) * i / kSteps;
    const double coordinate = std::sqrt(s / plan.gamma);
    const double quadratic = (s + f.a) * (s + f.a) + f.b;
    const double linear = f.degree == 3 ? s + f.d : 1;
    const double slope = c * (2 * (s + f.a) * linear + (f.degree == 3 ? quadratic : 0));
    const double of_z = f.Evaluate(s) * z_error;
    const double of_s = coordinate * slope * s_error;
    const double of_quadratic = coordinate * c * linear * quadratic_error;
    const double of_linear = c * quadratic * linear_error;
    worst = std::max(worst, Combine(Combine(of_z, of_s), Combine(of_quadratic, of_linear)));
  }
  return Combine(worst, last);
}

double SwitchedError(const Params& switching, const FusionPlan& plan, double error) {
  const double own =
      Combine(KeySwitchError(switching, TemplateLimbs(switching)), RoundingError(switching));
  // A slot is the mean of two: the switch's errors in them are independent, the vector's are equal.
  return Combine(error, own / std::numbers::sqrt2 / plan.matching.template_scale);
}

double ProductError(const Params& params, const FusionPlan& plan, bool masked) {
  // A slot's templates have length one in each lane.
  const double probe = masked ? MaskedError(params, plan) : PreparedError(params, plan);
  const double length = masked ? plan.matching.probe_length / 2 : plan.matching.probe_length;
  return Combine(std::numbers::sqrt2 * probe, length * BlockError(params, plan));
}

double AdditionVariance(const Params& params, const FusionPlan& plan, size_t templates) {
  // Templates of one call share a division (AddToBlock). A mask's rounding is multiplied by its
  // template's coordinates, rms 1 / sqrt(gamma).
  const auto count = static_cast<double>(templates);
  return count / plan.gamma * OneLane(MaskRounding(params, plan)) +
         std::ceil(count / double(kTemplatesACall)) * OneLane(DivisionRounding(params, plan));
}

double BatchVariance(const Params& params, const FusionPlan& plan) {
  // A mask for each of a template's gamma coordinates, which together have length one.
  return OneLane(MaskRounding(params, plan)) + OneLane(DivisionRounding(params, plan));
}

double RenewalVariance(const Params& params, const FusionPlan& plan) {
  // Pads are encoded twice, to be added and to be subtracted; kept templates once.
  const double encoded = std::sqrt(3.0) * ckks::EncodingError(params);
  return OneLane(Combine(encoded, ckks::SymmetricError(params)) / plan.matching.block_scale);
}

double RekeyVariance(const Params& params, const FusionPlan& plan) {
  const double error = Combine(KeySwitchError(params, MatchLimbs(params)), RoundingError(params));
  return OneLane(error / plan.matching.block_scale);
}

double ScoreError(const Params& params, const FusionPlan& plan, bool masked) {
  const FusionPlan::Matching& matching = plan.matching;
  const size_t limbs = MatchLimbs(params);
  const double scale =
      (masked ? matching.masked_scale : matching.probe_scale) * matching.block_scale;
  const double products = ProductError(params, plan, masked) * scale;
  // The sum of each giant is relinearised, and rotated except for the first.
  const double switches = 2.0 * matching.giants - 1;
  const double switched = std::sqrt(switches) * KeySwitchError(params, limbs);
  const double rescaled = Rescaled(params, limbs, Combine(products, switched));
  if (!masked) return rescaled / matching.score_scale;
  // The conjugate is added, and then the noise over the other slots.
  const double folded = Folded(params, ScoreLimbs(params), {1, 0}, rescaled);
  return Combine(folded, ckks::EncodingError(params)) / matching.verified_scale;
}

double NormProofError(const Params& params, const FusionPlan& plan) {
  // The proof squares z (1 + i sigma); a template or a claim was rounded once more before.
  const FusionPlan::Matching& matching = plan.matching;
  const double z_error =
      std::max(matching.probe_error, std::max(matching.claim_error, matching.template_error));
  const double rounded = Combine(z_error, RoundingError(params) / matching.probe_scale);
  const double of_u = std::numbers::sqrt2 * rounded;
  if (!ProvesCarefully(plan)) return SquaredNormError(params, plan, of_u);
  const double length = std::sqrt(plan.normalisation.interval_hi / plan.gamma);
  const double scale = matching.probe_scale * matching.probe_scale;
  const size_t limbs = MatchLimbs(params);
  double error = Combine(2 * length * of_u * scale, KeySwitchError(params, limbs));
  for (const std::vector<uint32_t>& fold : plan.normalisation.folds) {
    error = Folded(params, limbs, fold, error);
  }
  return kKeyMargin * Rescaled(params, limbs, error) * params.LevelModulus(limbs) / scale;
}

}  // namespace heft
