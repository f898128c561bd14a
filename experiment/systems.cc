// SPDX-License-Identifier: Apache-2.0
#include "experiment/systems.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "heft/train.h"
#include "learning/baselines.h"

namespace heft::experiment {
namespace {

// The approximation that an exactly trained projection gets for itself: the model's kind and
// degree, on the training samples' norms with the trainer's margin; the paper's interval is fixed.
absl::StatusOr<Approximation> FitFor(const FeatureMatrix& projection, const Dataset& dataset,
                                     const Approximation& model) {
  if (model.interval == kPaperInterval) return model;
  constexpr double kTail = 0.001, kMargin = 1.15;
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features,
                        Concatenate(dataset, RowsOf(dataset.split, Split::kTrain)));
  const Eigen::VectorXd s = SquaredNorms(projection, features);
  std::vector<double> sorted(s.begin(), s.end());
  if (sorted.size() < 2) return model;
  std::sort(sorted.begin(), sorted.end());
  const size_t tail = static_cast<size_t>(kTail * (sorted.size() - 1));
  const FitKind kind = model.name == "least_squares" ? FitKind::kLeastSquares : FitKind::kMinimax;
  return Fit(kind, model.Degree(),
             {sorted[tail] / kMargin, sorted[sorted.size() - 1 - tail] * kMargin});
}

}  // namespace

std::string BaselineLabel(const std::string& name, int dimension) {
  if (name == "average") return "Average of vectors";
  if (name == "concatenation") return "Concatenation";
  if (name == "score_sum") return "Weighted sum of scores";
  if (name == "pca") return absl::StrCat("PCA to ", dimension);
  if (name == "lda") return absl::StrCat("LDA to ", dimension);
  return absl::StrCat(absl::AsciiStrToUpper(name.substr(0, 1)), name.substr(1), " alone");
}

std::vector<FeatureMatrix> ModalityRows(const Dataset& dataset, Split split) {
  const Dataset selected = SelectRows(dataset, RowsOf(dataset.split, split));
  std::vector<FeatureMatrix> modalities;
  for (const Modality& m : selected.modalities) modalities.push_back(m.features);
  return modalities;
}

absl::StatusOr<std::vector<SystemScores>> BaselineSystems(const Dataset& dataset, Split split,
                                                          int gamma) {
  HEFT_ASSIGN_OR_RETURN(std::vector<Baseline> baselines, ScoreBaselines(dataset, split, gamma));
  std::vector<SystemScores> systems;
  for (Baseline& b : baselines) {
    systems.push_back({{b.name, BaselineLabel(b.name, b.dimension), b.dimension},
                       std::move(b.scored),
                       std::move(b.unavailable),
                       std::move(b.note)});
  }
  return systems;
}

absl::StatusOr<std::vector<SystemScores>> LearnedSystems(const Dataset& dataset, Split split,
                                                         const Model& model) {
  std::vector<SystemScores> systems;
  auto add = [&](const char* id, const char* label, const FeatureMatrix& projection,
                 const Normaliser& normaliser) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(LabelledScores scores,
                          LearnedScores(dataset, split, projection, normaliser));
    systems.push_back({{id, label, static_cast<int>(model.gamma)}, std::move(scores)});
    return absl::OkStatus();
  };
  if (!model.exact_projection.empty()) {
    HEFT_ASSIGN_OR_RETURN(const Model exact, ExactlyTrained(model, dataset));
    HEFT_RETURN_IF_ERROR(add("learned_exact", "Learned exact", ProjectionOf(exact), {}));
    HEFT_RETURN_IF_ERROR(add("learned_exact_approximate",
                             "Learned exact, approximate normalisation", ProjectionOf(exact),
                             {exact.approximation}));
  }
  const FeatureMatrix aware = ProjectionOf(model);
  HEFT_RETURN_IF_ERROR(add("fhe_aware_exact", "FHE-aware, exact normalisation", aware, {}));
  HEFT_ASSIGN_OR_RETURN(LabelledScores plain, PlainScores(dataset, split, model));
  systems.push_back(
      {{"fhe_aware_plain", "FHE-aware, plain", static_cast<int>(model.gamma)}, std::move(plain)});
  return systems;
}

absl::StatusOr<Model> ExactlyTrained(const Model& model, const Dataset& dataset) {
  if (model.exact_projection.empty()) {
    return absl::FailedPreconditionError(
        "the model contains no exactly trained projection; train it without --no-exact");
  }
  Model exact = model;
  exact.projection = model.exact_projection;
  exact.exact_projection.clear();
  HEFT_ASSIGN_OR_RETURN(exact.approximation,
                        FitFor(ProjectionOf(exact), dataset, model.approximation));
  return exact;
}

bool KeptItsStart(const Model& model) {
  return !model.exact_projection.empty() && model.exact_projection == model.projection;
}

std::vector<int> AllBut(int only, int count) {
  std::vector<int> missing;
  for (int m = 0; m < count; ++m) {
    if (m != only) missing.push_back(m);
  }
  return missing;
}

}  // namespace heft::experiment
