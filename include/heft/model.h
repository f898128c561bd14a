// SPDX-License-Identifier: Apache-2.0
// Model: what client, server and key owner must agree on. Public: it holds no template and no key.
// Plain data with a check; threads may share one that nobody changes.
#ifndef HEFT_MODEL_H_
#define HEFT_MODEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/approximation.h"
#include "heft/decisions.h"
#include "heft/export.h"

namespace heft {

using ModelId = std::array<uint8_t, 16>;

inline constexpr size_t kMaxTables = 255;  // as many as 8 modalities have sets

// ModalitySpec: one kind of feature vector.
struct ModalitySpec {
  std::string name;        // "face"; 1 to 64 letters, digits, '-' and '_'
  uint32_t dimension = 0;  // 1 to 4096
  bool operator==(const ModalitySpec&) const = default;
};

// kMaxGamma: the largest fused dimension of a model. Only profile thin takes models of so many; the
// others take fewer, and what evaluates a model says how many (Profile::max_gamma).
inline constexpr uint32_t kMaxGamma = 1024;

// Model: a projection that fuses the modalities, and how its result is normalised and judged.
struct HEFT_EXPORT Model {
  std::vector<ModalitySpec> modalities;  // 1 to 8
  uint32_t gamma = 32;                   // fused dimension, a power of two, 2 to kMaxGamma
  // gamma x (sum of dimensions), row by row: applied to the concatenated, l2-normalised vectors.
  std::vector<double> projection;
  // 1 / sqrt(|z|^2), one polynomial of degree 2 or 3 on its interval.
  Approximation approximation;
  // Parameters of the encryption: "thin", "flooded", "compact" or "compact-pq".
  std::string profile = "compact";
  // The mean product of two samples' z of one person over the mean |z|^2, in (0, 1]: how much of a
  // template is the person and not the sample (intraclass correlation). Says how long the mean of
  // several samples is; none: several samples make no template.
  std::optional<double> sample_agreement;
  // What scores mean, by the modalities of the probe: the whole set first, at most kMaxTables, all
  // different. Empty: the model decides nothing, and its scores are all that there is.
  std::vector<DecisionTable> tables;
  // A projection learned with exact normalisation on the same data, for comparison in reports; may
  // be empty.
  std::vector<double> exact_projection;
  // JSON object written by the trainer: options, seed, validation AUROC, quantiles of |z|^2, ...
  std::string training_summary = "{}";

  uint32_t TotalDimension() const;
  // kInvalidArgument, with the field, if anything is out of range or not finite.
  absl::Status Check() const;
  // What a gallery depends on: modalities, gamma, projection, approximation, profile and agreement.
  ModelId Id() const;
  // What decisions depend on: all that, and the tables.
  ModelId DecisionId() const;
  // Index of a modality by name; kInvalidArgument names those that exist.
  absl::StatusOr<size_t> FindModality(std::string_view name) const;

  // A set of modalities is a bit mask: bit i is modalities[i]. AllModalities: the whole set.
  // NamesOf: of a set, in the model's order. SetOf: of names; kInvalidArgument for none, one that
  // is unknown, or one twice.
  uint32_t AllModalities() const { return (uint32_t{1} << modalities.size()) - 1; }
  std::vector<std::string> NamesOf(uint32_t set) const;
  absl::StatusOr<uint32_t> SetOf(std::span<const std::string> names) const;
  // TableFor: of probes with these modalities. kInvalidArgument for an empty set and for modalities
  // that the model lacks; kFailedPrecondition, with the sets that have one, where there is none.
  absl::StatusOr<const DecisionTable*> TableFor(uint32_t set) const;
  // ChooseThreshold and ChooseSearchThreshold of that table, and TableFor's errors.
  absl::StatusOr<ChosenThreshold> ThresholdFor(double fmr, uint32_t set) const;
  absl::StatusOr<ChosenThreshold> ThresholdForSearch(double fpir, uint64_t people,
                                                     uint32_t templates, uint32_t set) const;

  // The bytes of a model file (docs/formats.md, MODL).
  std::vector<uint8_t> Serialize() const;
  // kDataLoss for damaged bytes, kInvalidArgument for values out of range. `what` names the file.
  static absl::StatusOr<Model> Parse(std::span<const uint8_t> bytes, std::string_view what);
};

// LoadModel reads and parses a model file. Parse's errors, kNotFound, kUnavailable.
HEFT_EXPORT absl::StatusOr<Model> LoadModel(const std::string& path);

}  // namespace heft

#endif  // HEFT_MODEL_H_
