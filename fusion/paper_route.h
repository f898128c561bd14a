// SPDX-License-Identifier: Apache-2.0
// The paper's pipeline with its stages selectable: projection method x normalisation x packed
// gallery, one plan and one set of keys. Stages are those of the paper's tables 1 and 3.
#ifndef HEFT_FUSION_PAPER_ROUTE_H_
#define HEFT_FUSION_PAPER_ROUTE_H_

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "fusion/normalisation_methods.h"
#include "fusion/packed_gallery.h"
#include "fusion/projection_methods.h"

namespace heft {

struct PaperRouteSpec {
  ProjectionMethod projection = ProjectionMethod::kHybrid;  // dense or SIMD
  NormalisationSpec normalisation;
};

struct PaperRoutePlan {
  ProjectionPlan projection;
  NormalisationPlan normalisation;
  std::optional<PackedPlan> packing;  // dense methods
  KeyNeeds keys;                      // of all stages
  // Limbs of fresh ciphertexts: no more than the stages need, as fewer limbs are faster.
  size_t input_limbs() const { return projection.input_limbs; }
};

// `scale` of fresh ciphertexts and templates, the profile's. kInvalidArgument where the parameters
// have too few levels.
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
  // Dense methods only.
  const PackedMatcher& matcher() const { return *matcher_; }

  // Concatenation, projection and normalisation of one batch: one ciphertext, or gamma (SIMD).
  struct Fused {
    std::vector<ckks::Ciphertext> z;
    ckks::Ciphertext squared_norm;
  };
  absl::StatusOr<Fused> Fuse(std::span<const std::vector<ckks::Ciphertext>> modalities) const;

 private:
  PaperRoute(Projector projector, Normaliser normaliser)
      : projector_(std::move(projector)), normaliser_(std::move(normaliser)) {}
  PaperRoutePlan plan_;
  Projector projector_;
  Normaliser normaliser_;
  std::optional<PackedMatcher> matcher_;
};

}  // namespace heft

#endif  // HEFT_FUSION_PAPER_ROUTE_H_
