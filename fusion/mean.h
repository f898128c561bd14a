// SPDX-License-Identifier: Apache-2.0
// Several samples of one person as one: their mean, taken before normalisation, under encryption by
// the server or in plain by the client (docs/design.md, "Several samples of one person").
//
// The mean of n projections z is shorter than one of them, depending on their differences: |mean|^2
// = |z|^2 (a + (1 - a) / n) on average, a = Model::sample_agreement. The same polynomial normalises
// it, so it is scaled to the length of one sample: the sum of n is projected by factors that are 1
// / (n sqrt(a + (1 - a) / n)) times the model's.
#ifndef HEFT_FUSION_MEAN_H_
#define HEFT_FUSION_MEAN_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/context.h"
#include "heft/client.h"
#include "heft/model.h"

namespace heft {

// CheckMean: whether this number of samples can be averaged. kInvalidArgument for none and for more
// than kMaxSamples; kFailedPrecondition, for two and more, if the model lacks its
// sample_agreement.
absl::Status CheckMean(const Model& model, size_t samples);

// MeanFactor: the factor of the sum of this many samples; 1 for one. Call CheckMean first.
double MeanFactor(const Model& model, size_t samples);

// AddSample: adds a sample to a sum of fresh ciphertexts, which is initially empty.
absl::Status AddSample(const ckks::Context& context, const ckks::Ciphertext& sample,
                       ckks::Ciphertext* sum);

// RowsOfLabel: rows of one label in their order, to be averaged; labels in order of first
// occurrence. Without labels all rows are one person's. kInvalidArgument for a row without a label
// among others.
struct RowsOfLabel {
  std::string label;
  std::vector<size_t> rows;
};
absl::StatusOr<std::vector<RowsOfLabel>> GroupByLabel(std::span<const std::string> labels,
                                                      size_t rows);

// MeanRows: one row for each group: the sum of a modality's rows, each of unit length, times
// MeanFactor. CheckMean's errors; kInvalidArgument, with the row, as EncodeCompact.
absl::StatusOr<std::vector<std::vector<double>>> MeanRows(const Model& model, size_t index,
                                                          std::span<const std::vector<double>> rows,
                                                          std::span<const RowsOfLabel> groups);

}  // namespace heft

#endif  // HEFT_FUSION_MEAN_H_
