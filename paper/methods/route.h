// SPDX-License-Identifier: Apache-2.0
// The paper's pipeline with its stages selectable: a projection method, a normalisation and the
// matching that belongs to the encoding, under one plan and one set of keys. Stages are those of
// the paper's tables 1 and 3. The compact encoding goes the same way to diagonal blocks
// (fusion/matching.h).
#ifndef HEFT_PAPER_METHODS_ROUTE_H_
#define HEFT_PAPER_METHODS_ROUTE_H_

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "paper/methods/normaliser.h"
#include "paper/methods/packed_gallery.h"
#include "paper/methods/projector.h"

namespace heft::paper {

struct PaperRouteSpec {
  ProjectionMethod projection = ProjectionMethod::kHybrid;
  NormalisationSpec normalisation;
};

struct PaperRoutePlan {
  ProjectionPlan projection;
  NormalisationPlan normalisation;
  std::optional<PackedPlan> packing;  // dense methods
  double template_scale = 0;
  KeyNeeds keys;  // of all stages
  // Limbs of fresh ciphertexts: no more than the stages need, as fewer are faster.
  size_t input_limbs() const { return projection.input_limbs; }
  // Limbs of templates: what matching needs, 2 (SIMD) or one more for a mask.
  size_t template_limbs() const { return normalisation.output_limbs; }
};

// PlanPaperRoute: `scale` is that of fresh ciphertexts, the profile's. Templates stand at the
// largest scale up to it at which scores fit the base prime. kInvalidArgument where the parameters
// have too few levels: it says how many are needed.
absl::StatusOr<PaperRoutePlan> PlanPaperRoute(const ckks::Params& params, double scale,
                                              const Model& model, const PaperRouteSpec& spec);

class PaperRoute {
 public:
  // `keys` must outlive the route.
  static absl::StatusOr<PaperRoute> Create(std::shared_ptr<const ckks::Context> context,
                                           const ckks::Encoder& encoder, const PaperRoutePlan& plan,
                                           const Model& model, const ckks::EvaluationKeys* keys);

  const PaperRoutePlan& plan() const { return plan_; }
  const Projector& projector() const { return projector_; }
  const Normaliser& normaliser() const { return normaliser_; }
  // Dense methods only: the packed gallery.
  const PackedMatcher& matcher() const { return *matcher_; }
  // Compact only: what AddToBlock, PrepareProbe and MatchBlock take.
  const Instance& instance() const { return *instance_; }

  // Fuse: concatenation, projection and normalisation of one batch: one ciphertext, or gamma
  // (SIMD).
  struct Fused {
    std::vector<ckks::Ciphertext> z;
    ckks::Ciphertext squared_norm;
  };
  absl::StatusOr<Fused> Fuse(std::span<const std::vector<ckks::Ciphertext>> modalities) const;
  // Normalise: Project's results.
  absl::StatusOr<Fused> Normalise(std::span<const ckks::Ciphertext> projected) const;

 private:
  PaperRoute(Projector projector, Normaliser normaliser)
      : projector_(std::move(projector)), normaliser_(std::move(normaliser)) {}
  PaperRoutePlan plan_;
  Projector projector_;
  Normaliser normaliser_;
  std::optional<PackedMatcher> matcher_;
  std::optional<Instance> instance_;
};

}  // namespace heft::paper

#endif  // HEFT_PAPER_METHODS_ROUTE_H_
