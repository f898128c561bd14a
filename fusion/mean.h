// SPDX-License-Identifier: Apache-2.0
// Several samples of one person as one: their mean, taken before normalisation, under encryption by
// the server or in the clear by the client (docs/design.md, "Several samples of one person").
//
// The mean of n projections z is shorter than one of them, by as much as they differ:
// |mean|^2 = |z|^2 (a + (1 - a) / n) on average, a = Model::sample_agreement. The same polynomial
// normalises it, so it is brought to the length that one sample has: the sum of n is projected by
// factors that are 1 / (n sqrt(a + (1 - a) / n)) times the model's.
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

// CheckMean: whether so many samples may become one. kInvalidArgument for none and for more than
// kMostSamples; kFailedPrecondition, for two and more, where the model lacks its sample_agreement.
absl::Status CheckMean(const Model& model, size_t samples);

// MeanFactor: what the sum of so many samples is multiplied with; 1 for one. Only after CheckMean.
double MeanFactor(const Model& model, size_t samples);

// AddSample: adds one more sample to a sum of fresh ciphertexts, which is empty at first.
absl::Status AddSample(const ckks::Context& context, const ckks::Ciphertext& sample,
                       ckks::Ciphertext* sum);

// RowsOfLabel: rows that become one, of one label, in their order; labels as they come first.
// Without labels all rows are one person's. kInvalidArgument for a row without a label among
// others.
struct RowsOfLabel {
  std::string label;
  std::vector<size_t> rows;
};
absl::StatusOr<std::vector<RowsOfLabel>> GroupByLabel(std::span<const std::string> labels,
                                                      size_t rows);

// MeanRows: a row a group: the sum of the rows of a modality, each of unit length, times
// MeanFactor. CheckMean's errors; kInvalidArgument, with the row, as EncodeCompact.
absl::StatusOr<std::vector<std::vector<double>>> MeanRows(const Model& model, size_t index,
                                                          std::span<const std::vector<double>> rows,
                                                          std::span<const RowsOfLabel> groups);

}  // namespace heft

#endif  // HEFT_FUSION_MEAN_H_
