// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "c/handles.h"
#include "c/options.h"
#include "c/samples.h"
#include "heft/c/model.h"
#include "heft/dataset.h"
#include "heft/train.h"

struct heft_dataset : heft::c::Handle<heft_dataset> {
  HEFT_C_HANDLE(heft_dataset, 'data');
  explicit heft_dataset(heft::TrainingData d) : data(std::move(d)) {}
  const heft::TrainingData data;
};

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

absl::StatusOr<SyntheticOptions> ReadSyntheticOptions(const heft_options* options) {
  SyntheticOptions people;
  std::vector<double> dimensions;
  OptionReader read(options);
  read.Integer("identities", &people.identities).Integer("seed", &people.seed);
  read.Integer("samples_per_identity", &people.samples_per_identity);
  read.Numbers("dimensions", &dimensions);
  HEFT_RETURN_IF_ERROR(read.Finish());
  if (!dimensions.empty()) people.dimensions.clear();
  for (const double dimension : dimensions) {
    if (!(dimension >= 1 && dimension <= 1e6)) {
      return absl::InvalidArgumentError("option \"dimensions\": give whole numbers from 1 on");
    }
    people.dimensions.push_back(static_cast<int>(dimension));
  }
  return people;
}

absl::StatusOr<LearnOptions> ReadLearnOptions(const heft_options* options) {
  LearnOptions learn;
  OptionReader read(options);
  read.Integer("gamma", &learn.gamma).Integer("degree", &learn.degree);
  read.Integer("epochs", &learn.epochs).Integer("patience", &learn.patience);
  read.Integer("seed", &learn.seed);
  read.Number("lambda", &learn.lambda).Number("margin", &learn.margin);
  read.Number("learning_rate", &learn.learning_rate).Number("weight_decay", &learn.weight_decay);
  read.Text("method", &learn.method);
  read.Number("shrinkage", &learn.shrinkage).Number("drop_modality", &learn.drop_modality);
  read.Text("recipe", &learn.recipe).Text("fit", &learn.fit).Text("profile", &learn.profile);
  read.Text("checkpoint", &learn.checkpoint).Flag("grid_search", &learn.grid_search);
  read.Flag("against_wolves", &learn.against_wolves);
  read.Flag("with_exact", &learn.with_exact).Numbers("modality_weights", &learn.modality_weights);
  HEFT_RETURN_IF_ERROR(read.Finish());
  return learn;
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
    HEFT_RETURN_IF_ERROR(Given(modalities, "modalities", labels, "labels", dataset, "dataset"));
    return heft::c::Hand(heft::c::FromRows(modalities, count, labels, split, split_seed), dataset);
  });
}

heft_status heft_dataset_load(const char* folder, uint64_t split_seed, heft_dataset** dataset,
                              heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(folder, "folder", dataset, "dataset"));
    return heft::c::Hand(heft::TrainingData::LoadUnlabelled(folder, split_seed), dataset);
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

heft_status heft_learn(const heft_dataset* dataset, const heft_options* options,
                       heft_monitor monitor, void* user, heft_model** model, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(dataset, "dataset", model, "model"));
    HEFT_ASSIGN_OR_RETURN(const auto learn, heft::c::ReadLearnOptions(options));
    HEFT_ASSIGN_OR_RETURN(heft::Model learned,
                          heft::Learn(dataset->data, learn, heft::c::AsMonitor(monitor, user)));
    *model = new heft_model(std::move(learned));
    return absl::OkStatus();
  });
}

heft_status heft_calibrate(const heft_model* model, const heft_dataset* dataset, uint64_t seed,
                           heft_monitor monitor, void* user, heft_model** calibrated,
                           heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", dataset, "dataset", calibrated, "calibrated"));
    HEFT_ASSIGN_OR_RETURN(heft::Model out, heft::Calibrate(model->model, dataset->data, seed,
                                                           heft::c::AsMonitor(monitor, user)));
    *calibrated = new heft_model(std::move(out));
    return absl::OkStatus();
  });
}
