// SPDX-License-Identifier: Apache-2.0
#include "c/learning.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "c/handles.h"
#include "c/options.h"
#include "c/result.h"
#include "c/samples.h"
#include "heft/c/model.h"
#include "heft/dataset.h"
#include "heft/evaluate.h"
#include "heft/train.h"

namespace heft::c {
namespace {

absl::StatusOr<TrainingData> FromRows(const heft_rows* modalities, size_t count,
                                      const char* const* labels, const char* const* split,
                                      uint64_t split_seed) {
  if (count == 0) return absl::InvalidArgumentError("no modality: give at least one");
  const size_t rows = modalities[0].rows;
  std::vector<ModalityRows> all;
  for (size_t i = 0; i < count; ++i) {
    HEFT_ASSIGN_OR_RETURN(const auto values, Values(modalities[i]));
    if (modalities[i].rows != rows) {
      return absl::InvalidArgumentError(absl::StrCat(modalities[i].modality, ": ",
                                                     modalities[i].rows, " rows, ",
                                                     modalities[0].modality, " has ", rows));
    }
    all.push_back({modalities[i].modality, modalities[i].dimension, values});
  }
  HEFT_ASSIGN_OR_RETURN(auto names, Strings(labels, rows, "labels"));
  HEFT_ASSIGN_OR_RETURN(const auto parts, Strings(split, rows, "split"));
  return TrainingData::FromRows(all, std::move(names), parts, split_seed);
}

// ReadFactors: each option of the factor model chooses it.
void ReadFactors(OptionReader* read, std::optional<FactorModel>* factors) {
  std::vector<double> jitter, within, noise;
  std::optional<int> rank_identity, rank_within;
  read->Numbers("jitter", &jitter).Numbers("within", &within).Numbers("noise", &noise);
  read->Integer("rank_identity", &rank_identity).Integer("rank_within", &rank_within);
  if (jitter.empty() && within.empty() && noise.empty() && !rank_identity && !rank_within) return;
  FactorModel& model = factors->emplace();
  if (!jitter.empty()) model.jitter = std::move(jitter);
  if (!within.empty()) model.within = std::move(within);
  if (!noise.empty()) model.noise = std::move(noise);
  model.rank_identity = rank_identity.value_or(model.rank_identity);
  model.rank_within = rank_within.value_or(model.rank_within);
}

absl::StatusOr<SyntheticOptions> ReadSyntheticOptions(const heft_options* options) {
  SyntheticOptions people;
  bool papers_size = false;
  OptionReader read(options);
  read.Flag("papers_size", &papers_size);
  if (papers_size) people = PaperSize();
  read.Integer("identities", &people.identities).Integer("seed", &people.seed);
  read.Integer("samples", &people.samples_per_identity);
  read.Integers("dimensions", &people.dimensions).Integers("all_pairs_of", &people.all_pairs_of);
  ReadFactors(&read, &people.factors);
  HEFT_RETURN_IF_ERROR(read.Finish());
  return people;
}

// Learning: options of heft_learn; `with_curve` keeps the epochs.
struct Learning {
  LearnOptions options;
  bool with_curve = false;
};

absl::StatusOr<Learning> ReadLearning(const heft_options* options) {
  Learning learning;
  LearnOptions& learn = learning.options;
  OptionReader read(options);
  read.Integer("gamma", &learn.gamma).Integer("degree", &learn.degree);
  read.Integer("epochs", &learn.epochs).Integer("patience", &learn.patience);
  read.Integer("seed", &learn.seed);
  read.Number("weight_of_pairs", &learn.lambda).Number("margin", &learn.margin);
  read.Number("learning_rate", &learn.learning_rate).Number("weight_decay", &learn.weight_decay);
  read.Text("method", &learn.method);
  read.Number("shrinkage", &learn.shrinkage).Number("drop_modality", &learn.drop_modality);
  read.Text("recipe", &learn.recipe).Text("fit", &learn.fit).Text("profile", &learn.profile);
  read.Text("checkpoint", &learn.checkpoint).Flag("grid_search", &learn.grid_search);
  read.Flag("against_wolves", &learn.against_wolves);
  read.Flag("with_exact", &learn.with_exact).Numbers("modality_weights", &learn.modality_weights);
  read.Flag("with_curve", &learning.with_curve);
  HEFT_RETURN_IF_ERROR(read.Finish());
  return learning;
}

absl::StatusOr<TrainingData> Load(const char* folder, const heft_options* options) {
  uint64_t split_seed = 1;
  bool labelled = false;
  OptionReader read(options);
  read.Integer("split_seed", &split_seed).Flag("labelled", &labelled);
  HEFT_RETURN_IF_ERROR(read.Finish());
  return labelled ? TrainingData::Load(folder, split_seed)
                  : TrainingData::LoadUnlabelled(folder, split_seed);
}

absl::StatusOr<Model> CalibrateOn(const Model& model, const TrainingData& data,
                                  const heft_options* options, const Monitor& monitor) {
  uint64_t seed = 1;
  bool against_wolves = false;
  OptionReader read(options);
  read.Integer("seed", &seed).Flag("against_wolves", &against_wolves);
  HEFT_RETURN_IF_ERROR(read.Finish());
  return Calibrate(model, data, seed, monitor, against_wolves);
}

// Curve: the epochs of a training, null if they were not kept.
Json Curve(const Learning& learning, const std::vector<LearnEpoch>& epochs) {
  if (!learning.with_curve) return nullptr;
  Json json = Json::array();
  for (const LearnEpoch& epoch : epochs) json.push_back(RecordJson(epoch));
  return json;
}

// TrainingJson: warnings of training and calibration about a model, of those that made it.
Json TrainingJson(const Model& model) {
  Json warnings = Json::array();
  for (const auto& described : {DescribeTraining(model), DescribeCalibration(model)}) {
    if (!described.ok()) continue;  // not made by it
    for (const std::string& warning : described->warnings) warnings.push_back(warning);
  }
  return {{"split_seed", SplitSeed(model)}, {"warnings", std::move(warnings)}};
}

absl::Status CopyVectors(const TrainingData& data, size_t modality, float* values, size_t size) {
  const auto dimensions = data.dimensions();
  if (modality >= dimensions.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("modality ", modality, ": there are ", dimensions.size()));
  }
  const size_t needed = data.size() * static_cast<size_t>(dimensions[modality]);
  if (size != needed) {
    return absl::InvalidArgumentError(
        absl::StrCat("space for ", size, " numbers given, the vectors have ", needed));
  }
  for (size_t row = 0; row < data.size(); ++row) {
    values = std::ranges::copy(data.Vector(modality, row), values).out;
  }
  return absl::OkStatus();
}

Json Describe(const TrainingData& data) {
  Json modalities = Json::array();
  const auto names = data.modalities();
  const auto dimensions = data.dimensions();
  for (size_t i = 0; i < names.size(); ++i) {
    modalities.push_back(Json::object({{"name", names[i]}, {"dimension", dimensions[i]}}));
  }
  return {{"rows", data.size()},
          {"modalities", std::move(modalities)},
          {"labels", data.labels()},
          {"left_out", data.left_out()}};
}

// Gives a data set to the caller of a C function.
absl::Status Hand(absl::StatusOr<TrainingData> data, heft_dataset** dataset) {
  if (!data.ok()) return data.status();
  *dataset = new heft_dataset(*std::move(data));
  return absl::OkStatus();
}

}  // namespace
}  // namespace heft::c

