// SPDX-License-Identifier: Apache-2.0
#include "fusion/mean.h"

#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "ckks/arithmetic.h"
#include "fusion/compact.h"

namespace heft {

absl::Status CheckMean(const Model& model, size_t samples) {
  if (samples == 0 || samples > kMaxSamples) {
    return absl::InvalidArgumentError(absl::StrCat(samples,
                                                   " samples of one person: a mean takes 1 to ",
                                                   kMaxSamples, "; leave some of them out"));
  }
  if (samples == 1 || model.sample_agreement) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the model does not state how similar the samples of a person are, so the length of their "
      "mean is unknown: train it again (heft train, recipe generalising, with people who have "
      "several samples)");
}

double MeanFactor(const Model& model, size_t samples) {
  if (samples <= 1) return 1;
  const double n = static_cast<double>(samples), a = model.sample_agreement.value_or(1);
  return 1 / (n * std::sqrt(a + (1 - a) / n));
}

absl::Status AddSample(const ckks::Context& context, const ckks::Ciphertext& sample,
                       ckks::Ciphertext* sum) {
  if (!sum->parts.empty()) return ckks::Add(context, sum, *sum, sample);
  *sum = sample;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<RowsOfLabel>> GroupByLabel(std::span<const std::string> labels,
                                                      size_t rows) {
  std::vector<RowsOfLabel> groups;
  if (labels.empty()) {
    groups.push_back({});
    for (size_t i = 0; i < rows; ++i) groups[0].rows.push_back(i);
    return groups;
  }
  if (labels.size() != rows) {
    return absl::InvalidArgumentError(absl::StrCat(labels.size(), " labels for ", rows, " rows"));
  }
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < rows; ++i) {
    if (labels[i].empty() != labels[0].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("row ", labels[i].empty() ? i : 0,
                       " has no label: give a label for every row, or for none"));
    }
    const auto [place, added] = places.try_emplace(labels[i], groups.size());
    if (added) groups.push_back({labels[i], {}});
    groups[place->second].rows.push_back(i);
  }
  return groups;
}

absl::StatusOr<std::vector<std::vector<double>>> MeanRows(const Model& model, size_t index,
                                                          std::span<const std::vector<double>> rows,
                                                          std::span<const RowsOfLabel> groups) {
  std::vector<std::vector<double>> out;
  for (const RowsOfLabel& group : groups) {
    HEFT_RETURN_IF_ERROR(CheckMean(model, group.rows.size()));
    const double factor = MeanFactor(model, group.rows.size());
    std::vector<double> mean(model.modalities[index].dimension, 0.0);
    for (const size_t row : group.rows) {
      const auto unit = NormalisedVector(rows[row], model.modalities[index]);
      if (!unit.ok()) return AtRow(unit.status(), row);
      for (size_t d = 0; d < mean.size(); ++d) mean[d] += factor * (*unit)[d];
    }
    out.push_back(std::move(mean));
  }
  return out;
}

}  // namespace heft
