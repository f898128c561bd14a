// SPDX-License-Identifier: Apache-2.0
// Model: what client, server and key owner must agree on. Public: it holds no template.
#ifndef HEFT_FUSION_MODEL_H_
#define HEFT_FUSION_MODEL_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "inverse_sqrt/approximation.h"

namespace heft {

using ModelId = std::array<uint8_t, 16>;

struct ModalitySpec {
  std::string name;  // "face"; letters, digits, '-' and '_'
  uint32_t dimension = 0;
  bool operator==(const ModalitySpec&) const = default;
};

// A decision threshold fitted on validation classes.
struct DecisionThreshold {
  double fmr = 0;               // false match rate that it was fitted for
  double score = 0;             // accept at this cosine score or above
  double fnmr = 0;              // false non-match rate seen there
  uint64_t impostor_pairs = 0;  // pairs that it rests on
  bool operator==(const DecisionThreshold&) const = default;
};

struct Model {
  std::vector<ModalitySpec> modalities;
  uint32_t gamma = 32;  // fused dimension, a power of two
  // gamma x (sum of dimensions), row by row: applied to the concatenated, l2-normalised vectors.
  std::vector<double> projection;
  // 1 / sqrt(|z|^2), one polynomial of degree 2 or 3 on its interval.
  Approximation approximation;
  std::string profile = "compact";
  std::vector<DecisionThreshold> thresholds;
  // A projection learned with exact normalisation on the same data, for comparison in reports; may
  // be empty.
  std::vector<double> exact_projection;
  // JSON object written by the trainer: options, seed, validation AUROC, quantiles of |z|^2, ...
  std::string training_summary = "{}";

  uint32_t TotalDimension() const;
  // kInvalidArgument, with the field, if anything is out of range or not finite.
  absl::Status Check() const;
  // What a gallery depends on: modalities, projection, approximation and profile, not the summary.
  ModelId Id() const;
  // Index of a modality by name; kInvalidArgument names those that exist.
  absl::StatusOr<size_t> FindModality(std::string_view name) const;

  std::vector<uint8_t> Serialize() const;
  // kDataLoss for damaged bytes, kInvalidArgument for values out of range. `what` names the file.
  static absl::StatusOr<Model> Parse(ByteSpan bytes, std::string_view what);
};

// LoadModel reads and parses a model file.
absl::StatusOr<Model> LoadModel(const std::string& path);

}  // namespace heft

#endif  // HEFT_FUSION_MODEL_H_
