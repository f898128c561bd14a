// SPDX-License-Identifier: Apache-2.0
#include "paper/methods/engine.h"

namespace heft::paper {

using ckks::Ciphertext;

absl::StatusOr<std::vector<std::vector<Ciphertext>>> PaperEngine::EncryptBatch(
    const std::vector<FeatureMatrix>& modalities, size_t first, size_t count) const {
  std::vector<std::vector<Ciphertext>> batch;
  for (size_t m = 0; m < modalities.size(); ++m) {
    std::vector<std::vector<double>> rows;
    for (size_t i = first; i < first + count; ++i) {
      rows.emplace_back(modalities[m].row(i).begin(), modalities[m].row(i).end());
    }
    HEFT_ASSIGN_OR_RETURN(const std::vector<ckks::Plaintext> plain,
                          EncodeForProjection(world->encoder(), plan().projection, model, m, rows));
    batch.push_back(world->Encrypt(plain));
  }
  return batch;
}

absl::StatusOr<std::unique_ptr<PaperEngine>> MakePaperEngine(const Model& model,
                                                             const NormalisationSpec& normalisation,
                                                             ProjectionMethod projection) {
  const auto make = [&](const Profile& profile, const ckks::Params& params) {
    return PlanPaperRoute(params, profile.scale, model, {projection, normalisation});
  };
  HEFT_ASSIGN_OR_RETURN(const auto planned, PlanForSmallestProfile<PaperRoutePlan>(make));
  auto engine = std::make_unique<PaperEngine>();
  engine->model = model;
  HEFT_ASSIGN_OR_RETURN(engine->world, experiment::KeyedContext::Create(planned.profile.spec));
  const experiment::KeyedContext& world = *engine->world;
  engine->world->MakeKeys(planned.plan.keys);
  HEFT_ASSIGN_OR_RETURN(engine->route,
                        PaperRoute::Create(world.shared_context(), world.encoder(), planned.plan,
                                           engine->model, &world.keys()));
  return engine;
}

}  // namespace heft::paper
