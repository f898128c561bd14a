// SPDX-License-Identifier: Apache-2.0
// Model: the parameters that client, server and key owner share. It is public: it contains no
// template and no key. It is plain data; threads may share a model that does not change.
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
#include "heft/base.h"
#include "heft/decisions.h"

namespace heft {

// Approximation: a composition of polynomials that approximates 1/sqrt(s) on an interval, because
// ciphertexts can only be added and multiplied. It is part of a model. These are
// values; several threads may read one.

// Polynomial: p(s) = sum_k coefficients[k] * t^k with t = (s - centre) / half_width. With the
// default centre 0 and half_width 1 these are plain powers of s, lowest first. Fits of degree above
// kMaxPlainDegree are returned around the middle of their interval, because their plain
// coefficients cancel catastrophically in double precision.
struct HEFT_EXPORT Polynomial {
  static constexpr int kMaxPlainDegree = 7;

  std::vector<double> coefficients;
  double centre = 0.0;
  double half_width = 1.0;

  int Degree() const { return static_cast<int>(coefficients.size()) - 1; }
  // 0 for an empty polynomial.
  double operator()(double s) const;
  double Derivative(double s) const;
  // The same polynomial in plain powers of s (centre 0, half_width 1).
  Polynomial InPowersOfS() const;

  bool operator==(const Polynomial&) const = default;
};

// Interval: the squared norms s for which an approximation is accurate, 0 < lo < hi.
struct Interval {
  double lo = 0.05;
  double hi = 3.0;

  bool Contains(double s) const { return s >= lo && s <= hi; }
  bool operator==(const Interval&) const = default;
};

// Approximation: f = stages.back() o ... o stages.front(), applied to s in `interval`. Outside the
// interval its value is meaningless.
struct HEFT_EXPORT Approximation {
  std::vector<Polynomial> stages;
  Interval interval;
  std::string name;  // "minimax", "least_squares" or "paper"

  // f(s) and f'(s).
  double operator()(double s) const;
  double Derivative(double s) const;
  // Product of the stages' degrees.
  int Degree() const;
  // max |f(s) * sqrt(s) - 1| over the interval, from a dense sample (Chebyshev points, so that
  // the ends, where the error of a fit is largest, are sampled finely and included).
  double MaxRelativeError() const;

  bool operator==(const Approximation&) const = default;
};

using ModelId = std::array<uint8_t, 16>;

inline constexpr size_t kMaxTables = 255;  // the number of sets of 8 modalities

// ModalitySpec: one kind of feature vector.
struct ModalitySpec {
  std::string name;        // "face"; 1 to 64 letters, digits, '-' and '_'
  uint32_t dimension = 0;  // 1 to 4096
  bool operator==(const ModalitySpec&) const = default;
};

// kMaxGamma: the largest fused dimension of a model. Only profile standard supports it; the limit
// of each profile is Profile::max_gamma.
inline constexpr uint32_t kMaxGamma = 1024;

// Model: a projection that fuses the modalities, the normalisation of its result, and decision
// tables.
struct HEFT_EXPORT Model {
  std::vector<ModalitySpec> modalities;  // 1 to 8
  uint32_t gamma = 32;                   // fused dimension, a power of two, 2 to kMaxGamma
  // gamma x (sum of dimensions), row by row; applied to the concatenated, l2-normalised vectors.
  std::vector<double> projection;
  // Approximates 1 / sqrt(|z|^2): one polynomial of degree 2 or 3 on its interval.
  Approximation approximation;
  // Encryption parameters: "standard" or "flooded".
  std::string profile = "standard";
  // The mean product of z of two samples of one person over the mean |z|^2, in (0, 1]: the share of
  // a template that is due to the person and not to the sample (intraclass correlation). It
  // determines the length of the mean of several samples. Without it, several samples cannot be
  // averaged.
  std::optional<double> sample_agreement;
  // The meaning of scores for each set of modalities of a probe: the full set first, at most
  // kMaxTables, all different. Empty: the model yields scores, but no decisions.
  std::vector<DecisionTable> tables;
  // A projection learned with exact normalisation on the same data, for comparison in reports; may
  // be empty.
  std::vector<double> exact_projection;
  // JSON object of the trainer: options, seed, validation AUROC, quantiles of |z|^2, ...
  std::string training_summary = "{}";

  uint32_t TotalDimension() const;
  // kInvalidArgument, with the field, if a value is out of range or not finite.
  absl::Status Check() const;
  // Hash of everything that galleries depend on: modalities, gamma, projection, approximation,
  // profile and agreement.
  ModelId Id() const;
  // Hash of everything that decisions depend on: the same and the tables.
  ModelId DecisionId() const;
  // Index of a modality by name. kInvalidArgument lists the modalities.
  absl::StatusOr<size_t> FindModality(std::string_view name) const;

  // A set of modalities is a bit mask: bit i is modalities[i]. AllModalities: the full set.
  // NamesOf: the names of a set, in the model's order. SetOf: the set of names; kInvalidArgument
  // for no names, an unknown name, and a repeated one.
  uint32_t AllModalities() const { return (uint32_t{1} << modalities.size()) - 1; }
  std::vector<std::string> NamesOf(uint32_t set) const;
  absl::StatusOr<uint32_t> SetOf(std::span<const std::string> names) const;
  // TableFor: the table for probes with these modalities. kInvalidArgument for an empty set and for
  // modalities that the model lacks; kFailedPrecondition, with the sets that have a table, if there
  // is none.
  absl::StatusOr<const DecisionTable*> TableFor(uint32_t set) const;
  // ChooseThreshold and ChooseSearchThreshold for that table. Also TableFor's errors.
  absl::StatusOr<ChosenThreshold> ThresholdFor(double fmr, uint32_t set) const;
  absl::StatusOr<ChosenThreshold> ThresholdForSearch(double fpir, uint64_t people,
                                                     uint32_t templates, uint32_t set) const;

  // The bytes of a model file (docs/formats.md, MODL).
  std::vector<uint8_t> Serialize() const;
  // kDataLoss for damaged bytes, kInvalidArgument for values out of range. `what` names the file.
  static absl::StatusOr<Model> Parse(std::span<const uint8_t> bytes, std::string_view what);
};

// LoadModel: reads and parses a model file. Parse's errors, kNotFound, kUnavailable.
HEFT_EXPORT absl::StatusOr<Model> LoadModel(const std::string& path);

}  // namespace heft

#endif  // HEFT_MODEL_H_
