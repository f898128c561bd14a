// SPDX-License-Identifier: Apache-2.0
// Whether fusion is worth it on the people measured: the fused template against the best modality
// alone, the concatenation and the weighted sum of scores, and what its training said of that.
#ifndef HEFT_EXPERIMENT_FUSION_CHECK_H_
#define HEFT_EXPERIMENT_FUSION_CHECK_H_

#include <span>
#include <string>
#include <vector>

#include "evaluation/folds.h"
#include "heft/files.h"
#include "heft/model.h"

namespace heft::experiment {

// Rival: a row of the table, and what the fused template has beyond it.
struct Rival {
  FoldRow row;
  Estimate fused_minus;  // AUROC
  Estimate fnmr_minus;   // FNMR at FMR 1e-3: above 0 where fusion is worse
};

struct FusionCheck {
  double fused_fnmr = 0;  // at FMR 1e-3
  // The best modality (of the least FNMR at FMR 1e-3) first, then the concatenation and the
  // weighted sum of scores; none of one modality.
  std::vector<Rival> rivals;
  std::vector<std::string> trained;  // the warnings of the trainings, each once
  // What must be said in red: a sentence for each rival to which fusion loses (Worse, in
  // evaluation/bootstrap.h), and `trained`.
  std::vector<std::string> Losses() const;
};

// CheckFusion: `fused` is the row of the fused template, `rows` are all systems of its table.
FusionCheck CheckFusion(const FoldRow& fused, std::span<const Rival> rows,
                        std::span<const Model> models);

Json FusionJson(const FusionCheck& check);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_FUSION_CHECK_H_
