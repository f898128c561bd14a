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
#include <string>
#include <utility>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "experiment/roles.h"
#include "features/matrix.h"
#include "fusion/profile.h"
#include "heft/model.h"
#include "paper/methods/normalisation.h"
#include "paper/methods/packed_gallery.h"
#include "paper/methods/projection.h"

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

  // Fuse: concatenation, projection and normalisation of one batch.
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

// Planned: a plan and the profile that it is for.
template <typename Plan>
struct Planned {
  Profile profile;
  Plan plan;
};

// PlanForSmallestProfile: the first plan that `make`(profile, params) gives for the profiles
// "paper", "deep" and "deepest"; the last one's error where none has the levels.
template <typename Plan, typename Make>
absl::StatusOr<Planned<Plan>> PlanForSmallestProfile(const Make& make) {
  absl::Status last;
  for (const char* name : {"paper", "deep", "deepest"}) {
    HEFT_ASSIGN_OR_RETURN(const Profile profile, FindProfile(name));
    HEFT_ASSIGN_OR_RETURN(const ckks::Params params, ckks::Params::Create(profile.spec));
    absl::StatusOr<Plan> plan = make(profile, params);
    if (plan.ok()) return Planned<Plan>{profile, *std::move(plan)};
    last = plan.status();
  }
  return last;
}

// PaperEngine: the route under encryption, all roles in one process; for a model and a
// normalisation, under the smallest profile that has the levels.
struct PaperEngine {
  std::unique_ptr<experiment::KeyedContext> world;
  Model model;
  std::optional<PaperRoute> route;

  const PaperRoutePlan& plan() const { return route->plan(); }
  // EncryptBatch: ciphertexts of samples first, first + 1, ... (at most `count`, as many as a batch
  // takes), a list a modality; one sample fills all windows. `modalities`: n rows each, scaled to
  // unit length here.
  absl::StatusOr<std::vector<std::vector<ckks::Ciphertext>>> EncryptBatch(
      const std::vector<FeatureMatrix>& modalities, size_t first, size_t count) const;
};
absl::StatusOr<std::unique_ptr<PaperEngine>> MakePaperEngine(
    const Model& model, const NormalisationSpec& normalisation,
    ProjectionMethod projection = ProjectionMethod::kHybrid);

// Scores of all pairs of samples by the paper's route.

// PaperScores: n x n, computed under encryption (deferred normalisation: inner products, and the
// squared norms on the diagonal).
struct PaperScores {
  FeatureMatrix scores;
  double predicted_error = 0;  // the noise estimator's bound for one score
  std::string parameters, security;
};

// ScoreByPaperRoute fuses in the paper's dense encoding, packs, and multiplies every packed
// ciphertext with the rotations of every other, so that each pair of templates meets in some
// product. kCancelled when the monitor says so.
absl::StatusOr<PaperScores> ScoreByPaperRoute(const Monitor& monitor, const std::string& name,
                                              const Model& model,
                                              const NormalisationSpec& normalisation,
                                              const std::vector<FeatureMatrix>& modalities);

}  // namespace heft::paper

#endif  // HEFT_PAPER_METHODS_ROUTE_H_
