// SPDX-License-Identifier: Apache-2.0
#include "paper/study.h"

#include <algorithm>
#include <map>

#include "features/random.h"
#include "features/split.h"

namespace heft::paper {

Effort FullEffort() { return {}; }

Effort QuickEffort() {
  Effort effort;
  effort.folds = 3;
  effort.other_folds = 3;
  effort.val_rows = 120;
  effort.test_rows = 60;
  effort.train_rows = 300;
  effort.epochs = 20;
  effort.replicates = 50;
  effort.repetitions = 2;
  effort.appendix_identities = 60;
  effort.slow_methods = false;
  return effort;
}

Dataset ThinSplit(const Dataset& dataset, Split split, int rows, uint64_t seed) {
  std::map<std::string, std::vector<int>> by_identity;
  std::vector<int> kept;
  for (int row = 0; row < dataset.Rows(); ++row) {
    if (dataset.split[row] != split) {
      kept.push_back(row);
    } else {
      by_identity[dataset.labels[row]].push_back(row);
    }
  }
  Random random(seed);
  std::vector<std::vector<int>> people;
  for (auto& [identity, own] : by_identity) {
    random.Shuffle(own);
    people.push_back(std::move(own));
  }
  random.Shuffle(people);
  // Some of each identity in turn, until there are enough: a single sample makes no genuine pair.
  constexpr std::size_t kInTurn = 4;
  std::size_t taken = 0;
  for (std::size_t turn = 0, before = 0; turn == 0 || taken > before; turn += kInTurn) {
    before = taken;
    for (const std::vector<int>& own : people) {
      for (std::size_t i = turn; i < std::min(turn + kInTurn, own.size()); ++i) {
        if (taken == static_cast<std::size_t>(rows)) break;
        kept.push_back(own[i]);
        ++taken;
      }
    }
  }
  std::sort(kept.begin(), kept.end());
  Dataset thinned = SelectRows(dataset, kept);
  thinned.unpaired = dataset.unpaired;
  return thinned;
}

Dataset ForTraining(const Study& study, const Dataset& dataset, Recipe recipe) {
  const Dataset thin = ThinSplit(dataset, Split::kValidation, study.effort.val_rows, study.seed);
  if (recipe != Recipe::kPaper) return thin;
  return ThinSplit(thin, Split::kTrain, study.effort.train_rows, study.seed);
}

TrainOptions PaperTraining(const Study& study) {
  TrainOptions options;
  options.recipe = Recipe::kPaper;
  options.degree = 2;
  options.fit = FitKind::kLeastSquares;
  options.lambda = 0.25;
  options.margin = 0.5;
  options.epochs = study.effort.epochs;
  options.patience = study.effort.epochs;
  options.seed = study.seed;
  return options;
}

TrainOptions OurTraining(const Study& study) {
  TrainOptions options;
  options.seed = study.seed;
  if (study.quick) {
    options.epochs = 5;
    options.max_batch = 400;
  }
  return options;
}

Model ModelOf(const Dataset& dataset, const FeatureMatrix& projection,
              const Approximation& approximation, const std::string& profile) {
  Model model;
  for (const Modality& m : dataset.modalities) {
    model.modalities.push_back({m.name, static_cast<uint32_t>(m.features.cols())});
  }
  model.gamma = static_cast<uint32_t>(projection.rows());
  model.projection.assign(projection.data(), projection.data() + projection.size());
  model.approximation = approximation;
  model.profile = profile;
  return model;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

}  // namespace heft::paper
