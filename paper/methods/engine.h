// SPDX-License-Identifier: Apache-2.0
// PaperEngine: the paper's route under encryption, all roles in one process.
#ifndef HEFT_PAPER_METHODS_ENGINE_H_
#define HEFT_PAPER_METHODS_ENGINE_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "experiment/roles.h"
#include "features/matrix.h"
#include "fusion/profile.h"
#include "heft/model.h"
#include "paper/methods/route.h"

namespace heft::paper {

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

// PaperEngine: for a model and a normalisation, under the smallest profile that has the levels.
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

}  // namespace heft::paper

#endif  // HEFT_PAPER_METHODS_ENGINE_H_
