// SPDX-License-Identifier: Apache-2.0
#include "fusion/rings.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ckks/arithmetic.h"
#include "fusion/errors.h"
#include "fusion/probe_scale.h"
#include "fusion/profile.h"

namespace heft {

absl::StatusOr<Rings> MakeRings(const Model& model) {
  Rings rings;
  HEFT_ASSIGN_OR_RETURN(const Profile profile, FindProfile(model.profile));
  HEFT_ASSIGN_OR_RETURN(rings.enrolment, MakeInstance(model));
  if (!profile.thin()) {
    rings.matching = rings.enrolment;
    return rings;
  }
  HEFT_ASSIGN_OR_RETURN(const ckks::Params large, SwitchingParams(rings.enrolment.params()));
  HEFT_ASSIGN_OR_RETURN(const ckks::Params small, MatchingParams(rings.enrolment.params()));
  rings.switching = std::make_shared<ckks::Context>(large);
  HEFT_ASSIGN_OR_RETURN(rings.matching.plan, PlanMatching(small, profile, model));
  const FusionPlan& enrolment = rings.enrolment.plan;
  FusionPlan::Matching& matching = rings.matching.plan.matching;
  matching.template_error = SwitchedError(large, enrolment, enrolment.matching.template_error);
  matching.claim_error = SwitchedError(large, enrolment, enrolment.projection.z_error);
  rings.matching.context = std::make_shared<ckks::Context>(small);
  rings.matching.encoder = std::make_shared<ckks::Encoder>(rings.matching.context);
  return rings;
}

Interval NormInterval(const Rings& rings, const Model& model) {
  // A probe that is too short, for example without a modality, scores less than it should.
  constexpr double kShortest = 0.01;
  if (!rings.thin()) return {kShortest, TemplateNormInterval(model).hi};
  // A score's error grows as 1 / |z|.
  constexpr double kShorter = 8;
  return {model.approximation.interval.lo / kShorter,
          ThinNormRoom(rings.matching.params(), rings.matching.plan.matching.probe_scale)};
}

Interval TemplateNormInterval(const Model& model) {
  // A polynomial's deviation from 1, and errors, far above the promised ones.
  constexpr double kError = 0.01, kRoom = 0.3;
  const double off = std::min(model.approximation.MaxRelativeError() + kError, kRoom);
  // A shorter template scores less with everybody: it may hide a person, but it cannot match
  // another one. So honest samples at the edge of the approximation's fit are accepted.
  constexpr double kShorter = 0.1;
  const double shortest = 1 - std::max(off, kShorter);
  return {shortest * shortest, (1 + off) * (1 + off)};
}

double ScoreBound(const Rings& rings, const Model& model) {
  constexpr double kError = 0.01;
  const double longest = TemplateNormInterval(model).hi;
  return (rings.thin() ? std::sqrt(longest) : longest) + kError;
}

absl::StatusOr<ckks::Ciphertext> ToMatchingRing(const Rings& rings,
                                                const ckks::SwitchKey& ring_switch,
                                                const ckks::Ciphertext& z) {
  ckks::Ciphertext cut;
  HEFT_RETURN_IF_ERROR(
      ckks::DropLimbs(*rings.enrolment.context, &cut, z, TemplateLimbs(rings.enrolment.params())));
  if (!rings.thin()) return cut;
  return ckks::SwitchRing(*rings.switching, *rings.matching.context, cut, ring_switch);
}

absl::StatusOr<ckks::Ciphertext> ToProbe(const Instance& matching, const ckks::Ciphertext& z) {
  const double factor = MaskScale(matching.plan, z.scale, matching.plan.matching.probe_scale);
  return ToProbeScale(*matching.context, matching.plan, z, std::llround(factor));
}

}  // namespace heft