using heft::c::Call;
using heft::c::Given;

heft_status heft_dataset_from_rows(const heft_rows* modalities, size_t count,
                                   const char* const* labels, const char* const* split,
                                   uint64_t split_seed, heft_dataset** dataset,
                                   heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(modalities, "modalities", dataset, "dataset"));
    return heft::c::Hand(heft::c::FromRows(modalities, count, labels, split, split_seed), dataset);
  });
}

heft_status heft_dataset_load(const char* folder, const heft_options* options,
                              heft_dataset** dataset, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(folder, "folder", dataset, "dataset"));
    return heft::c::Hand(heft::c::Load(folder, options), dataset);
  });
}

heft_status heft_dataset_synthesise(const heft_options* options, heft_dataset** dataset,
                                    heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(dataset, "dataset"));
    HEFT_ASSIGN_OR_RETURN(const auto people, heft::c::ReadSyntheticOptions(options));
    return heft::c::Hand(heft::TrainingData::Synthesise(people), dataset);
  });
}

void heft_dataset_free(heft_dataset* dataset) { heft::c::Free(dataset); }

heft_status heft_dataset_write(const heft_dataset* dataset, const char* folder,
                               heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(dataset, "dataset", folder, "folder"));
    return dataset->data.Write(folder);
  });
}

heft_status heft_dataset_describe(const heft_dataset* dataset, heft_result** result,
                                  heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(dataset, "dataset", result, "result"));
    *result = new heft_result(heft::c::Describe(dataset->data));
    return absl::OkStatus();
  });
}

heft_status heft_dataset_vector(const heft_dataset* dataset, size_t modality, size_t row,
                                float* values, size_t dimension, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(dataset, "dataset", values, "values"));
    const auto dimensions = dataset->data.dimensions();
    if (modality >= dimensions.size() || row >= dataset->data.size()) {
      return absl::InvalidArgumentError(absl::StrCat("row ", row, " of modality ", modality,
                                                     ": there are ", dataset->data.size(),
                                                     " rows of ", dimensions.size()));
    }
    if (static_cast<size_t>(dimensions[modality]) != dimension) {
      return absl::InvalidArgumentError(absl::StrCat(
          "space for ", dimension, " numbers given, the vector has ", dimensions[modality]));
    }
    const std::vector<float> vector = dataset->data.Vector(modality, row);
    std::copy(vector.begin(), vector.end(), values);
    return absl::OkStatus();
  });
}

