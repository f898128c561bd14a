// SPDX-License-Identifier: Apache-2.0
// Model: what client, server and key owner must agree on. Public: it holds no template and no key.
// Plain data with a check; threads may share one that nobody changes.
#ifndef HEFT_MODEL_H_
#define HEFT_MODEL_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/approximation.h"
#include "heft/export.h"

namespace heft {

using ModelId = std::array<uint8_t, 16>;

// ModalitySpec: one kind of feature vector.
struct ModalitySpec {
  std::string name;        // "face"; 1 to 64 letters, digits, '-' and '_'
  uint32_t dimension = 0;  // 1 to 4096
  bool operator==(const ModalitySpec&) const = default;
};

// kFalseMatchesNeeded: a threshold for a false match rate is to be relied on where the comparisons
// that it was fitted on allow so many false matches, the rule of 30 (G. R. Doddington et al., The
// NIST speaker recognition evaluation, Speech Communication 31, 2000): the true rate is then within
// 30% of the wanted one with 90% confidence, if comparisons were independent.
inline constexpr double kFalseMatchesNeeded = 30;

// DecisionThreshold: fitted on validation classes.
struct DecisionThreshold {
  double fmr = 0;               // false match rate that it was fitted for, in (0, 1)
  double score = 0;             // accept at this cosine score or above
  double fnmr = 0;              // false non-match rate seen there
  uint64_t impostor_pairs = 0;  // comparisons that it rests on

  bool Supported() const {
    return fmr * static_cast<double>(impostor_pairs) >= kFalseMatchesNeeded;
  }
  bool operator==(const DecisionThreshold&) const = default;
};

// ScoreCalibration: slope * score + intercept estimates the natural logarithm of the likelihood
// ratio P(score | genuine) / P(score | impostor). Logistic regression, both kinds weighted alike,
// as in N. Bruemmer and J. du Preez, Application-independent evaluation of speaker detection,
// 2006.
struct ScoreCalibration {
  double slope = 0.0;
  double intercept = 0.0;
  double LogLikelihoodRatio(double score) const { return slope * score + intercept; }
  bool operator==(const ScoreCalibration&) const = default;
};

// ChosenThreshold: a threshold of a model, and why it should not be relied on, empty if it may be.
struct ChosenThreshold {
  double score = 0;
  std::string warning;
};

// Model: a projection that fuses the modalities, and how its result is normalised and judged.
struct HEFT_EXPORT Model {
  std::vector<ModalitySpec> modalities;  // 1 to 8
  uint32_t gamma = 32;                   // fused dimension, a power of two from 2 to 256
  // gamma x (sum of dimensions), row by row: applied to the concatenated, l2-normalised vectors.
  std::vector<double> projection;
  // 1 / sqrt(|z|^2), one polynomial of degree 2 or 3 on its interval.
  Approximation approximation;
  // Parameters of the encryption: "thin", "flooded", "compact" or "compact-pq".
  std::string profile = "compact";
  std::vector<DecisionThreshold> thresholds;
  std::optional<ScoreCalibration> calibration;
  // A projection learned with exact normalisation on the same data, for comparison in reports; may
  // be empty.
  std::vector<double> exact_projection;
  // JSON object written by the trainer: options, seed, validation AUROC, quantiles of |z|^2, ...
  std::string training_summary = "{}";

  uint32_t TotalDimension() const;
  // kInvalidArgument, with the field, if anything is out of range or not finite.
  absl::Status Check() const;
  // What a gallery depends on: modalities, gamma, projection, approximation and profile.
  ModelId Id() const;
  // What decisions depend on: all that, thresholds and calibration.
  ModelId DecisionId() const;
  // Index of a modality by name; kInvalidArgument names those that exist.
  absl::StatusOr<size_t> FindModality(std::string_view name) const;
  // The threshold fitted for this false match rate. kInvalidArgument names the rates that exist.
  absl::StatusOr<ChosenThreshold> ThresholdFor(double fmr) const;

  // The bytes of a model file (docs/formats.md, MODL).
  std::vector<uint8_t> Serialize() const;
  // kDataLoss for damaged bytes, kInvalidArgument for values out of range. `what` names the file.
  static absl::StatusOr<Model> Parse(std::span<const uint8_t> bytes, std::string_view what);
};

// LoadModel reads and parses a model file. Parse's errors, kNotFound, kUnavailable.
HEFT_EXPORT absl::StatusOr<Model> LoadModel(const std::string& path);

}  // namespace heft

#endif  // HEFT_MODEL_H_
