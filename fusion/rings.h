// SPDX-License-Identifier: Apache-2.0
// Rings: where a model's samples are enrolled, and where its probes are matched: one ring for both,
// or two (docs/design.md, "Two rings"). Enrolment normalises under encryption and needs the large
// one; what repeats every gamma slots lies in the ring of half the degree too, where probes,
// templates in blocks and scores take half the bytes and less than half the work.
#ifndef HEFT_FUSION_RINGS_H_
#define HEFT_FUSION_RINGS_H_

#include <memory>
#include <utility>

#include "base/status.h"
#include "ckks/keys.h"
#include "ckks/ring_switch.h"
#include "fusion/normalise.h"
#include "fusion/plan.h"
#include "heft/model.h"

namespace heft {

// Rings: made once for a model; client, server and key owner derive the same.
struct Rings {
  Instance enrolment;  // of samples to enrol or verify
  Instance matching;   // of gallery, scores and thin probes; one ring: the same as `enrolment`
  // Two rings: the matching ring's primes in the enrolment ring's degree; nullptr for one.
  std::shared_ptr<const ckks::Context> switching;

  bool thin() const { return switching != nullptr; }
};

// kInvalidArgument where the model does not fit its profile.
absl::StatusOr<Rings> MakeRings(const Model& model);

// NormInterval: of squared norms that a probe may have. One ring: up to a template's, since probes
// are normalised as templates are. Two: from what the promised error allows to what fits the base
// prime, since probes are normalised exactly.
Interval NormInterval(const Rings& rings, const Model& model);
// TemplateNormInterval: of squared norms of templates: 1, but for what the approximation leaves, and
// a tenth of the length below it.
Interval TemplateNormInterval(const Model& model);
// ScoreBound: no score of a sound probe and template is larger, in absolute value.
double ScoreBound(const Rings& rings, const Model& model);

// RingKeys: a server's keys. `enrolment` and `ring_switch` are empty where there is one ring, whose
// keys are `matching`'s, and at a server of two that only identifies.
struct RingKeys {
  RingKeys() = default;
  RingKeys(ckks::EvaluationKeys one) : matching(std::move(one)) {}  // NOLINT: of one ring

  ckks::EvaluationKeys matching;
  ckks::EvaluationKeys enrolment;
  ckks::SwitchKey ring_switch;
};

// ToMatchingRing: what fusion in the enrolment ring ends with, or a projection, as TemplateLimbs
// limbs for AddToBlock and PrepareMaskedProbe. One ring: `z` itself, cut.
absl::StatusOr<ckks::Ciphertext> ToMatchingRing(const Rings& rings,
                                                const ckks::SwitchKey& ring_switch,
                                                const ckks::Ciphertext& z);

// ToProbe: a vector of the matching ring at any scale near a template's, TemplateLimbs limbs, as
// one that PrepareProbe takes: the mask's prime brings it to the scale of a probe.
absl::StatusOr<ckks::Ciphertext> ToProbe(const Instance& matching, const ckks::Ciphertext& z);

}  // namespace heft

#endif  // HEFT_FUSION_RINGS_H_
