// SPDX-License-Identifier: Apache-2.0
#include "c/decisions.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "c/handles.h"
#include "c/options.h"
#include "heft/c/model.h"
#include "heft/decisions.h"
#include "heft/train.h"

namespace heft::c {

Json ApproximationJson(const Approximation& approximation) {
  Json stages = Json::array();
  for (const Polynomial& stage : approximation.stages) {
    stages.push_back({{"coefficients", stage.coefficients},
                      {"centre", stage.centre},
                      {"half_width", stage.half_width},
                      {"degree", stage.Degree()},
                      {"plain", stage.InPowersOfS().coefficients}});
  }
  return {{"name", approximation.name},
          {"degree", approximation.Degree()},
          {"interval", {approximation.interval.lo, approximation.interval.hi}},
          {"max_relative_error", approximation.MaxRelativeError()},
          {"stages", std::move(stages)}};
}

namespace {

// Reads the numbers that a record must have.
class Fields {
 public:
  explicit Fields(const heft_options* record) : read_(record) {}
  Fields& Take(const char* name, double* number) {
    std::optional<double> given;
    read_.Number(name, &given);
    if (given) *number = *given;
    if (!given && missing_.empty()) missing_ = name;
    return *this;
  }
  Fields& Take(ImpostorTail* tail) {
    Take("start", &tail->start).Take("rate", &tail->rate).Take("scale", &tail->scale);
    return Take("shape", &tail->shape).Take("evenness", &tail->evenness);
  }
  absl::Status Finish() const {
    HEFT_RETURN_IF_ERROR(read_.Finish());
    if (missing_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("number \"", missing_, "\" is missing"));
  }

 private:
  OptionReader read_;
  std::string missing_;
};

absl::StatusOr<double> Supported(Fields fields) {
  DecisionThreshold threshold;
  double pairs = 0;
  HEFT_RETURN_IF_ERROR(fields.Take("fmr", &threshold.fmr).Take("impostor_pairs", &pairs).Finish());
  if (!(pairs >= 0 && pairs < 0x1p63)) {
    return absl::InvalidArgumentError("impostor_pairs: give a number of comparisons");
  }
  threshold.impostor_pairs = static_cast<uint64_t>(pairs);
  return threshold.Supported() ? 1 : 0;
}

absl::StatusOr<double> Number(std::string_view what, const heft_options* record) {
  Fields fields(record);
  ScoreCalibration calibration;
  ImpostorTail tail;
  double at = 0, people = 0;
  if (what == "supported") return Supported(fields);
  if (what == "log_likelihood_ratio") {
    fields.Take("slope", &calibration.slope).Take("intercept", &calibration.intercept);
    HEFT_RETURN_IF_ERROR(fields.Take("score", &at).Finish());
    return calibration.LogLikelihoodRatio(at);
  }
  if (what == "rate_at") {
    HEFT_RETURN_IF_ERROR(fields.Take(&tail).Take("threshold", &at).Finish());
    return tail.RateAt(at);
  }
  if (what == "fpir") {
    HEFT_RETURN_IF_ERROR(
        fields.Take(&tail).Take("threshold", &at).Take("people", &people).Finish());
    return tail.Fpir(at, people);
  }
  if (what == "threshold_for") {
    HEFT_RETURN_IF_ERROR(fields.Take(&tail).Take("fpir", &at).Take("people", &people).Finish());
    return tail.ThresholdFor(at, people);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("what is \"", std::string(what),
                   "\": give supported, log_likelihood_ratio, rate_at, fpir or threshold_for"));
}

absl::Status NoStages() {
  return absl::InvalidArgumentError(
      "stages: give an array of polynomials with coefficients, centre and half_width");
}

absl::StatusOr<double> NumberOf(const Json* json) {
  if (json == nullptr || !json->is_number()) return NoStages();
  return json->get<double>();
}

absl::StatusOr<Approximation> ReadStages(const char* stages) {
  const absl::StatusOr<Json> json = Json::Parse(stages);
  if (!json.ok() || !json->is_array()) return NoStages();
  Approximation approximation;
  for (const Json& stage : *json) {
    Polynomial& polynomial = approximation.stages.emplace_back();
    const Json* coefficients = stage.is_object() ? stage.find("coefficients") : nullptr;
    if (coefficients == nullptr || !coefficients->is_array()) return NoStages();
    for (const Json& one : *coefficients) {
      HEFT_ASSIGN_OR_RETURN(polynomial.coefficients.emplace_back(), NumberOf(&one));
    }
    HEFT_ASSIGN_OR_RETURN(polynomial.centre, NumberOf(stage.find("centre")));
    HEFT_ASSIGN_OR_RETURN(polynomial.half_width, NumberOf(stage.find("half_width")));
  }
  return approximation;
}

}  // namespace
}  // namespace heft::c

using heft::c::Call;
using heft::c::Given;

heft_status heft_approximation_fit(int degree, double lo, double hi, const char* kind,
                                   heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(kind, "kind", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const heft::FitKind parsed, heft::ParseFitKind(kind));
    HEFT_ASSIGN_OR_RETURN(const auto fitted, heft::Fit(parsed, degree, {lo, hi}));
    *result = new heft_result(heft::c::ApproximationJson(fitted));
    return absl::OkStatus();
  });
}

heft_status heft_approximation_at(const char* stages, double s, double* value, double* derivative,
                                  heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(stages, "stages", value, "value", derivative, "derivative"));
    HEFT_ASSIGN_OR_RETURN(const auto approximation, heft::c::ReadStages(stages));
    *value = approximation(s);
    *derivative = approximation.Derivative(s);
    return absl::OkStatus();
  });
}

heft_status heft_decision_number(const char* what, const heft_options* record, double* number,
                                 heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(what, "what", record, "record", number, "number"));
    HEFT_ASSIGN_OR_RETURN(*number, heft::c::Number(what, record));
    return absl::OkStatus();
  });
}
