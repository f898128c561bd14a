// SPDX-License-Identifier: Apache-2.0
#include "learning/recipe.h"

#include <vector>

#include "absl/strings/escaping.h"
#include "base/bytes.h"

namespace heft::recipe {
namespace {

template <typename T, size_t kSize>
Json List(const T (&values)[kSize]) {
  return std::vector<T>(values, values + kSize);
}

}  // namespace

Json Choices() {
  return {{"version", kVersion},
          {"date", kDate},
          {"fmr", kFmr},
          {"tail_share", kTailShare},
          {"fewest_in_tail", kFewestInTail},
          {"bandwidth", kBandwidth},
          {"least_error", kLeastError},
          {"norm_ratio", kNormRatio},
          {"norm_penalty", kNormPenalty},
          {"replicates", kReplicates},
          {"replicate_pairs", kReplicatePairs},
          {"gammas", List(kGammas)},
          {"gamma_errors", kGammaErrors},
          {"gamma_tolerance", kGammaTolerance},
          {"gamma_factor", kGammaFactor},
          {"fall_back_errors", kFallBackErrors},
          {"pca_energy", kPcaEnergy},
          {"paper_gamma", kPaperGamma},
          {"shrinkages", List(kShrinkages)},
          {"middle_shrinkage", kMiddleShrinkage},
          {"whitenings", List(kWhitenings)},
          {"middle_whitening", kMiddleWhitening},
          {"start_parts", kStartParts},
          {"start_rows", kStartRows},
          {"blends", List(kBlends)},
          {"middle_blend", kMiddleBlend},
          {"largest_blended", kLargestBlended},
          {"weight_steps", List(kWeightSteps)},
          {"step_evidence", kStepEvidence},
          {"largest_weight", kLargestWeight},
          {"least_share", kLeastShare},
          {"least_share_dropped", kLeastShareDropped},
          {"limits", List(kLimits)},
          {"limit_tolerance", kLimitTolerance},
          {"limit_cost", kLimitCost},
          {"fewest_limited", kFewestLimited},
          {"lambda", kLambda},
          {"margin", kMargin},
          {"weight_decay", kWeightDecay},
          {"epochs", kEpochs},
          {"patience", kPatience},
          {"epoch_evidence", kEpochEvidence},
          {"fewest_judges", kFewestJudges},
          {"max_batch", kMaxBatch},
          {"learning_rate", kLearningRate},
          {"degree", kDegree},
          {"interval_margin", kIntervalMargin},
          {"interval_deviations", kIntervalDeviations},
          {"interval_error", kIntervalError},
          {"paper_epochs", kPaperEpochs},
          {"paper_degree", kPaperDegree},
          {"paper_learning_rate", kPaperLearningRate},
          {"parts", kParts},
          {"fewest_in_part", kFewestInPart},
          {"most_across", kMaxAcross},
          {"most_across_trained", kMaxAcrossTrained},
          {"stopping_share", kStoppingShare},
          {"decision_replicates", kDecisionReplicates},
          {"search_templates", List(kSearchTemplates)}};
}

std::string Hash() {
  const heft::Hash hash = HashBytes(AsBytes(Choices().dump()));
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(hash.data()), hash.size()));
}

}  // namespace heft::recipe
