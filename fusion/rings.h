// SPDX-License-Identifier: Apache-2.0
// Rings: where a model's samples are enrolled, and where its probes are matched: one ring for both,
// or two (docs/design.md, "Two rings"). Enrolment normalises under encryption and needs the large
// ring. Vectors that repeat every gamma slots also fit into the ring of half the degree. There
// probes, templates in blocks and scores take half the bytes and less than half the work.
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

// Rings: created once for a model; client, server and key owner derive the same.
struct Rings {
  Instance enrolment;  // for samples to enrol or verify
  Instance matching;   // for gallery, scores and thin probes; one ring: the same as `enrolment`
  // Two rings: the matching ring's primes in the enrolment ring's degree; nullptr for one ring.
  std::shared_ptr<const ckks::Context> switching;

  bool thin() const { return switching != nullptr; }
};

// kInvalidArgument if the model does not fit its profile.
absl::StatusOr<Rings> MakeRings(const Model& model);

// NormInterval: the permitted squared norms of a probe. One ring: up to a template's, because
// probes are normalised like templates. Two rings: from the lower limit of the promised error to
// the limit of the base prime, because probes are normalised exactly.
Interval NormInterval(const Rings& rings, const Model& model);
// TemplateNormInterval: the permitted squared norms of templates: 1, up to the deviation of the
// approximation, and a tenth of the length below it.
Interval TemplateNormInterval(const Model& model);
// ScoreBound: the largest absolute value of a score of a valid probe and template.
double ScoreBound(const Rings& rings, const Model& model);

// RingKeys: a server's keys. `enrolment` and `ring_switch` are empty for one ring, whose keys are
// in `matching`, and for a server with two rings that only identifies.
struct RingKeys {
  RingKeys() = default;
  RingKeys(ckks::EvaluationKeys one) : matching(std::move(one)) {}  // NOLINT: of one ring

  ckks::EvaluationKeys matching;
  ckks::EvaluationKeys enrolment;
  ckks::SwitchKey ring_switch;
};

// ToMatchingRing: turns the result of fusion in the enrolment ring, or of a projection, into
// TemplateLimbs limbs for AddToBlock and PrepareMaskedProbe. One ring: `z` itself, cut.
absl::StatusOr<ckks::Ciphertext> ToMatchingRing(const Rings& rings,
                                                const ckks::SwitchKey& ring_switch,
                                                const ckks::Ciphertext& z);

// ToProbe: turns a vector of the matching ring, with TemplateLimbs limbs at any scale near a
// template's, into an input of PrepareProbe: the mask's prime changes its scale to a probe's.
absl::StatusOr<ckks::Ciphertext> ToProbe(const Instance& matching, const ckks::Ciphertext& z);

}  // namespace heft

#endif  // HEFT_FUSION_RINGS_H_
