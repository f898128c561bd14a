// SPDX-License-Identifier: Apache-2.0
#include "learning/choose_gamma.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "learning/fusion_gain.h"
#include "learning/pairing.h"
#include "learning/recipe.h"
#include "learning/start.h"

namespace heft {

std::vector<int> GammaCandidates(int total) {
  std::vector<int> gammas;
  for (int gamma : recipe::kGammas) {
    if (gamma <= total) gammas.push_back(gamma);
  }
  if (!gammas.empty()) return gammas;
  int gamma = 1;
  while (2 * gamma <= total) gamma *= 2;
  return {gamma};
}

std::string GammaChoice::Reason() const {
  std::string text = absl::StrCat("gamma ", gamma);
  for (const GammaTrial& trial : trials) {
    if (trial.gamma == gamma) absl::StrAppendFormat(&text, ": AUROC %.4f", trial.auroc.value);
  }
  for (const GammaTrial& trial : trials) {
    if (trial.gamma == gamma || trial.minus_best.value == 0) continue;
    absl::StrAppendFormat(&text, "; %d: %.4f", trial.gamma, trial.auroc.value);
  }
  return text;
}

Json GammaChoice::ToJson() const {
  Json json = {{"gamma", gamma}, {"trials", Json::array()}};
  for (const GammaTrial& trial : trials) {
    json["trials"].push_back(Json{{"gamma", trial.gamma},
                                  {"modality_weights", trial.start.weights},
                                  {"blend", trial.start.blend},
                                  {"auroc", EstimateJson(trial.auroc)},
                                  {"minus_best", EstimateJson(trial.minus_best)}});
  }
  return json;
}

absl::StatusOr<GammaChoice> ChooseGamma(const Dataset& dataset, const TrainOptions& options,
                                        std::span<const int> gammas) {
  GammaChoice choice;
  choice.gamma = gammas[0];
  for (int gamma : gammas) {
    if (gamma <= recipe::kPaperGamma) choice.gamma = gamma;
  }
  if (options.recipe == Recipe::kPaper) return choice;
  HEFT_ASSIGN_OR_RETURN(const SamplePool pool, SamplePool::Make(dataset, Split::kTrain));
  const StartSearch search = StartSearch::Make(pool, gammas.back(), options);
  BootstrapOptions bootstrap;
  bootstrap.replicates = recipe::kReplicates;
  bootstrap.max_pairs = recipe::kReplicatePairs;
  bootstrap.confidence = recipe::kGammaConfidence;
  bootstrap.seed = options.seed;
  SystemComparison comparison(bootstrap);
  for (int gamma : gammas) {
    GammaTrial trial{gamma, search.Best(gamma, options.modality_weights), {}, {}};
    if (gammas.size() == 1) choice.blend = trial.start.blend;
    const std::vector<LabelledScores> sets = search.Scores(gamma, trial.start);
    if (sets.empty() || gammas.size() == 1) return choice;
    HEFT_ASSIGN_OR_RETURN(const VerificationEstimate estimate, comparison.Add(sets));
    trial.auroc = estimate.auroc;
    choice.trials.push_back(std::move(trial));
  }
  const auto best = static_cast<size_t>(
      std::ranges::max_element(choice.trials, {},
                               [](const GammaTrial& t) { return t.auroc.value; }) -
      choice.trials.begin());
  const double tolerated = recipe::kGammaTolerance * (1 - choice.trials[best].auroc.value);
  choice.gamma = 0;
  for (size_t i = 0; i < choice.trials.size(); ++i) {
    if (i != best) choice.trials[i].minus_best = comparison.Difference(i, best);
    const bool good = i == best || choice.trials[i].minus_best.hi >= -tolerated;
    if (choice.gamma != 0 || !good) continue;
    choice.gamma = choice.trials[i].gamma;
    choice.blend = choice.trials[i].start.blend;
  }
  return choice;
}

}  // namespace heft
