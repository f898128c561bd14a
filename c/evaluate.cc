// SPDX-License-Identifier: Apache-2.0
#include "heft/evaluate.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "c/learning.h"
#include "c/options.h"
#include "c/samples.h"
#include "c/scores.h"

namespace heft::c {
namespace {

// ReadStudy: the options of a study, of the names that its struct has.
template <typename Options>
void ReadStudy(OptionReader* read, Options* study) {
  if constexpr (requires { study->split; }) read->Text("split", &study->split);
  if constexpr (requires { study->folds; }) {
    read->Integer("folds", &study->folds).Integer("fold_seed", &study->fold_seed);
  }
  if constexpr (requires { study->samples; }) {
    if constexpr (requires { study->probes; }) {
      read->Integers("samples", &study->samples).Integers("probes", &study->probes);
      read->Integer("bootstrap_seed", &study->bootstrap_seed);
    } else {
      read->Integer("samples", &study->samples);
    }
  }
  if constexpr (requires { study->calibrate_on; }) {
    read->Integers("calibrate_on", &study->calibrate_on);
  }
  if constexpr (requires { study->draws; }) read->Integer("draws", &study->draws);
  if constexpr (requires { study->encrypted; }) read->Flag("encrypted", &study->encrypted);
  if constexpr (requires { study->partial_probes; }) {
    read->Flag("partial_probes", &study->partial_probes);
  }
  if constexpr (requires { study->fmrs; }) read->Numbers("fmrs", &study->fmrs);
  if constexpr (requires { study->replicates; }) read->Integer("replicates", &study->replicates, 0);
  if constexpr (requires { study->seed; }) read->Integer("seed", &study->seed);
  if constexpr (requires { study->curve; }) read->Flag("curve", &study->curve);
  if constexpr (requires { study->scores; }) read->Flag("scores", &study->scores);
  if constexpr (requires { study->pictures; }) read->Flag("pictures", &study->pictures);
  read->Flag("page", &study->page).Text("command", &study->command);
}

template <typename Options>
absl::StatusOr<Options> StudyOf(const heft_options* options) {
  Options study;
  OptionReader read(options);
  ReadStudy(&read, &study);
  HEFT_RETURN_IF_ERROR(read.Finish());
  return study;
}

// Inputs of a study.
struct Inputs {
  const TrainingData& data;
  std::vector<FoldModels> sets;
  const heft_dataset* distractors;
  const heft_dataset* strangers;
  const heft_options* options;
  const Monitor monitor;