heft_status heft_dataset_vectors(const heft_dataset* dataset, size_t modality, float* values,
                                 size_t size, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(dataset, "dataset", values, "values"));
    return heft::c::CopyVectors(dataset->data, modality, values, size);
  });
}

heft_status heft_vectors_read(const char* path, heft_buffer** values, size_t* rows,
                              size_t* dimension, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(path, "path", values, "values", rows, "rows"));
    HEFT_RETURN_IF_ERROR(Given(dimension, "dimension"));
    HEFT_ASSIGN_OR_RETURN(const heft::FeatureRows read, heft::ReadVectors(path));
    const auto* const first = reinterpret_cast<const uint8_t*>(read.values.data());
    *values = new heft_buffer({first, first + read.values.size() * sizeof(float)});
    *rows = read.size();
    *dimension = read.dimension;
    return absl::OkStatus();
  });
}

heft_status heft_labels_read(const char* path, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(path, "path", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto labels, heft::ReadLabels(path));
    *result = new heft_result(heft::Json(labels));
    return absl::OkStatus();
  });
}

heft_status heft_learn(const heft_dataset* dataset, const heft_options* options,
                       heft_monitor monitor, void* user, heft_model** model, heft_result** curve,
                       heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(dataset, "dataset", model, "model"));
    HEFT_ASSIGN_OR_RETURN(auto learning, heft::c::ReadLearning(options));
    std::vector<heft::LearnEpoch> epochs;
    if (learning.with_curve) learning.options.curve = &epochs;
    HEFT_ASSIGN_OR_RETURN(heft::Model learned, heft::Learn(dataset->data, learning.options,
                                                           heft::c::AsMonitor(monitor, user)));
    auto made = std::make_unique<heft_model>(std::move(learned));
    if (curve != nullptr) *curve = new heft_result(heft::c::Curve(learning, epochs));
    *model = made.release();
    return absl::OkStatus();
  });
}

heft_status heft_learn_folds(const heft_dataset* dataset, int folds, uint64_t fold_seed,
                             const heft_options* options, heft_monitor monitor, void* user,
                             heft_models** models, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(dataset, "dataset", models, "models"));
    HEFT_ASSIGN_OR_RETURN(const auto learning, heft::c::ReadLearning(options));
    if (learning.with_curve) {
      return absl::InvalidArgumentError("folds are trained without \"with_curve\"");
    }
    HEFT_ASSIGN_OR_RETURN(auto learned,
                          heft::LearnFolds(dataset->data, learning.options, folds, fold_seed,
                                           heft::c::AsMonitor(monitor, user)));
    *models = new heft_models(std::move(learned));
    return absl::OkStatus();
  });
}

heft_status heft_load_folds(const char* folder, const heft_dataset* dataset, int folds,
                            uint64_t fold_seed, heft_models** models, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(folder, "folder", dataset, "dataset", models, "models"));
    HEFT_ASSIGN_OR_RETURN(auto loaded, heft::LoadFolds(folder, dataset->data, folds, fold_seed));
    *models = new heft_models(std::move(loaded));
    return absl::OkStatus();
  });
}

heft_status heft_fold_file(const char* folder, int fold, heft_buffer** path, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(folder, "folder", path, "path"));
    const std::string file = heft::FoldFile(folder, fold);
    *path = new heft_buffer(std::vector<uint8_t>(file.begin(), file.end()));
    return absl::OkStatus();
  });
}

heft_status heft_models_get(const heft_models* models, size_t index, heft_model** model,
                            heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(models, "models", model, "model"));
    if (index >= models->models.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("model ", index, ": there are ", models->models.size()));
    }
    *model = new heft_model(models->models[index]);
    return absl::OkStatus();
  });
}

void heft_models_free(heft_models* models) { heft::c::Free(models); }

heft_status heft_calibrate(const heft_model* model, const heft_dataset* dataset,
                           const heft_options* options, heft_monitor monitor, void* user,
                           heft_model** calibrated, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", dataset, "dataset", calibrated, "calibrated"));
    HEFT_ASSIGN_OR_RETURN(heft::Model out,
                          heft::c::CalibrateOn(model->model, dataset->data, options,
                                               heft::c::AsMonitor(monitor, user)));
    *calibrated = new heft_model(std::move(out));
    return absl::OkStatus();
  });
}

heft_status heft_model_describe_training(const heft_model* model, heft_result** result,
                                         heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", result, "result"));
    *result = new heft_result(heft::c::TrainingJson(model->model));
    return absl::OkStatus();
  });
}
