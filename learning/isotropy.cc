// SPDX-License-Identifier: Apache-2.0
#include "learning/isotropy.h"

#include <Eigen/Eigenvalues>
#include <algorithm>

#include "learning/baselines.h"
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

absl::StatusOr<Isotropy> LimitFolds(CrossFit& fit) {
  std::vector<Limiter> limiters;
  for (size_t fold = 0; fold < fit.results.size(); ++fold) {
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features,
                          Concatenate(fit.people, RowsOf(fit.splits[fold], Split::kTrain)));
    limiters.emplace_back(fit.results[fold].projection, features);
  }
  Isotropy out;
  for (const double limit : recipe::kLimits) {
    HEFT_ASSIGN_OR_RETURN(const auto sets, fit.Collect([&](size_t fold) {
      return LearnedScores(fit.Fold(fold), Split::kTest, limiters[fold].Projection(limit));
    }));
    out.trials.push_back({limit, EstimateFnmr(sets, recipe::kFmr).fnmr});
  }
  const double lowest = std::ranges::min(out.trials, {}, &Isotropy::Trial::fnmr).fnmr;
  const double most = (1 + recipe::kLimitTolerance) * (lowest + recipe::kLeastError);
  for (const Isotropy::Trial& trial : out.trials) {
    if (trial.fnmr + recipe::kLeastError <= most) out.limit = trial.limit;
  }
  for (size_t fold = 0; fold < fit.results.size(); ++fold) {
    fit.results[fold].projection = limiters[fold].Projection(out.limit);
  }
  return out;
}

}  // namespace heft
