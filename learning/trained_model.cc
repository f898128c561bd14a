// SPDX-License-Identifier: Apache-2.0
#include "learning/trained_model.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/progress.h"
#include "features/dataset.h"
#include "fusion/rings.h"
#include "heft/files.h"
#include "heft/train.h"
#include "learning/train.h"
#include "learning/training_marks.h"

namespace heft {
namespace {

std::vector<double> RowMajor(const FeatureMatrix& matrix) {
  return {matrix.data(), matrix.data() + matrix.size()};
}

void Install(const Decisions& decisions, Model& model) {
  model.tables = decisions.tables;
  model.sample_agreement = decisions.sample_agreement;
}

}  // namespace

Model AssembleModel(const Dataset& dataset, const TrainResult& aware, const ModelOptions& options) {
  Model model;
  for (const Modality& m : dataset.modalities) {
    model.modalities.push_back({m.name, static_cast<uint32_t>(m.features.cols())});
  }
  model.gamma = static_cast<uint32_t>(aware.projection.rows());
  model.projection = RowMajor(aware.projection);
  model.approximation = aware.approximation;
  model.profile = options.profile;
  if (options.decisions != nullptr) Install(*options.decisions, model);
  Json summary = aware.summary;
  if (options.exact != nullptr) {
    model.exact_projection = RowMajor(options.exact->projection);
    summary["exact"] = options.exact->summary;
  }
  if (options.decisions != nullptr) summary.update(options.decisions->summary);
  // A concatenation has no training people.
  const Json* of = summary.find("options");
  const Json* method = of == nullptr ? nullptr : of->find("method");
  if (method == nullptr || *method != "none") summary["training_marks"] = TrainingMarks(dataset);
  if (const auto& fold = options.fold) {
    summary["cross_validation"] = {
        {"folds", fold->folds}, {"seed", fold->seed}, {"fold", fold->fold}, {"rows", fold->rows}};
  }
  model.training_summary = summary.dump();
  return model;
}

absl::StatusOr<Model> MakeModel(const Dataset& dataset, const TrainResult& aware,
                                const ModelOptions& options) {
  Model model = AssembleModel(dataset, aware, options);
  HEFT_RETURN_IF_ERROR(model.Check());
  HEFT_RETURN_IF_ERROR(MakeRings(model).status());
  return model;
}

absl::Status CheckEvaluable(const Dataset& dataset, const TrainOptions& train,
                            const std::string& profile) {
  HEFT_RETURN_IF_ERROR(CheckTrainOptions(train, dataset));
  TrainResult form;  // some projection, an approximation of the degree
  form.projection = FeatureMatrix::Identity(train.gamma, dataset.TotalDimension());
  HEFT_ASSIGN_OR_RETURN(form.approximation, FitMinimax(train.degree, Interval{0.2, 2.2}));
  return MakeModel(dataset, form, {profile}).status();
}

std::optional<FoldNumber> FoldOf(const Model& model) {
  const Json summary = Json::Parse(model.training_summary).value_or(Json());
  const Json* found = summary.find("cross_validation");
  if (found == nullptr) return std::nullopt;
  for (const char* key : {"folds", "seed", "fold", "rows"}) {
    const Json* number = found->find(key);
    if (number == nullptr || !number->is_number_unsigned()) return std::nullopt;
  }
  const Json& f = *found;
  return FoldNumber{f["folds"].get<int>(), f["seed"].get<uint64_t>(), f["fold"].get<int>(),
                    f["rows"].get<int>()};
}

}  // namespace heft
