// SPDX-License-Identifier: Apache-2.0
#include "experiment/fusion_check.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
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

double Fnmr(const FoldRow& row) { return 1 - row.estimate.tmr_1e3.value; }

// What to do where fusion loses to this rival.
std::string Remedy(const std::string& id) {
  if (id == "concatenation") {
    return "Use --method none, which is the concatenation, or a larger --gamma";
  }
  if (id == "score_sum") return "Use a larger --gamma, or --method none";
  return absl::StrCat("Use ", id, " alone, or a larger --gamma");
}

}  // namespace

FusionCheck CheckFusion(const FoldRow& fused, std::span<const Rival> rows,
                        std::span<const Model> models) {
  FusionCheck check;
  check.fused_fnmr = Fnmr(fused);
  for (const Model& model : models) {
    const std::string warning = TrainingWarning(model);
    if (!warning.empty() && std::ranges::count(check.trained, warning) == 0) {
      check.trained.push_back(warning);
    }
  }
  if (models.empty() || models[0].modalities.size() < 2) return check;
  const Rival* best = nullptr;
  std::vector<const Rival*> others;
  for (const Rival& rival : rows) {
    const std::string& id = rival.row.system.id;
    if (id == "concatenation" || id == "score_sum") others.push_back(&rival);
    const auto& modalities = models[0].modalities;
    if (std::ranges::count(modalities, id, &ModalitySpec::name) == 0) continue;
    if (best == nullptr || Fnmr(rival.row) < Fnmr(best->row)) best = &rival;
  }
  if (best != nullptr) check.rivals.push_back(*best);
  for (const Rival* other : others) check.rivals.push_back(*other);
  return check;
}

std::vector<std::string> FusionCheck::Losses() const {
  std::vector<std::string> losses;
  for (const Rival& rival : rivals) {
    const Estimate& minus = rival.fnmr_minus;
    if (!Worse(minus)) continue;
    losses.push_back(absl::StrFormat(
        "%s \"%s\" on people who were not used for training: FNMR at FMR 1e-3 is %.4f against %.4f "
        "(%+.4f [%+.4f, %+.4f])%s. %s",
        SurelyWorse(minus) ? "FUSION IS WORSE than" : "fusion loses to", rival.row.system.label,
        fused_fnmr, Fnmr(rival.row), minus.value, minus.lo, minus.hi,
        SurelyWorse(minus) ? "" : ", which may be chance", Remedy(rival.row.system.id)));
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
                      {"fnmr_1e3", Fnmr(rival.row)},
                      {"fused_fnmr_1e3_minus_this", EstimateJson(rival.fnmr_minus)},
                      {"loses", Worse(rival.fnmr_minus)},
                      {"significant", SurelyWorse(rival.fnmr_minus)}});
  }
  return {{"fnmr_1e3", check.fused_fnmr},
          {"rivals", rivals},
          {"training_warnings", check.trained},
          {"losses", check.Losses()}};
}

}  // namespace heft::experiment
