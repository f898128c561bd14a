// SPDX-License-Identifier: Apache-2.0
#include "heft/model.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "c/decisions.h"
#include "c/handles.h"
#include "c/options.h"
#include "c/result.h"
#include "c/samples.h"
#include "heft/desk.h"
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
  json["approximation"] = ApproximationJson(model.approximation);
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

heft_status heft_model_open(heft_bytes bytes, const heft_trust* trust, const char* what,
                            heft_model** model, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(bytes, "bytes", what, "what", model, "model"));
    HEFT_RETURN_IF_ERROR(heft::c::Allowed(trust, "trust"));
    const heft::Trust* const trusted = trust == nullptr ? nullptr : &trust->trust;
    HEFT_ASSIGN_OR_RETURN(heft::Model read,
                          heft::ReadTrustedModel(trusted, heft::c::Span(bytes), what));
    *model = new heft_model(std::move(read));
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

heft_status heft_model_tables(const heft_model* model, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", result, "result"));
    *result = new heft_result(heft::c::RecordJson(model->model.tables));
    return absl::OkStatus();
  });
}

heft_status heft_model_table(const heft_model* model, const heft_options* options,
                             heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const uint32_t set, heft::c::SetOf(model->model, options));
    HEFT_ASSIGN_OR_RETURN(const heft::DecisionTable* table, model->model.TableFor(set));
    *result = new heft_result(heft::c::RecordJson(*table));
    return absl::OkStatus();
  });
}

heft_status heft_model_names_of(const heft_model* model, uint32_t set, heft_result** result,
                                heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", result, "result"));
    *result = new heft_result(heft::Json(model->model.NamesOf(set)));
    return absl::OkStatus();
  });
}

heft_status heft_model_projection(const heft_model* model, int exact, const double** values,
                                  size_t* rows, size_t* columns, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", values, "values", rows, "rows"));
    HEFT_RETURN_IF_ERROR(Given(columns, "columns"));
    const heft::Model& of = model->model;
    const std::vector<double>& numbers = exact != 0 ? of.exact_projection : of.projection;
    *values = numbers.data();
    *rows = numbers.empty() ? 0 : of.gamma;
    *columns = numbers.size() / of.gamma;
    return absl::OkStatus();
  });
}

heft_status heft_model_fuse(const heft_model* model, const heft_rows* modalities, size_t count,
                            float* values, size_t size, size_t* outside, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", modalities, "modalities", values, "values"));
    HEFT_RETURN_IF_ERROR(Given(outside, "outside"));
    heft::c::SampleRows samples;
    HEFT_RETURN_IF_ERROR(samples.Read(model->model.modalities, modalities, count,
                                      /*labels=*/nullptr, /*options=*/nullptr, /*fused=*/true));
    HEFT_ASSIGN_OR_RETURN(const auto fused,
                          heft::FuseInClear(model->model, samples.views(), outside));
    if (size != fused.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("space for ", size, " numbers given, the templates have ", fused.size()));
    }
    std::transform(fused.begin(), fused.end(), values,
                   [](double value) { return static_cast<float>(value); });
    return absl::OkStatus();
  });
}

heft_status heft_inspect(heft_bytes bytes, const char* what, heft_result** result,
                         heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(bytes, "bytes", what, "what", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const heft::FileInfo info, heft::InspectFile(heft::c::Span(bytes), what));
    *result = new heft_result(heft::c::RecordJson(info));
    return absl::OkStatus();
  });
}

heft_status heft_describe_file(const char* path, const heft_options* options,
                               const heft_trust* trust, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(path, "path", result, "result"));
    HEFT_RETURN_IF_ERROR(heft::c::Allowed(trust, "trust"));
    bool plan = false;
    heft::c::OptionReader read(options);
    HEFT_RETURN_IF_ERROR(read.Flag("plan", &plan).Finish());
    HEFT_ASSIGN_OR_RETURN(
        const heft::Described described,
        heft::DescribeFile(path, plan, trust == nullptr ? nullptr : &trust->trust));
    *result = new heft_result(heft::Json({{"facts", described.json}, {"text", described.text}}));
    return absl::OkStatus();
  });
}

heft_status heft_describe_plan(const heft_model* model, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const heft::PlanInfo plan, heft::DescribePlan(model->model));
    *result = new heft_result(heft::PlanJson(plan));
    return absl::OkStatus();
  });
}

heft_status heft_describe_profile(const char* name, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(name, "name", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const heft::ProfileInfo profile, heft::DescribeProfile(name));
    *result = new heft_result(heft::c::RecordJson(profile));
    return absl::OkStatus();
  });
}

heft_status heft_profile_of(const char* params_id, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(params_id, "params_id", result, "result"));
    const auto id = heft::ParseGalleryId(params_id);  // of the same form
    if (!id.ok()) {
      return absl::InvalidArgumentError(
          "params_id: give 32 hexadecimal digits, as heft_inspect returns them");
    }
    const std::optional<heft::ProfileInfo> profile = heft::ProfileOf(*id);
    *result = new heft_result(profile ? heft::c::RecordJson(*profile) : heft::Json());
    return absl::OkStatus();
  });
}
