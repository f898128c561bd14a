// SPDX-License-Identifier: Apache-2.0
#include "heft/model.h"

#include "c/handles.h"
#include "c/options.h"
#include "c/result.h"
#include "heft/inspect.h"
#include "heft/results.h"

namespace heft::c {
namespace {

// ModelJson, with null for members that a model lacks.
absl::StatusOr<Json> Describe(const Model& model) {
  HEFT_ASSIGN_OR_RETURN(Json json, ModelJson(model));
  const Interval& interval = model.approximation.interval;
  json["model_id"] = Hex(model.Id());
  json["interval"] = {interval.lo, interval.hi};
  if (!json.contains("sample_agreement")) json["sample_agreement"] = nullptr;
  return json;
}

// SetOf: of the option "modalities"; without it all of the model's.
absl::StatusOr<uint32_t> SetOf(const Model& model, const heft_options* options) {
  std::vector<std::string> modalities;
  OptionReader read(options);
  read.Texts("modalities", &modalities);
  HEFT_RETURN_IF_ERROR(read.Finish());
  if (modalities.empty()) return model.AllModalities();
  return model.SetOf(modalities);
}

}  // namespace
}  // namespace heft::c

using heft::c::Call;
using heft::c::Given;

heft_status heft_model_load(const char* path, heft_model** model, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(path, "path", model, "model"));
    HEFT_ASSIGN_OR_RETURN(heft::Model loaded, heft::LoadModel(path));
    *model = new heft_model(std::move(loaded));
    return absl::OkStatus();
  });
}

heft_status heft_model_parse(heft_bytes bytes, const char* what, heft_model** model,
                             heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(bytes, "bytes", what, "what", model, "model"));
    HEFT_ASSIGN_OR_RETURN(heft::Model parsed, heft::Model::Parse(heft::c::Span(bytes), what));
    *model = new heft_model(std::move(parsed));
    return absl::OkStatus();
  });
}

void heft_model_free(heft_model* model) { heft::c::Free(model); }

heft_status heft_model_serialize(const heft_model* model, heft_buffer** bytes, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", bytes, "bytes"));
    *bytes = new heft_buffer(model->model.Serialize());
    return absl::OkStatus();
  });
}

heft_status heft_model_describe(const heft_model* model, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", result, "result"));
    HEFT_ASSIGN_OR_RETURN(heft::Json json, heft::c::Describe(model->model));
    *result = new heft_result(std::move(json));
    return absl::OkStatus();
  });
}

heft_status heft_model_threshold(const heft_model* model, double fmr, const heft_options* options,
                                 heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const uint32_t set, heft::c::SetOf(model->model, options));
    HEFT_ASSIGN_OR_RETURN(const auto threshold, model->model.ThresholdFor(fmr, set));
    *result = new heft_result(heft::c::RecordJson(threshold));
    return absl::OkStatus();
  });
}

heft_status heft_model_search_threshold(const heft_model* model, double fpir, uint64_t people,
                                        uint32_t templates, const heft_options* options,
                                        heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const uint32_t set, heft::c::SetOf(model->model, options));
    HEFT_ASSIGN_OR_RETURN(const auto threshold,
                          model->model.ThresholdForSearch(fpir, people, templates, set));
    *result = new heft_result(heft::c::RecordJson(threshold));
    return absl::OkStatus();
  });
}

heft_status heft_inspect(heft_bytes bytes, const char* what, heft_result** result,
                         heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(bytes, "bytes", what, "what", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const heft::FileInfo info, heft::InspectFile(heft::c::Span(bytes), what));
    heft::Json json = {
        {"kind", info.kind}, {"name", info.name}, {"version", info.version}, {"bytes", info.bytes}};
    if (info.params_id) json["params_id"] = heft::c::Hex(*info.params_id);
    if (info.key_id) json["key_id"] = heft::c::Hex(*info.key_id);
    *result = new heft_result(std::move(json));
    return absl::OkStatus();
  });
}
