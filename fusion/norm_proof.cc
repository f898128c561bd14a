// SPDX-License-Identifier: Apache-2.0
#include "fusion/norm_proof.h"

#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "ckks/arithmetic.h"
#include "ckks/inner_product.h"
#include "ckks/key_switch.h"
#include "fusion/errors.h"
#include "fusion/norm_factor.h"
#include "fusion/normalise.h"
#include "fusion/probe_scale.h"

namespace heft {
namespace {

// Slots of an honest proof differ by their errors, about 3e-4 each, rms (measured).
constexpr double kSlotsAgree = 0.02;
// Both multiples, divided by their factors, differ by 2 <z, e> for an error e of u's coordinates:
// 1.7e-4 to 2.1e-4 |z| rms at 32 dimensions and at most 1.1e-4 |z| beyond
// (NormProofDimensionsTest). docs/security-proofs.md, "The proof of a norm", covers hostile probes.
constexpr double kMultiplesAgree = 1.05e-3;

// z times `times`, at probe_scale. Also returns the actual factor after rounding.
struct Multiple {
  ckks::Ciphertext z;
  double times = 0;
};
absl::StatusOr<Multiple> MultipleOf(const ckks::Context& context, const FusionPlan& plan,
                                    const ckks::Ciphertext& z, double times) {
  const double unit = MaskScale(plan, z.scale, plan.matching.probe_scale);
  const int64_t factor = std::llround(unit * times);
  HEFT_ASSIGN_OR_RETURN(ckks::Ciphertext multiple, ToProbeScale(context, plan, z, factor));
  return Multiple{std::move(multiple), static_cast<double>(factor) / unit};
}

// z (1 + i sigma) of MatchLimbs limbs at probe_scale, and sigma, which rounding changes slightly.
struct Blinded {
  ckks::Ciphertext u;
  double sigma = 0;
};
absl::StatusOr<Blinded> Blind(const ckks::Context& context, const FusionPlan& plan,
                              const ckks::Ciphertext& z, double sigma) {
  HEFT_ASSIGN_OR_RETURN(const Multiple real, MultipleOf(context, plan, z, 1));
  HEFT_ASSIGN_OR_RETURN(Multiple imaginary, MultipleOf(context, plan, z, sigma / std::sqrt(2.0)));
  ckks::MultiplyByRootOfMinusTwo(context, &imaginary.z, imaginary.z);
  Blinded out;
  HEFT_RETURN_IF_ERROR(ckks::Add(context, &out.u, real.z, imaginary.z));
  out.sigma = std::sqrt(2.0) * imaginary.times / real.times;
  return out;
}

// Adds i sigma (-1)^j to slot j: sigma X^(n/2).
absl::Status AddFactor(const ckks::Context& context, double sigma, ckks::Ciphertext* norm) {
  ckks::MultiplyByMonomial(context, norm, *norm);
  HEFT_RETURN_IF_ERROR(ckks::AddConstant(context, norm, *norm, -sigma));
  for (int i = 0; i < 3; ++i) ckks::MultiplyByMonomial(context, norm, *norm);  // X^(2n) = 1
  return absl::OkStatus();
}

// CarefulNorm: |u|^2 in all slots, folded before the rescale. The plan needs keys with enough limbs
// for this.
absl::StatusOr<ckks::Ciphertext> CarefulNorm(const Instance& matching, const ckks::Ciphertext& u,
                                             const ckks::EvaluationKeys& keys) {
  const ckks::Context& context = *matching.context;
  const FusionPlan::Normalisation& plan = matching.plan.normalisation;
  ckks::Ciphertext norm = u;
  norm.noise.message = std::sqrt(plan.interval_hi / matching.plan.gamma);
  HEFT_RETURN_IF_ERROR(ckks::Square(context, &norm, norm));
  HEFT_RETURN_IF_ERROR(ckks::Relinearise(context, &norm, norm, keys));
  for (const std::vector<uint32_t>& fold : plan.folds) {
    const bool last = &fold == &plan.folds.back();
    HEFT_RETURN_IF_ERROR(last ? ckks::SumGaloisAndRescale(context, &norm, norm, fold, keys)
                              : ckks::SumGalois(context, &norm, norm, fold, keys));
  }
  norm.noise.message = plan.interval_hi;
  norm.noise.error *= kKeyMargin;
  return norm;
}

constexpr char kManyVectors[] = "the norm is not the same in all slots: many vectors in one";
constexpr char kNoFactor[] = "the norm's secret factor is missing: no proof";
absl::Status Refused(const char* reason) { return absl::FailedPreconditionError(reason); }

bool InRange(double sigma) {
  return sigma >= kLeastNormFactor - kMultiplesAgree &&
         sigma <= kLargestNormFactor + kMultiplesAgree;
}

// The result of all slots together: the sum, and sigma from the part with alternating sign.
struct Reading {
  ckks::Complex mean = 0;
  double sigma = 0;
};
absl::StatusOr<Reading> ReadMeans(std::span<const ckks::Complex> slots) {
  const double count = static_cast<double>(slots.size());
  Reading out;
  ckks::Complex alternating = 0;
  for (size_t j = 0; j < slots.size(); ++j) {
    out.mean += slots[j] / count;
    alternating += (j % 2 == 0 ? slots[j] : -slots[j]) / count;
  }
  out.sigma = alternating.imag();
  // An honest norm has no alternating share: a hostile one could change the value of sigma that is
  // read.
  if (!(std::abs(alternating.real()) <= kMultiplesAgree)) return Refused(kManyVectors);
  if (!InRange(out.sigma)) return Refused(kNoFactor);
  return out;
}

// The norm from both `multiples`, without the share of `sigma`.
absl::StatusOr<double> NormOf(ckks::Complex multiples, double sigma, double agree) {
  const double first = multiples.real() / (1 - sigma * sigma);
  const double second = multiples.imag() / (2 * sigma);
  if (!(std::abs(first - second) <= agree * std::sqrt(std::max(1.0, first)))) {
    return Refused("the norm is not the same under two factors: it wraps around");
  }
  return first;
}

}  // namespace

double NormTolerance(ProofOf of, uint32_t gamma) {
  if (of == ProofOf::kProbe) return kMultiplesAgree;
  if (of == ProofOf::kBatchSlot) return kSlotsAgree;
  // More dimensions have fewer copies in the slots, over which errors average: 2.6e-4 |z| rms at
  // 1,024 dimensions.
  constexpr double kOfManyDimensions = 9e-4, kWellAveraged = 256;
  return std::max(kMultiplesAgree, kOfManyDimensions * std::sqrt(gamma / kWellAveraged));
}

double NormProofScale(const ckks::Params& params, const FusionPlan& plan) {
  return plan.matching.probe_scale * plan.matching.probe_scale /
         params.LevelModulus(MatchLimbs(params));
}

double NormProofRange(const ckks::Params& params, const FusionPlan& plan) {
  return params.LevelModulus(ScoreLimbs(params)) / NormProofScale(params, plan);
}

absl::StatusOr<ckks::Ciphertext> ProveNorm(const Instance& matching, const ckks::Ciphertext& u,
                                           double sigma, const ckks::EvaluationKeys& keys) {
  const ckks::Context& context = *matching.context;
  const FusionPlan::Normalisation& plan = matching.plan.normalisation;
  ckks::Ciphertext norm;
  if (ProvesCarefully(matching.plan)) {
    HEFT_ASSIGN_OR_RETURN(norm, CarefulNorm(matching, u, keys));
  } else {
    HEFT_ASSIGN_OR_RETURN(norm, SquaredNorm(context, u, plan.interval_hi, plan.folds, keys));
  }
  HEFT_RETURN_IF_ERROR(AddFactor(context, sigma, &norm));
  return norm;
}

absl::StatusOr<ckks::Ciphertext> ProveTemplateNorm(const Instance& matching,
                                                   const ckks::Ciphertext& z,
                                                   const ckks::EvaluationKeys& keys,
                                                   std::optional<double> sigma) {
  if (!sigma) {
    Csprng rng;
    sigma = DrawNormFactor(rng);
  }
  HEFT_ASSIGN_OR_RETURN(const Blinded u, Blind(*matching.context, matching.plan, z, *sigma));
  return ProveNorm(matching, u.u, u.sigma, keys);
}

absl::StatusOr<BatchNorms> ProveBatchNorms(const Rings& rings,
                                           std::span<const ckks::Ciphertext> coordinates,
                                           const ckks::EvaluationKeys& keys) {
  const ckks::Context& context = *rings.enrolment.context;
  const FusionPlan& plan = rings.matching.plan;
  Csprng rng;
  const double drawn = DrawNormFactor(rng);
  std::vector<ckks::Ciphertext> u(coordinates.size());
  BatchNorms out;
  HEFT_RETURN_IF_ERROR(TryParallelFor(u.size(), [&](size_t r) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(Blinded blinded, Blind(context, plan, coordinates[r], drawn));
    u[r] = std::move(blinded.u);
    if (r == 0) out.sigma = blinded.sigma;  // the same for all, as their scales are
    return absl::OkStatus();
  }));
  HEFT_ASSIGN_OR_RETURN(out.norms, ckks::InnerProduct(context, u, u));
  HEFT_RETURN_IF_ERROR(ckks::RelineariseAndRescale(context, &out.norms, out.norms, keys));
  return out;
}

