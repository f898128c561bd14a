// SPDX-License-Identifier: Apache-2.0
// Why a model has the fused dimension that it has, as its training left it in the summary.
#ifndef HEFT_EXPERIMENT_GAMMA_SECTION_H_
#define HEFT_EXPERIMENT_GAMMA_SECTION_H_

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "experiment/page.h"
#include "heft/model.h"

namespace heft::experiment {

// GammaTrials: what dimensions were worth to training people, rising (learning/choose_system.h).
struct GammaTrials {
  struct Trial {
    int gamma = 0;
    Estimate fnmr, minus_best;
  };
  std::vector<Trial> trials;
  double best = 1;  // FNMR of the best
  // Tolerated: what a dimension may lose against the best.
  double Tolerated() const;
  bool ShownWorse(const Trial& trial) const { return trial.minus_best.lo > Tolerated(); }
};

// GammaTrialsOf: empty where the dimension was given, not chosen.
std::optional<GammaTrials> GammaTrialsOf(const Model& model);

// DrawGamma: RunGnuplot's errors.
absl::StatusOr<std::string> DrawGamma(const GammaTrials& trials);

// AddGamma: the section of a page. `picture` is DrawGamma's, `template_bytes` what a template of
// the model takes.
void AddGamma(const Model& model, const std::string& picture, double template_bytes, Page& page);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_GAMMA_SECTION_H_
