// SPDX-License-Identifier: Apache-2.0
// Projections in closed form: discriminants, principal components, or the concatenation itself, and
// the search for their settings on people who are left out in turn.
#ifndef HEFT_LEARNING_START_H_
#define HEFT_LEARNING_START_H_

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "learning/discriminant.h"
#include "learning/objective.h"
#include "learning/pairing.h"
#include "learning/train.h"

namespace heft {

// StartChoice: the settings of a closed-form projection.
struct StartChoice {
  Method method = Method::kLearned;
  // Of the discriminants (learning/discriminant.h). Each modality has a shrinkage of its own: the
  // one with fewer people for its dimensions needs more.
  std::vector<double> shrinkages;
  double blend = 0;
  // The power of each direction's deviation by which it is divided, in [0, 1]. 0 leaves
  // discriminants at a within-class variance of 1 and principal components at their own; 1 makes
  // all equal.
  double whitening = 0;
  std::vector<double> weights;  // one a modality
  // Of gamma, shared evenly by the modalities: each has so many directions at least, so that a
  // probe of one modality has a template.
  double least_share = 0;
  bool operator==(const StartChoice&) const = default;
};

// BuildStart: a gamma x total dimension projection of `pool`'s samples.
//   kLearned  discriminants of each modality, scaled by whitening and weight. The gamma of the
//             largest variance are taken. Principal components of small weight fill missing rows.
//   kPca      the same with principal components; missing rows are zero.
//   kNone     the weighted concatenation: a diagonal, then zero rows. Shrinkage, blend and
//   whitening
//             mean nothing.
// Lda's errors; kInvalidArgument for kNone where gamma is below the total dimension.
// `further` (may be null) serves all pools of the same further people.
absl::StatusOr<FeatureMatrix> BuildStart(const SamplePool& pool, int gamma,
                                         const StartChoice& choice,
                                         FurtherScatters* further = nullptr);

// DefaultStart: the values that `options` give, and the middle of the recipe's ranges for the
// others. The blend is 0 where a modality has more than recipe::kLargestBlended dimensions.
StartChoice DefaultStart(const TrainOptions& options, const SamplePool& pool);

// StartSearch: what starts of any settings are worth to people they were not made of. The people of
// `pool` are dealt into recipe::kStartParts; each part is scored by the directions of the others,
// as its samples are paired and, with several modalities, once re-paired.
class StartSearch {
 public:
  // For up to `gamma` dimensions. With too few people to deal, or too few with a second sample, a
  // search that knows nothing.
  static StartSearch Make(const SamplePool& pool, int gamma, const TrainOptions& options);

  bool KnowsNothing() const { return parts_.empty(); }

  // Best: by EstimateFnmr at recipe::kFmr, of all pairs of recipe::kWhitenings and kShrinkages,
  // then of a shrinkage for each modality and of recipe::kBlends, each with the best weights. What
  // `options` give stays. `from` where nothing is known.
  StartChoice Best(int gamma, const StartChoice& from);
  // Measure: EstimateFnmr of the parts' samples as they are paired. Nothing known: no pairs.
  FnmrEstimate Measure(int gamma, const StartChoice& choice);

 private:
  struct Part {
    SamplePool others;
    std::vector<std::optional<ClassScatter>> scatters;  // of the others' modalities, as needed
    std::vector<Batch> judged;  // as paired; then once re-paired, or nothing
  };
  // One modality's directions of the others, and a part's samples along them.
  struct Projected {
    Eigen::VectorXd variances;     // empty where the others tell nothing
    std::vector<FeatureMatrix> z;  // of each batch
    // Mean squares along each direction: of the others, and of the part as it is paired.
    Eigen::VectorXd others, own;
  };
  // The columns [begin, end) of a part's samples as they are: of the concatenation.
  static Projected Copied(const Part& part, Eigen::Index begin, Eigen::Index end);
  const std::vector<Projected>& Project(size_t modality, const StartChoice& choice);
  // Gives `choice` the best weights, by steps from its own, and returns its objective with them.
  double Weigh(int gamma, StartChoice& choice);
  FnmrEstimate Score(int gamma, const StartChoice& choice, bool paired_only);

  TrainOptions options_;
  int gamma_ = 0;
  bool blended_ = true;  // whether all modalities are small enough
  std::vector<Part> parts_;
  FurtherScatters further_;
  // By method, modality, shrinkage and blend; one entry a part.
  std::map<std::tuple<Method, size_t, double, double>, std::vector<Projected>> projected_;
};

}  // namespace heft

#endif  // HEFT_LEARNING_START_H_
