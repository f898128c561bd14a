// SPDX-License-Identifier: Apache-2.0
#include "paper/sections/systems.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "learning/baselines.h"
#include "learning/projection.h"

namespace heft::paper {

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
