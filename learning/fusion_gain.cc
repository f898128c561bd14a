// SPDX-License-Identifier: Apache-2.0
#include "learning/fusion_gain.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "learning/baselines.h"
#include "learning/recipe.h"

namespace heft {
namespace {

bool Loses(const Estimate& minus) { return minus.value < 0; }
bool SurelyLoses(const Estimate& minus) { return minus.hi < 0; }

Json SystemJson(const std::string& name, const VerificationEstimate& e) {
  return {{"name", name},
          {"auroc", EstimateJson(e.auroc)},
          {"eer", EstimateJson(e.eer)},
          {"fnmr_1e2", EstimateJson({1 - e.tmr_1e2.value, 1 - e.tmr_1e2.hi, 1 - e.tmr_1e2.lo})}};
}

// One sentence of a warning: by how much fusion loses to `other`. Errors are 1 - AUROC, of which
// digits are left where fusion and `other` are both good.
std::string LossTo(const std::string& other, const VerificationEstimate& fused,
                   const SystemGain& system) {
  const Estimate& minus = system.fused_minus;
  const std::string by =
      absl::StrFormat("1 - AUROC %.2g against %.2g (%+.2g [%+.2g, %+.2g]), EER %.4f against %.4f",
                      1 - fused.auroc.value, 1 - system.own.auroc.value, -minus.value, -minus.hi,
                      -minus.lo, fused.eer.value, system.own.eer.value);
  if (SurelyLoses(minus)) return absl::StrCat("FUSION IS WORSE than ", other, ": ", by);
  return absl::StrCat("fusion is no better than ", other, ": ", by, ", which may be chance");
}

}  // namespace

Json EstimateJson(const Estimate& e) { return {{"value", e.value}, {"lo", e.lo}, {"hi", e.hi}}; }

std::string FusionGain::Warning() const {
  const SystemGain& alone = modalities[best];
  const bool larger = gamma < recipe::kGammas[std::size(recipe::kGammas) - 1];
  std::string text;
  if (Loses(alone.fused_minus)) {
    text = LossTo(absl::StrCat(alone.name, " alone"), fused, alone);
    absl::StrAppend(&text, ". Use ", modalities.size() > 1 ? alone.name + " alone" : "it as it is",
                    modalities.size() > 2 ? ", leave a weak modality out" : "",
                    larger ? ", or try a larger --gamma" : "");
  }
  if (score_sum && Loses(score_sum->fused_minus)) {
    absl::StrAppend(&text, text.empty() ? "" : ". ",
                    LossTo("the sum of the modalities' scores", fused, *score_sum),
                    larger ? ". A larger --gamma keeps more of what the sum sees" : "");
  }
  return text;
}

Json FusionGain::ToJson() const {
  const SystemGain& alone = modalities[best];
  Json systems = Json::array({SystemJson("fused", fused)});
  for (const SystemGain& system : modalities)
    systems.push_back(SystemJson(system.name, system.own));
  Json json = {{"best_modality", alone.name}, {"minus_best", EstimateJson(alone.fused_minus)}};
  bool surely = SurelyLoses(alone.fused_minus);
  if (score_sum) {
    json["minus_score_sum"] = EstimateJson(score_sum->fused_minus);
    systems.push_back(SystemJson(score_sum->name, score_sum->own));
    surely = surely || SurelyLoses(score_sum->fused_minus);
  }
  json["systems"] = std::move(systems);
  const std::string warning = Warning();
  if (!warning.empty()) {
    json["warning"] = warning;
    json["significant"] = surely;
  }
  return json;
}

absl::StatusOr<FusionGain> MeasureFusionGain(const CrossFit& fit,
                                             const std::vector<LabelledScores>& fused) {
  BootstrapOptions bootstrap;
  bootstrap.replicates = recipe::kReplicates;
  bootstrap.max_pairs = recipe::kReplicatePairs;
  SystemComparison comparison(bootstrap);
  FusionGain gain;
  gain.gamma = static_cast<int>(fit.results[0].projection.rows());
  HEFT_ASSIGN_OR_RETURN(gain.fused, comparison.Add(fused));
  const size_t modalities = fit.people.modalities.size();
  size_t systems = 1;
  // One system's scores at a time: those of all together take a lot of memory.
  const auto measure = [&](const std::string& name,
                           const auto& score) -> absl::StatusOr<SystemGain> {
    std::vector<LabelledScores> sets;
    for (size_t part = 0; part < fit.splits.size(); ++part) {
      HEFT_ASSIGN_OR_RETURN(LabelledScores scores, score(fit.Part(part)));
      sets.push_back(std::move(scores));
    }
    HEFT_ASSIGN_OR_RETURN(const VerificationEstimate own, comparison.Add(sets));
    return SystemGain{name, own, comparison.Difference(0, systems++)};
  };
  for (size_t m = 0; m < modalities; ++m) {
    HEFT_ASSIGN_OR_RETURN(SystemGain system,
                          measure(fit.people.modalities[m].name, [m](const Dataset& data) {
                            return ModalityScores(data, Split::kTest, m);
                          }));
    gain.modalities.push_back(std::move(system));
    if (gain.modalities[m].own.auroc.value > gain.modalities[gain.best].own.auroc.value) {
      gain.best = m;
    }
  }
  if (modalities > 1) {
    HEFT_ASSIGN_OR_RETURN(gain.score_sum, measure("score_sum", [](const Dataset& data) {
                            return SumOfScores(data, Split::kTest);
                          }));
  }
  return gain;
}

}  // namespace heft
