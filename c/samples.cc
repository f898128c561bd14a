// SPDX-License-Identifier: Apache-2.0
#include "c/samples.h"

#include "absl/strings/str_cat.h"
#include "c/options.h"

namespace heft::c {
namespace {

struct Choices {
  std::string use = "enrolment", encoding = "compact";
  bool average = false;
};

absl::StatusOr<Choices> ReadChoices(const heft_options* options, bool fused) {
  Choices choices;
  OptionReader read(options);
  read.Text("use", &choices.use).Flag("average", &choices.average);
  if (!fused) read.Text("encoding", &choices.encoding);
  HEFT_RETURN_IF_ERROR(read.Finish());
  return choices;
}

absl::Status Apply(const Choices& choices, Samples* samples) {
  samples->average = choices.average;
  if (choices.use == "identification") {
    samples->use = SampleUse::kIdentification;
  } else if (choices.use != "enrolment") {
    return absl::InvalidArgumentError(absl::StrCat("option \"use\" is \"", choices.use,
                                                   "\": give \"enrolment\" or \"identification\""));
  }
  if (choices.encoding == "bulk") {
    samples->encoding = SampleEncoding::kBulk;
  } else if (choices.encoding == "partial") {
    samples->encoding = SampleEncoding::kPartial;
  } else if (choices.encoding != "compact") {
    return absl::InvalidArgumentError(absl::StrCat("option \"encoding\" is \"", choices.encoding,
                                                   "\": give \"compact\", \"bulk\" or "
                                                   "\"partial\""));
  }
  return absl::OkStatus();
}

// The library takes only a list of values, and would read rows of another length as more or fewer
// rows.
absl::Status CheckDimension(const std::vector<ModalitySpec>& model, const heft_rows& rows) {
  for (const ModalitySpec& spec : model) {
    if (spec.name != rows.modality || spec.dimension == rows.dimension) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        spec.name, ": vectors of dimension ", rows.dimension, ", the model has ", spec.dimension));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::span<const float>> Values(const heft_rows& rows) {
  HEFT_RETURN_IF_ERROR(Given(rows.modality, "rows.modality"));
  size_t size = 0;
  if (__builtin_mul_overflow(rows.rows, rows.dimension, &size) ||
      size > SIZE_MAX / 2 / sizeof(float)) {
    return absl::InvalidArgumentError(
        absl::StrCat(rows.rows, " rows of ", rows.dimension, " numbers are more than any memory"));
  }
  if (size > 0) HEFT_RETURN_IF_ERROR(Given(rows.values, "rows.values"));
  return std::span<const float>(rows.values, size);
}

absl::StatusOr<std::vector<std::string>> Strings(const char* const* texts, size_t count,
                                                 const char* what) {
  std::vector<std::string> strings;
  if (texts == nullptr) return strings;
  for (size_t i = 0; i < count; ++i) {
    if (texts[i] == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(what, "[", i, "] is NULL"));
    }
    strings.emplace_back(texts[i]);
  }
  return strings;
}

absl::Status SampleRows::Read(const std::vector<ModalitySpec>& model, const heft_rows* rows,
                              size_t count, const char* const* labels, const heft_options* options,
                              bool fused) {
  HEFT_ASSIGN_OR_RETURN(const Choices choices, ReadChoices(options, fused));
  if (count == 0) return absl::InvalidArgumentError("no modality: give at least one");
  HEFT_ASSIGN_OR_RETURN(labels_, Strings(labels, rows[0].rows, "labels"));
  for (size_t i = 0; i < count; ++i) {
    Samples samples;
    HEFT_ASSIGN_OR_RETURN(samples.values, Values(rows[i]));
    samples.modality = rows[i].modality;
    HEFT_RETURN_IF_ERROR(CheckDimension(model, rows[i]));
    samples.labels = labels_;
    HEFT_RETURN_IF_ERROR(Apply(choices, &samples));
    samples_.push_back(samples);
  }
  return absl::OkStatus();
}

}  // namespace heft::c
