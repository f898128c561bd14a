// SPDX-License-Identifier: Apache-2.0
#include "fusion/compact.h"

#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "base/threads.h"

namespace heft {

absl::Status AtRow(const absl::Status& status, size_t row) {
  return absl::Status(status.code(),
                      absl::StrCat("row ", row, ": ", std::string(status.message())));
}

std::vector<double> CompactSlots(std::span<const double> vector, uint32_t run, uint32_t gamma,
                                 uint32_t slots) {
  std::vector<double> out(slots, 0);
  for (uint32_t t = 0; t < slots; ++t) {
    const size_t index = size_t{run} * (t / gamma) + t % run;
    if (index < vector.size()) out[t] = vector[index];
  }
  return out;
}

absl::StatusOr<std::vector<double>> NormalisedVector(std::span<const double> vector,
                                                     const ModalitySpec& modality,
                                                     VectorLength length) {
  if (vector.size() != modality.dimension) {
    return absl::InvalidArgumentError(absl::StrCat("a ", modality.name, " vector has ",
                                                   vector.size(), " values, the model takes ",
                                                   modality.dimension));
  }
  double squares = 0;
  for (size_t i = 0; i < vector.size(); ++i) {
    if (!std::isfinite(vector[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("value ", i, " of a ", modality.name, " vector is not a finite number"));
    }
    squares += vector[i] * vector[i];
  }
  if (!(squares > 0) || !std::isfinite(squares)) {
    return absl::InvalidArgumentError(absl::StrCat("a ", modality.name, " vector of length ",
                                                   std::sqrt(squares),
                                                   " cannot be scaled to unit length"));
  }
  std::vector<double> out(vector.begin(), vector.end());
  if (length == VectorLength::kMean) return out;
  for (double& v : out) v /= std::sqrt(squares);
  return out;
}

absl::StatusOr<ckks::Plaintext> EncodeCompact(const Instance& instance, const Model& model,
                                              size_t index, std::span<const double> vector,
                                              VectorLength length) {
  const FusionPlan& plan = instance.plan;
  if (index >= model.modalities.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the model has no modality ", index));
  }
  HEFT_ASSIGN_OR_RETURN(const std::vector<double> unit,
                        NormalisedVector(vector, model.modalities[index], length));
  const std::vector<double> layout = CompactSlots(unit, plan.projection.pairs[index / 2].run,
                                                  plan.gamma, instance.params().slots());
  HEFT_ASSIGN_OR_RETURN(
      ckks::Plaintext plain,
      instance.encoder->Encode(std::span<const double>(layout), plan.projection.input_scale,
                               plan.projection.input_limbs));
  // The largest coordinate is a secret of the template, and the estimate is stored unencrypted.
  plain.noise.message = 1;
  return plain;
}

absl::StatusOr<std::vector<ckks::Plaintext>> EncodeCompactFactors(const Instance& instance,
                                                                  const Model& model,
                                                                  const PackedPair& pair,
                                                                  double times) {
  const FusionPlan& plan = instance.plan;
  const uint32_t slots = instance.params().slots();
  const uint32_t columns = model.TotalDimension();
  // First column of each modality of the pair.
  size_t offset = 0;
  for (size_t i = 0; i < pair.first; ++i) offset += model.modalities[i].dimension;
  const uint32_t first_size = model.modalities[pair.first].dimension;
  const uint32_t second_size = pair.second < 0 ? 0 : model.modalities[pair.second].dimension;
  const ckks::Noise noise = FactorNoise(instance.params(), model, plan, pair);
  std::vector<ckks::Plaintext> factors(pair.run);
  HEFT_RETURN_IF_ERROR(TryParallelFor(pair.run, [&](size_t i) -> absl::Status {
    const uint32_t baby = i % pair.grid.babies, giant = static_cast<uint32_t>(i) - baby;
    std::vector<ckks::Complex> values(slots);
    for (uint32_t t = 0; t < slots; ++t) {
      const size_t row = (t + slots - giant) % plan.gamma;
      const uint32_t source = (t + baby) % slots;
      const size_t u = size_t{pair.run} * (source / plan.gamma) + source % pair.run;
      const double* p = model.projection.data() + row * columns + offset;
      const double x = u < first_size ? p[u] : 0;
      const double y = u < second_size ? p[first_size + u] : 0;
      // X^(n/2) has multiplied the second modality by i (-1)^source.
      values[t] = 0.5 * times * ckks::Complex(x, source % 2 == 0 ? -y : y);
    }
    HEFT_ASSIGN_OR_RETURN(factors[i],
                          instance.encoder->Encode(std::span<const ckks::Complex>(values),
                                                   plan.projection.factor_scale,
                                                   plan.projection.input_limbs, /*extended=*/true));
    factors[i].noise = {times * noise.message, noise.error};
    return absl::OkStatus();
  }));
  return factors;
}

ckks::Noise FactorNoise(const ckks::Params& params, const Model& model, const FusionPlan& plan,
                        const PackedPair& pair) {
  size_t first = 0;
  for (size_t i = 0; i < pair.first; ++i) first += model.modalities[i].dimension;
  size_t end = first + model.modalities[pair.first].dimension;
  if (pair.second >= 0) end += model.modalities[pair.second].dimension;
  double largest = 0;
  for (size_t row = 0; row < model.gamma; ++row) {
    double squares = 0;
    for (size_t u = first; u < end; ++u) {
      const double p = model.projection[row * model.TotalDimension() + u];
      squares += p * p;
    }
    largest = std::max(largest, squares);
  }
  const double values = double(pair.run) * params.slots() / plan.gamma;
  // Factors are halved, because z + conj(z) ends the sum. Those of a single modality are real, and
  // so is their rounding error: adding the conjugate doubles it.
  const double real = pair.second < 0 ? std::numbers::sqrt2 : 1;
  return {0.5 * std::sqrt(largest / values), real * ckks::EncodingError(params)};
}

}  // namespace heft
