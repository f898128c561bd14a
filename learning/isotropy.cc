// SPDX-License-Identifier: Apache-2.0
#include "learning/isotropy.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <string>
#include <utility>

#include "features/split.h"
#include "learning/objective.h"
#include "learning/projection.h"
#include "learning/recipe.h"

namespace heft {

Limiter::Limiter(const FeatureMatrix& projection, const FeatureMatrix& features)
    : projection_(projection) {
  FeatureMatrix templates = ProjectAll(projection, features);
  templates.rowwise().normalize();  // A zero row stays zero.
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solved(GramMatrix(templates));
  vectors_ = solved.eigenvectors().transpose();
  values_ = solved.eigenvalues() / solved.eigenvalues().mean();
}

FeatureMatrix Limiter::Projection(double limit) const {
  if (limit == 0) return projection_;
  const Eigen::VectorXd scale = (values_.array() / limit).max(1.0).rsqrt();
  return vectors_.transpose() * (scale.asDiagonal() * (vectors_ * projection_));
}

Json Isotropy::ToJson() const {
  Json json = {{"limit", limit}, {"trials", Json::array()}};
  for (const Trial& trial : trials) {
    json["trials"].push_back(Json{{"limit", trial.limit}, {"fnmr", trial.fnmr}});
  }
  return json;
}

namespace {

// LeftOutPeople: of a fold, with the limits of its projection.
struct LeftOutPeople {
  FeatureMatrix features;
  std::vector<int> identities;
  Limiter limiter;
};

absl::StatusOr<LeftOutPeople> LeftOut(const CrossFit& fit, size_t fold) {
  const std::vector<Split>& split = fit.splits[fold];
  const std::vector<int> rows = RowsOf(split, Split::kTest);
  std::vector<std::string> labels;
  for (const int row : rows) labels.push_back(fit.people.labels[static_cast<size_t>(row)]);
  HEFT_ASSIGN_OR_RETURN(FeatureMatrix features, Concatenate(fit.people, rows));
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix trained,
                        Concatenate(fit.people, RowsOf(split, Split::kTrain)));
  return LeftOutPeople{
      std::move(features), IdentityNumbers(labels), {fit.results[fold].projection, trained}};
}

}  // namespace

absl::StatusOr<Isotropy> LimitFolds(CrossFit& fit) {
  std::vector<LeftOutPeople> folds;
  for (size_t fold = 0; fold < fit.results.size(); ++fold) {
    HEFT_ASSIGN_OR_RETURN(LeftOutPeople left_out, LeftOut(fit, fold));
    folds.push_back(std::move(left_out));
  }
  Isotropy out;
  for (const double limit : recipe::kLimits) {
    const auto score = [&](size_t fold) -> absl::StatusOr<LabelledScores> {
      const auto& [features, identities, limiter] = folds[fold];
      return LabelledScores{CosineScores(ProjectAndNormalise(limiter.Projection(limit), features)),
                            identities};
    };
    HEFT_ASSIGN_OR_RETURN(const auto sets, fit.Collect(score));
    out.trials.push_back({limit, EstimateFnmr(sets, recipe::kFmr).fnmr});
  }
  const double lowest = std::ranges::min(out.trials, {}, &Isotropy::Trial::fnmr).fnmr;
  const double share = recipe::kLimitTolerance * (lowest + recipe::kLeastError);
  const double most = lowest + recipe::kLeastError + std::min(share, recipe::kLimitCost);
  for (const Isotropy::Trial& trial : out.trials) {
    if (trial.fnmr + recipe::kLeastError <= most) out.limit = trial.limit;
  }
  for (size_t fold = 0; fold < fit.results.size(); ++fold) {
    fit.results[fold].projection = folds[fold].limiter.Projection(out.limit);
  }
  return out;
}

}  // namespace heft