ckks::Ciphertext TurnedNorm(const ckks::Context& context, const ckks::Ciphertext& norm) {
  ckks::Ciphertext out;
  ckks::MultiplyByMonomial(context, &out, norm);
  return out;
}

absl::StatusOr<ckks::Ciphertext> RealPart(const Instance& matching, const ckks::Ciphertext& z,
                                          const ckks::EvaluationKeys& keys) {
  const uint32_t elements[] = {1, ckks::ConjugationElement(matching.params())};
  ckks::Ciphertext out;
  HEFT_RETURN_IF_ERROR(ckks::SumGalois(*matching.context, &out, z, elements, keys));
  out.scale *= 2;
  out.noise.message = z.noise.message;
  return out;
}

absl::StatusOr<double> ReadNorm(std::span<const ckks::Complex> slots, ProofOf of, uint32_t gamma) {
  HEFT_ASSIGN_OR_RETURN(const Reading all, ReadMeans(slots));
  for (size_t j = 0; j < slots.size(); ++j) {
    const double imaginary = all.mean.imag() + (j % 2 == 0 ? all.sigma : -all.sigma);
    if (!(std::abs(slots[j].real() - all.mean.real()) <= kSlotsAgree) ||
        !(std::abs(slots[j].imag() - imaginary) <= kSlotsAgree)) {
      return Refused(kManyVectors);
    }
  }
  return NormOf(all.mean, all.sigma, NormTolerance(of, gamma));
}

absl::StatusOr<double> ReadNormOf(ckks::Complex slot, double sigma) {
  if (!InRange(sigma)) return Refused(kNoFactor);
  return NormOf(slot, sigma, NormTolerance(ProofOf::kBatchSlot, 0));
}

}  // namespace heft
