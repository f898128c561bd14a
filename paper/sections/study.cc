// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "features/random.h"
#include "features/split.h"
#include "learning/baselines.h"
#include "learning/discriminant.h"
#include "learning/pairing.h"
#include "learning/projection.h"
#include "paper/sections/sections.h"

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
  // Some of each identity, round after round, until there are enough: a single sample makes no
  // genuine pair.
  constexpr size_t kInTurn = 4;
  size_t taken = 0;
  for (size_t turn = 0, before = 0; turn == 0 || taken > before; turn += kInTurn) {
    before = taken;
    for (const std::vector<int>& own : people) {
      for (size_t i = turn; i < std::min(turn + kInTurn, own.size()); ++i) {
        if (taken == static_cast<size_t>(rows)) break;
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

absl::StatusOr<Interval> DataInterval(const Study& study) {
  HEFT_ASSIGN_OR_RETURN(const SamplePool pool, SamplePool::Make(study.data, Split::kTrain));
  HEFT_ASSIGN_OR_RETURN(const Discriminants lda, ChimericLda(pool, 32));
  const Eigen::VectorXd norms = SquaredNorms(lda.vectors, pool.Paired().features);
  std::vector<double> s(norms.begin(), norms.end());
  std::sort(s.begin(), s.end());
  const size_t tail = static_cast<size_t>(0.001 * (s.size() - 1));
  constexpr double kMargin = 1.15;
  const double spread = kMargin * std::sqrt(s[s.size() - 1 - tail] / s[tail]);
  return Interval{1 / spread, spread};
}

absl::StatusOr<LabelledScores> ScoresOf(const Dataset& data, const FeatureMatrix& projection,
                                        const std::optional<NormalisationSpec>& normalisation) {
  HEFT_ASSIGN_OR_RETURN(LabelledScores scores, LearnedScores(data, Split::kTest, projection));
  if (!normalisation) return scores;
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features,
                        Concatenate(data, RowsOf(data.split, Split::kTest)));
  FeatureMatrix z = ProjectAll(projection, features);
  for (Eigen::Index i = 0; i < z.rows(); ++i) z.row(i) *= (*normalisation)(z.row(i).squaredNorm());
  scores.scores = CosineScores(z);
  return scores;
}

absl::StatusOr<std::vector<experiment::SystemScores>> FixedSystems(const Dataset& data) {
  const std::vector<int> rows = RowsOf(data.split, Split::kTest);
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features, Concatenate(data, rows));
  std::vector<std::string> labels;
  for (int row : rows) labels.push_back(data.labels[row]);
  const std::vector<int> identities = IdentityNumbers(labels);
  std::vector<experiment::SystemScores> systems;
  auto add = [&](const std::string& id, const std::string& label, FeatureMatrix own) {
    const int dimension = static_cast<int>(own.cols());
    own.rowwise().normalize();
    systems.push_back({{id, label, dimension}, {CosineScores(own), identities}});
  };
  const std::vector<int> dimensions = data.Dimensions();
  const bool equal = std::all_of(dimensions.begin(), dimensions.end(),
                                 [&](int dimension) { return dimension == dimensions[0]; });
  FeatureMatrix sum = FeatureMatrix::Zero(features.rows(), dimensions[0]);
  Eigen::Index column = 0;
  for (size_t m = 0; m < dimensions.size(); ++m) {
    const FeatureMatrix own = features.middleCols(column, dimensions[m]);
    add(absl::StrCat("modality", m), data.modalities[m].name, own);
    if (equal) sum += own;
    column += dimensions[m];
  }
  if (equal && dimensions.size() > 1) add("average", "Average", std::move(sum));
  add("concatenation", "Concatenation", features);
  return systems;
}

}  // namespace heft::paper