  // One: the model of a study that takes exactly one.
  absl::StatusOr<const Model*> One() const {
    if (sets.size() == 1 && sets[0].models.size() == 1) return &sets[0].models[0];
    return absl::InvalidArgumentError("models: this study takes one model");
  }
  // Set: the models of a study that takes one set.
  absl::StatusOr<std::span<const Model>> Set() const {
    if (sets.size() <= 1) return sets.empty() ? std::span<const Model>() : sets[0].models;
    return absl::InvalidArgumentError("models: this study takes one set of models");
  }
};

absl::StatusOr<heft::Report> RunEvaluation(const Inputs& in) {
  HEFT_ASSIGN_OR_RETURN(const auto options, StudyOf<EvaluationOptions>(in.options));
  HEFT_ASSIGN_OR_RETURN(const Model* model, in.One());
  return Evaluate(in.data, *model, options, in.monitor);
}

absl::StatusOr<heft::Report> RunFolds(const Inputs& in) {
  HEFT_ASSIGN_OR_RETURN(const auto options, StudyOf<FoldOptions>(in.options));
  return EvaluateFolds(in.data, in.sets, options, in.monitor);
}

absl::StatusOr<heft::Report> RunChoices(const Inputs& in) {
  HEFT_ASSIGN_OR_RETURN(const auto options, StudyOf<FoldOptions>(in.options));
  return CompareChoices(in.data, options, in.monitor);
}

absl::StatusOr<heft::Report> RunSamples(const Inputs& in) {
  HEFT_ASSIGN_OR_RETURN(const auto options, StudyOf<SampleStudyOptions>(in.options));
  HEFT_ASSIGN_OR_RETURN(const auto models, in.Set());
  return EvaluateSamples(in.data, models, options, in.monitor);
}

absl::StatusOr<heft::Report> RunProtection(const Inputs& in) {
  HEFT_ASSIGN_OR_RETURN(const auto options, StudyOf<ProtectionOptions>(in.options));
  HEFT_ASSIGN_OR_RETURN(const Model* model, in.One());
  return EvaluateProtection(in.data, *model, options, in.monitor);
}

absl::StatusOr<heft::Report> RunSearches(const Inputs& in) {
  HEFT_ASSIGN_OR_RETURN(const auto options, StudyOf<SearchStudyOptions>(in.options));
  HEFT_ASSIGN_OR_RETURN(const auto models, in.Set());
  return EvaluateSearches(in.data, models, options, in.monitor);
}

absl::StatusOr<heft::Report> RunGallery(const Inputs& in) {
  HEFT_ASSIGN_OR_RETURN(const auto options, StudyOf<GalleryOptions>(in.options));
  HEFT_ASSIGN_OR_RETURN(const Model* model, in.One());
  HEFT_RETURN_IF_ERROR(Given(in.distractors, "distractors"));
  return EvaluateGallery(in.data, *model, in.distractors->data,
                         in.strangers == nullptr ? nullptr : &in.strangers->data, options,
                         in.monitor);
}

absl::StatusOr<heft::Report> RunProtocol(const Inputs& in) {
  ProtocolOptions options;
  std::string folder, names;
  OptionReader read(in.options);
  ReadStudy(&read, &options);
  read.Text("folder", &folder).Text("names", &names);
  HEFT_RETURN_IF_ERROR(read.Finish());
  HEFT_ASSIGN_OR_RETURN(const Model* model, in.One());
  return EvaluateProtocol(in.data, *model, folder, names, options, in.monitor);
}

absl::StatusOr<heft::Report> Run(std::string_view study, const Inputs& in) {
  if (study == "evaluation") return RunEvaluation(in);
  if (study == "folds") return RunFolds(in);
  if (study == "choices") return RunChoices(in);
  if (study == "samples") return RunSamples(in);
  if (study == "protection") return RunProtection(in);
  if (study == "searches") return RunSearches(in);
  if (study == "gallery") return RunGallery(in);
  if (study == "protocol") return RunProtocol(in);
  return absl::InvalidArgumentError(absl::StrCat("study \"", std::string(study),
                                                 "\": give evaluation, folds, choices, samples, "
                                                 "protection, searches, gallery or protocol"));
}

// SetsOf: models by the names of their sets, in order of appearance.
absl::StatusOr<std::vector<FoldModels>> SetsOf(const heft_model* const* models,
                                               const char* const* names, size_t count) {
  if (count > 0) HEFT_RETURN_IF_ERROR(Given(models, "models"));
  HEFT_ASSIGN_OR_RETURN(const auto sets, Strings(names, count, "names"));
  std::vector<FoldModels> out;
  for (size_t i = 0; i < count; ++i) {
    HEFT_RETURN_IF_ERROR(Given(models[i], "a model"));
    const std::string name = sets.empty() ? "" : sets[i];
    auto set = std::ranges::find(out, name, &FoldModels::name);
    if (set == out.end()) set = out.insert(out.end(), {name, {}});
    set->models.push_back(models[i]->model);
  }
  return out;
}

absl::StatusOr<std::vector<NamedScores>> SystemsOf(const heft_scores* const* systems,
                                                   const char* const* names, size_t count) {
  if (count > 0) HEFT_RETURN_IF_ERROR(Given(systems, "systems", names, "names"));
  HEFT_ASSIGN_OR_RETURN(auto texts, Strings(names, count, "names"));
  std::vector<NamedScores> out;
  for (size_t i = 0; i < count; ++i) {
    HEFT_RETURN_IF_ERROR(Given(systems[i], "a system"));
    out.push_back({std::move(texts[i]), systems[i]->table});
  }
  return out;
}

Json PicturesJson(const std::vector<std::pair<std::string, std::string>>& pictures) {
  Json json = Json::object();
  for (const auto& [file, svg] : pictures) json[file] = svg;
  return json;
}

Json ReportJson(const heft::Report& report) {
  return {{"results", report.json},
          {"text", report.text},
          {"page", report.page},
          {"pictures", PicturesJson(report.pictures)},
          {"warnings", report.warnings}};
}

absl::StatusOr<std::string> DrawCurve(const heft_options* options) {
  std::vector<int> epochs;
  std::vector<double> train, val;
  int best = 0;
  OptionReader read(options);
  read.Integers("epochs", &epochs).Numbers("train_auroc", &train).Numbers("val_auroc", &val);
  read.Integer("best_epoch", &best);
  HEFT_RETURN_IF_ERROR(read.Finish());
  if (train.size() != epochs.size() || val.size() != epochs.size()) {
    return absl::InvalidArgumentError("give one train_auroc and one val_auroc for each epoch");
  }
  std::vector<LearnEpoch> curve;
  for (size_t i = 0; i < epochs.size(); ++i) curve.push_back({epochs[i], train[i], val[i]});
  return DrawLearningCurve(curve, best);
}

}  // namespace
}  // namespace heft::c

