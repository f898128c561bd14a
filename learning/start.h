// SPDX-License-Identifier: Apache-2.0
// The generalising recipe's start: discriminants of each modality, merged by what they tell, and a
// weight for each modality.
#ifndef HEFT_LEARNING_START_H_
#define HEFT_LEARNING_START_H_

#include <map>
#include <span>
#include <vector>

#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "learning/pairing.h"
#include "learning/train.h"

namespace heft {

// Directions: rows of a projection, the best first, each of one modality's columns only.
struct Directions {
  FeatureMatrix rows;           // gamma x total dimension
  std::vector<int> modalities;  // of each row
};

// DirectionOptions: of the discriminants (learning/discriminant.h).
struct DirectionOptions {
  double shrinkage = 0, blend = 0;
};

// FindDirections: chimeric discriminants (learning/discriminant.h), each as long as what it tells
// is worth; where there are fewer than `gamma`, filled up with principal components of the
// modalities in turn, of small weight. The first rows of a larger gamma are the rows of a smaller
// one. ChimericLda's errors.
absl::StatusOr<Directions> FindDirections(const SamplePool& pool, int gamma,
                                          const DirectionOptions& options);

// Weighted: `projection` with the columns of each modality times its weight.
FeatureMatrix Weighted(const FeatureMatrix& projection, const SamplePool& pool,
                       std::span<const double> weights);

// StartChoice: one weight a modality, the first 1 where they are searched, and the blend.
struct StartChoice {
  std::vector<double> weights;
  double blend = 0;
};

// StartSearch: what starts of any dimension and weights are worth to people they were not made of.
// The people of `pool` are dealt into parts; each part is scored by the directions of the others,
// as its samples are paired and once re-paired. Nobody but the people of `pool` has a part in it.
class StartSearch {
 public:
  // For up to `gamma` dimensions. With too few people to deal, or too few with a second sample, a
  // search that knows nothing: all weights 1 and no scores.
  static StartSearch Make(const SamplePool& pool, int gamma, const TrainOptions& options);

  // Best: of recipe::kBlends unless the options have one, and then of all weights unless `weights`
  // are given, by mean AUROC.
  StartChoice Best(int gamma, std::vector<double> weights) const;
  // Scores: of every part's samples, as they are paired, with each other.
  std::vector<LabelledScores> Scores(int gamma, const StartChoice& choice) const;

 private:
  struct Judged {
    FeatureMatrix z;              // samples x gamma
    std::vector<int> modalities;  // of each column
    std::vector<int> classes;
    bool paired = false;
  };
  size_t modalities_ = 0;
  double people_ = 1;
  double fallback_ = 0;                           // the blend where nothing is known
  std::map<double, std::vector<Judged>> judged_;  // by blend
};

// DiscriminantStart: FindDirections of all people, with the given weights or, if there are none, a
// StartSearch's. `weights` receives them, one a modality.
absl::StatusOr<FeatureMatrix> DiscriminantStart(const SamplePool& pool, const TrainOptions& options,
                                                std::vector<double>& weights);

}  // namespace heft

#endif  // HEFT_LEARNING_START_H_
