// SPDX-License-Identifier: Apache-2.0
// Random models and samples with their plain reference, where what is fused does not matter:
// benchmarks, costs, tests.
#ifndef HEFT_EXPERIMENT_RANDOM_MODEL_H_
#define HEFT_EXPERIMENT_RANDOM_MODEL_H_

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "heft/model.h"

namespace heft::experiment {

// Vectors: one a modality, in the model's order; an empty one is missing.
using Vectors = std::vector<std::vector<double>>;

// RandomModel: a projection scaled so that |z|^2 of random unit inputs is near 1, normalised by a
// minimax polynomial on [0.2, 2.2].
Model RandomModel(const std::vector<uint32_t>& dimensions, uint32_t gamma, int degree,
                  const std::string& profile = "compact", uint64_t seed = 1);

// RandomUnit: a direction drawn uniformly.
std::vector<double> RandomUnit(uint32_t dimension, std::mt19937_64& rng);
// RandomSample: a random unit vector for each modality of the model.
Vectors RandomSample(const Model& model, std::mt19937_64& rng);

// FusePlain: z f(|z|^2) in doubles, what fusion computes under encryption; |z|^2 through
// `squared_norm`.
std::vector<double> FusePlain(const Model& model, const Vectors& sample,
                              double* squared_norm = nullptr);

double Dot(std::span<const double> a, std::span<const double> b);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_RANDOM_MODEL_H_