using heft::c::Allowed;
using heft::c::AsMonitor;
using heft::c::Call;
using heft::c::Given;

heft_status heft_scores_measure(const heft_scores* const* systems, const char* const* names,
                                size_t count, const heft_options* options, heft_monitor monitor,
                                void* user, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto measured, heft::c::StudyOf<heft::ScoreOptions>(options));
    HEFT_ASSIGN_OR_RETURN(const auto tables, heft::c::SystemsOf(systems, names, count));
    HEFT_ASSIGN_OR_RETURN(const heft::Report report,
                          heft::MeasureScores(tables, measured, AsMonitor(monitor, user)));
    *result = new heft_result(heft::c::ReportJson(report));
    return absl::OkStatus();
  });
}

heft_status heft_evaluate(const char* study, const heft_dataset* dataset,
                          const heft_model* const* models, const char* const* names, size_t count,
                          const heft_dataset* distractors, const heft_dataset* strangers,
                          const heft_options* study_options, heft_monitor monitor, void* user,
                          heft_result** result, heft_scores** scores, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(study, "study", dataset, "dataset", result, "result"));
    HEFT_RETURN_IF_ERROR(Given(scores, "scores"));
    HEFT_RETURN_IF_ERROR(Allowed(distractors, "distractors"));
    HEFT_RETURN_IF_ERROR(Allowed(strangers, "strangers"));
    HEFT_RETURN_IF_ERROR(Allowed(study_options, "study_options"));
    HEFT_ASSIGN_OR_RETURN(auto sets, heft::c::SetsOf(models, names, count));
    HEFT_ASSIGN_OR_RETURN(
        heft::Report report,
        heft::c::Run(study, {dataset->data, std::move(sets), distractors, strangers, study_options,
                             AsMonitor(monitor, user)}));
    auto table = std::make_unique<heft_scores>(std::move(report.scores));
    *result = new heft_result(heft::c::ReportJson(report));
    *scores = table.release();
    return absl::OkStatus();
  });
}

heft_status heft_draw_learning_curve(const heft_options* options, heft_buffer** picture,
                                     heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(picture, "picture"));
    HEFT_ASSIGN_OR_RETURN(const std::string svg, heft::c::DrawCurve(options));
    *picture = new heft_buffer(std::vector<uint8_t>(svg.begin(), svg.end()));
    return absl::OkStatus();
  });
}

heft_status heft_check_drawing(heft_error** error) {
  return Call(error, [] { return heft::CheckDrawing(); });
}
