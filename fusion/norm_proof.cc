// SPDX-License-Identifier: Apache-2.0
#include "fusion/norm_proof.h"

#include <algorithm>
#include <cmath>

#include "ckks/arithmetic.h"
#include "ckks/key_switch.h"
#include "fusion/normalise.h"

namespace heft {
namespace {

// Slots of an honest proof differ by their errors, some 3e-4 each, rms (measured).
constexpr double kSlotsAgree = 0.02;
// Both multiples, divided by their factors, differ by 2 <z, e> for an error e of u's coordinates:
// some 1.6e-4 |z|, rms (NormProofTest.BothMultiplesAgree). What a hostile probe has of it is in
// SECURITY.md, "What a reply proves".
constexpr double kMultiplesAgree = 1.5e-3;

// z times `times`, at probe_scale: the mask's prime is divided away. Returns the factor that it is
// after rounding, too.
struct Multiple {
  ckks::Ciphertext z;
  double times = 0;
};
absl::StatusOr<Multiple> MultipleOf(const Instance& matching, const ckks::Ciphertext& z,
                                    double times) {
  const double unit = MaskScale(matching.plan, z.scale, matching.plan.matching.probe_scale);
  const int64_t factor = std::llround(unit * times);
  Multiple out;
  ckks::MultiplyInteger(*matching.context, &out.z, z, factor);
  out.z.noise.message = z.noise.message;
  out.z.scale *= static_cast<double>(factor);
  HEFT_RETURN_IF_ERROR(ckks::Rescale(*matching.context, &out.z, out.z));
  out.z.scale = matching.plan.matching.probe_scale;
  out.times = static_cast<double>(factor) / unit;
  return out;
}

// Adds i sigma (-1)^j to slot j: sigma X^(n/2).
absl::Status AddFactor(const Instance& matching, double sigma, ckks::Ciphertext* norm) {
  const ckks::Context& context = *matching.context;
  ckks::MultiplyByMonomial(context, norm, *norm);
  HEFT_RETURN_IF_ERROR(ckks::AddConstant(context, norm, *norm, -sigma));
  for (int i = 0; i < 3; ++i) ckks::MultiplyByMonomial(context, norm, *norm);  // X^(2n) = 1
  return absl::OkStatus();
}

constexpr char kManyVectors[] =
    "the probe's norm is not the same in all slots: many vectors in one";

absl::Status Refused(const char* reason) { return absl::FailedPreconditionError(reason); }

}  // namespace

double DrawNormFactor(Csprng& rng) {
  return kLeastNormFactor + (kLargestNormFactor - kLeastNormFactor) * (rng.U32() * 0x1p-32);
}

double NormProofScale(const ckks::Params& params, const FusionPlan& plan) {
  return plan.matching.probe_scale * plan.matching.probe_scale / params.modulus(1).value();
}

double NormProofRange(const ckks::Params& params, const FusionPlan& plan) {
  return params.modulus(0).value() / NormProofScale(params, plan);
}

absl::StatusOr<ckks::Ciphertext> ProveNorm(const Instance& matching, const ckks::Ciphertext& u,
                                           double sigma, const ckks::EvaluationKeys& keys) {
  HEFT_ASSIGN_OR_RETURN(ckks::Ciphertext norm,
                        SquaredNorm(*matching.context, u, matching.plan.normalisation.interval_hi,
                                    matching.plan.normalisation.folds, keys));
  HEFT_RETURN_IF_ERROR(AddFactor(matching, sigma, &norm));
  return norm;
}

absl::StatusOr<ckks::Ciphertext> ProveTemplateNorm(const Instance& matching,
                                                   const ckks::Ciphertext& z,
                                                   const ckks::EvaluationKeys& keys) {
  Csprng rng;
  HEFT_ASSIGN_OR_RETURN(Multiple real, MultipleOf(matching, z, 1));
  HEFT_ASSIGN_OR_RETURN(Multiple imaginary,
                        MultipleOf(matching, z, DrawNormFactor(rng) / std::sqrt(2.0)));
  const ckks::Context& context = *matching.context;
  ckks::MultiplyByRootOfMinusTwo(context, &imaginary.z, imaginary.z);
  ckks::Ciphertext u;
  HEFT_RETURN_IF_ERROR(ckks::Add(context, &u, real.z, imaginary.z));
  return ProveNorm(matching, u, std::sqrt(2.0) * imaginary.times / real.times, keys);
}

absl::StatusOr<ckks::Ciphertext> PlainNorm(const Instance& probes, const ckks::Ciphertext& z,
                                           const ckks::EvaluationKeys& keys) {
  return SquaredNorm(*probes.context, z, probes.plan.normalisation.interval_hi,
                     probes.plan.normalisation.folds, keys);
}

absl::StatusOr<double> ReadPlainNorm(std::span<const ckks::Complex> slots) {
  double mean = 0;
  for (const ckks::Complex& slot : slots) mean += slot.real() / static_cast<double>(slots.size());
  for (const ckks::Complex& slot : slots) {
    if (!(std::abs(slot.real() - mean) <= kSlotsAgree)) return Refused(kManyVectors);
  }
  return mean;
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

absl::StatusOr<double> ReadNorm(std::span<const ckks::Complex> slots) {
  const double count = static_cast<double>(slots.size());
  ckks::Complex mean = 0, alternating = 0;
  for (size_t j = 0; j < slots.size(); ++j) {
    mean += slots[j] / count;
    alternating += (j % 2 == 0 ? slots[j] : -slots[j]) / count;
  }
  const double sigma = alternating.imag();
  for (size_t j = 0; j < slots.size(); ++j) {
    const double imaginary = mean.imag() + (j % 2 == 0 ? sigma : -sigma);
    if (!(std::abs(slots[j].real() - mean.real()) <= kSlotsAgree) ||
        !(std::abs(slots[j].imag() - imaginary) <= kSlotsAgree)) {
      return Refused(kManyVectors);
    }
  }
  constexpr double kSlack = kMultiplesAgree;
  if (!(sigma >= kLeastNormFactor - kSlack && sigma <= kLargestNormFactor + kSlack)) {
    return Refused("the norm's secret factor is missing: not a proof of the probe's norm");
  }
  const double first = mean.real() / (1 - sigma * sigma);
  const double second = mean.imag() / (2 * sigma);
  const double length = std::sqrt(std::max(1.0, first));
  // The sign's share of an honest norm is none: somebody else's could change what sigma is read as.
  if (!(std::abs(alternating.real()) <= kMultiplesAgree) ||
      !(std::abs(first - second) <= kMultiplesAgree * length)) {
    return Refused("the probe's norm is not the same under two factors: it wraps around");
  }
  return first;
}

}  // namespace heft
