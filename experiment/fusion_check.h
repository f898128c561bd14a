// SPDX-License-Identifier: Apache-2.0
// Whether fusion is worth it on the people measured: the fused template against the best modality
// alone and against the sum of scores, and what its training said of that.
#ifndef HEFT_EXPERIMENT_FUSION_CHECK_H_
#define HEFT_EXPERIMENT_FUSION_CHECK_H_

#include <span>
#include <string>
#include <vector>

#include "evaluation/folds.h"
#include "heft/json.h"
#include "heft/model.h"

namespace heft::experiment {

// Rival: a row of the table, and AUROC of the fused template minus its own.
struct Rival {
  FoldRow row;
  Estimate fused_minus;
};

struct FusionCheck {
  std::vector<Rival>
      rivals;  // the best modality first, then the sum of scores; none of one modality
  std::vector<std::string> trained;  // the warnings of the trainings, each once
  // What must be said in red: losses that the choice of people does not explain, and `trained`.
  std::vector<std::string> Losses() const;
};

// CheckFusion: `rows` are all systems of a table.
FusionCheck CheckFusion(std::span<const Rival> rows, std::span<const Model> models);

Json FusionJson(const FusionCheck& check);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_FUSION_CHECK_H_
