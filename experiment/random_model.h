// SPDX-License-Identifier: Apache-2.0
// Random models and samples with their plain reference, for uses that do not depend on the fused
// values: benchmarks, costs, tests. All in the header, so that tests of lower folders can use it.
#ifndef HEFT_EXPERIMENT_RANDOM_MODEL_H_
#define HEFT_EXPERIMENT_RANDOM_MODEL_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "heft/model.h"
#include "heft/train.h"

namespace heft::experiment {

// Vectors: one a modality, in the model's order; an empty one is missing.
using Vectors = std::vector<std::vector<double>>;

inline double Dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// RandomModel: a projection scaled so that |z|^2 of random unit inputs is near 1, normalised by a
// minimax polynomial on [0.2, 2.2].
inline Model RandomModel(const std::vector<uint32_t>& dimensions, uint32_t gamma, int degree,
                         const std::string& profile = "compact", uint64_t seed = 1) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal;
  Model model;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    model.modalities.push_back({std::string("m").append(std::to_string(i)), dimensions[i]});
  }
  model.gamma = gamma;
  model.profile = profile;
  const double scale = 1 / std::sqrt(static_cast<double>(gamma) * dimensions.size());
  model.projection.resize(size_t{gamma} * model.TotalDimension());
  for (double& weight : model.projection) weight = scale * normal(rng);
  model.approximation = *FitMinimax(degree, Interval{0.2, 2.2});
  return model;
}

// OrthonormalModel: RandomModel with a projection of orthonormal columns, or rows where there are
// fewer of them, scaled so that |z|^2 is 1, or is expected so.
inline Model OrthonormalModel(const std::vector<uint32_t>& dimensions, uint32_t gamma, int degree,
                              const std::string& profile = "standard", uint64_t seed = 1) {
  Model model = RandomModel(dimensions, gamma, degree, profile, seed);
  const size_t rows = gamma, columns = model.TotalDimension();
  const size_t count = std::min(rows, columns), length = std::max(rows, columns);
  // Vector i, element j.
  const auto at = [&](size_t i, size_t j) -> double& {
    return columns <= rows ? model.projection[j * columns + i] : model.projection[i * columns + j];
  };
  const double scale = std::sqrt(std::max(1.0, static_cast<double>(columns) / gamma) /
                                 static_cast<double>(dimensions.size()));
  Vectors done;
  for (size_t i = 0; i < count; ++i) {
    std::vector<double> v(length);
    for (size_t j = 0; j < length; ++j) v[j] = at(i, j);
    for (const std::vector<double>& u : done) {
      const double along = Dot(u, v);
      for (size_t j = 0; j < length; ++j) v[j] -= along * u[j];
    }
    const double norm = std::sqrt(Dot(v, v));
    for (double& x : v) x /= norm;
    for (size_t j = 0; j < length; ++j) at(i, j) = scale * v[j];
    done.push_back(std::move(v));
  }
  return model;
}

// ConcatenationModel: the weighted concatenation, zero-padded to the next power of two: an
// isometry. The weights' squares should add up to 1.
inline Model ConcatenationModel(const std::vector<uint32_t>& dimensions,
                                const std::vector<double>& weights,
                                const std::string& profile = "standard") {
  const uint32_t total = std::accumulate(dimensions.begin(), dimensions.end(), uint32_t{0});
  Model model = RandomModel(dimensions, std::bit_ceil(total), 3, profile);
  std::fill(model.projection.begin(), model.projection.end(), 0.0);
  size_t column = 0;
  for (size_t m = 0; m < dimensions.size(); ++m) {
    for (uint32_t d = 0; d < dimensions[m]; ++d, ++column) {
      model.projection[column * total + column] = weights[m];
    }
  }
  return model;
}

// RandomUnit: a direction drawn uniformly.
inline std::vector<double> RandomUnit(uint32_t dimension, std::mt19937_64& rng) {
  std::normal_distribution<double> normal;
  std::vector<double> v(dimension);
  for (double& x : v) x = normal(rng);
  const double norm = std::sqrt(Dot(v, v));
  for (double& x : v) x /= norm;
  return v;
}

// RandomSample: a random unit vector for each modality of the model.
inline Vectors RandomSample(const Model& model, std::mt19937_64& rng) {
  Vectors sample;
  for (const ModalitySpec& m : model.modalities) sample.push_back(RandomUnit(m.dimension, rng));
  return sample;
}

// FusePlain: z f(|z|^2) in doubles, what fusion computes under encryption; |z|^2 through
// `squared_norm`.
inline std::vector<double> FusePlain(const Model& model, const Vectors& sample,
                                     double* squared_norm = nullptr) {
  std::vector<double> z(model.gamma, 0);
  const double* weight = model.projection.data();
  for (double& v : z) {
    for (size_t m = 0; m < sample.size(); ++m) {
      const uint32_t dimension = model.modalities[m].dimension;
      if (!sample[m].empty()) v += Dot({weight, dimension}, sample[m]);
      weight += dimension;
    }
  }
  const double s = Dot(z, z);
  for (double& v : z) v *= model.approximation(s);
  if (squared_norm != nullptr) *squared_norm = s;
  return z;
}

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_RANDOM_MODEL_H_
