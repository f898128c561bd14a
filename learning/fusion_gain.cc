// SPDX-License-Identifier: Apache-2.0
#include "learning/fusion_gain.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "learning/baselines.h"
#include "learning/objective.h"
#include "learning/recipe.h"

namespace heft {
namespace {

bool Loses(const SystemGain& system) { return system.fnmr_minus.value > recipe::kLeastError; }
bool SurelyLoses(const SystemGain& system) { return Loses(system) && system.fnmr_minus.lo > 0; }

Json SystemJson(const std::string& name, const VerificationEstimate& e, double fnmr) {
  return {{"name", name},
          {"auroc", EstimateJson(e.auroc)},
          {"eer", EstimateJson(e.eer)},
          {"fnmr_1e2", EstimateJson({1 - e.tmr_1e2.value, 1 - e.tmr_1e2.hi, 1 - e.tmr_1e2.lo})},
          {"fnmr_1e3", fnmr}};
}

std::string LongName(const std::string& name) {
  if (name == "concatenation") return "the plain concatenation";
  if (name == "score_sum") return "the weighted sum of the modalities' cosines";
  return name + " alone";
}

// One sentence of a warning: by how much fusion loses to a system.
std::string LossTo(double fnmr, const SystemGain& system) {
  const Estimate& minus = system.fnmr_minus;
  const std::string by =
      absl::StrFormat("FNMR %.2g against %.2g at FMR %g (%+.2g [%+.2g, %+.2g])", fnmr, system.fnmr,
                      recipe::kFmr, minus.value, minus.lo, minus.hi);
  const std::string name = LongName(system.name);
  if (SurelyLoses(system)) return absl::StrCat("FUSION IS WORSE than ", name, ": ", by);
  return absl::StrCat("fusion is no better than ", name, ": ", by, ", which may be chance");
}

}  // namespace

Json EstimateJson(const Estimate& e) { return {{"value", e.value}, {"lo", e.lo}, {"hi", e.hi}}; }

std::string FusionGain::Warning() const {
  const SystemGain& alone = modalities[best];
  const bool larger = gamma < recipe::kGammas[std::size(recipe::kGammas) - 1];
  std::string text;
  if (Loses(alone)) {
    text = LossTo(fnmr, alone);
    absl::StrAppend(&text, ". Use ", modalities.size() > 1 ? alone.name + " alone" : "it as it is",
                    modalities.size() > 2 ? ", leave a weak modality out" : "",
                    larger ? ", or try a larger --gamma" : "");
  }
  for (const SystemGain& rival : rivals) {
    if (!Loses(rival)) continue;
    absl::StrAppend(&text, text.empty() ? "" : ". ", LossTo(fnmr, rival), ". ",
                    method == "none"
                        ? "Use data of people to train with, or give weights to the modalities"
                    : larger ? "Try a larger --gamma, or --method none"
                             : "Try --method none, or data of more people");
  }
  return text;
}

Json FusionGain::ToJson() const {
  const SystemGain& alone = modalities[best];
  Json json = {{"best_modality", alone.name}, {"fmr", recipe::kFmr}};
  Json systems = Json::array({SystemJson("fused", fused, fnmr)}), minus = Json::object();
  bool surely = SurelyLoses(alone);
  const auto add = [&](const SystemGain& system) {
    systems.push_back(SystemJson(system.name, system.own, system.fnmr));
    minus[system.name] = {{"auroc", EstimateJson(system.fused_minus)},
                          {"fnmr_1e3", EstimateJson(system.fnmr_minus)}};
  };
  for (const SystemGain& system : modalities) add(system);
  for (const SystemGain& rival : rivals) {
    add(rival);
    surely = surely || SurelyLoses(rival);
  }
  json["systems"] = std::move(systems);
  json["fused_minus"] = std::move(minus);
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
  if (const Json* options = fit.results[0].summary.find("options")) {
    gain.method = (*options)["method"].get<std::string>();
  }
  HEFT_ASSIGN_OR_RETURN(gain.fused, comparison.Add(fused));
  const FnmrEstimate own_error = EstimateFnmr(fused, recipe::kFmr);
  gain.fnmr = own_error.fnmr;
  const size_t modalities = fit.people.modalities.size();
  size_t systems = 1;
  // One system's scores at a time: those of all together take a lot of memory.
  const auto measure = [&](const std::string& name,
                           const auto& score) -> absl::StatusOr<SystemGain> {
    HEFT_ASSIGN_OR_RETURN(const std::vector<LabelledScores> sets,
                          fit.Collect([&](size_t fold) { return score(fit.Fold(fold)); }));
    HEFT_ASSIGN_OR_RETURN(const VerificationEstimate own, comparison.Add(sets));
    const FnmrEstimate error = EstimateFnmr(sets, recipe::kFmr);
    const FnmrDifference minus = Subtract(own_error, error);
    const double reach = 1.96 * minus.standard_error;
    return SystemGain{name,
                      own,
                      comparison.Difference(0, systems++),
                      error.fnmr,
                      {minus.value, minus.value - reach, minus.value + reach}};
  };
  for (size_t m = 0; m < modalities; ++m) {
    HEFT_ASSIGN_OR_RETURN(SystemGain system,
                          measure(fit.people.modalities[m].name, [m](const Dataset& data) {
                            return ModalityScores(data, Split::kTest, m);
                          }));
    gain.modalities.push_back(std::move(system));
    if (gain.modalities[m].fnmr < gain.modalities[gain.best].fnmr) gain.best = m;
  }
  if (modalities > 1) {
    const auto rival = [&](const char* name, auto score) -> absl::Status {
      HEFT_ASSIGN_OR_RETURN(SystemGain system, measure(name, [&](const Dataset& data) {
                              return score(data, Split::kTest);
                            }));
      gain.rivals.push_back(std::move(system));
      return absl::OkStatus();
    };
    HEFT_RETURN_IF_ERROR(rival("concatenation", ConcatenationScores));
    HEFT_RETURN_IF_ERROR(rival("score_sum", SumOfScores));
  }
  return gain;
}

}  // namespace heft
