// SPDX-License-Identifier: Apache-2.0
#include "experiment/fusion_check.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "experiment/reports.h"

namespace heft::experiment {
namespace {

// The warning of fusion in a model's training summary, empty if there is none.
std::string TrainingWarning(const Model& model) {
  const Json summary = Json::Parse(model.training_summary).value_or(Json());
  const Json* fusion = summary.find("fusion");
  const Json* warning = fusion == nullptr ? nullptr : fusion->find("warning");
  return warning == nullptr ? "" : warning->get<std::string>();
}

}  // namespace

FusionCheck CheckFusion(std::span<const Rival> rows, std::span<const Model> models) {
  FusionCheck check;
  for (const Model& model : models) {
    const std::string warning = TrainingWarning(model);
    if (!warning.empty() && std::ranges::count(check.trained, warning) == 0) {
      check.trained.push_back(warning);
    }
  }
  if (models.empty() || models[0].modalities.size() < 2) return check;
  const Rival* best = nullptr;
  const Rival* sum = nullptr;
  for (const Rival& rival : rows) {
    const std::string& id = rival.row.system.id;
    if (id == "score_sum") sum = &rival;
    const auto& modalities = models[0].modalities;
    if (std::ranges::count(modalities, id, &ModalitySpec::name) == 0) continue;
    if (best == nullptr || rival.row.estimate.auroc.value > best->row.estimate.auroc.value) {
      best = &rival;
    }
  }
  if (best != nullptr) check.rivals.push_back(*best);
  if (sum != nullptr) check.rivals.push_back(*sum);
  return check;
}

std::vector<std::string> FusionCheck::Losses() const {
  std::vector<std::string> losses;
  for (const Rival& rival : rivals) {
    if (rival.fused_minus.hi >= 0) continue;
    losses.push_back(absl::StrFormat(
        "fusion loses to \"%s\": AUROC %+.4f [%+.4f, %+.4f] on people who took no part; train with "
        "a larger --gamma, or use that instead",
        rival.row.system.label, rival.fused_minus.value, rival.fused_minus.lo,
        rival.fused_minus.hi));
  }
  for (const std::string& warning : trained) losses.push_back("training: " + warning);
  return losses;
}

Json FusionJson(const FusionCheck& check) {
  Json rivals = Json::array();
  for (const Rival& rival : check.rivals) {
    rivals.push_back({{"id", rival.row.system.id},
                      {"label", rival.row.system.label},
                      {"fused_minus_this", EstimateJson(rival.fused_minus)},
                      {"loses", rival.fused_minus.hi < 0}});
  }
  return {{"rivals", rivals}, {"training_warnings", check.trained}, {"losses", check.Losses()}};
}

}  // namespace heft::experiment
