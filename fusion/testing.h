// SPDX-License-Identifier: Apache-2.0
// Random models and their plaintext reference, for tests and benchmarks.
#ifndef HEFT_FUSION_TESTING_H_
#define HEFT_FUSION_TESTING_H_

#include <cmath>
#include <random>
#include <vector>

#include "ckks/owner/secret_key.h"
#include "fusion/plan.h"
#include "heft/model.h"
#include "inverse_sqrt/fit.h"

namespace heft::testing {

// A random projection scaled so that |z|^2 of random unit inputs is near 1.
inline Model RandomModel(const std::vector<uint32_t>& dimensions, uint32_t gamma, int degree,
                         const std::string& profile = "compact", uint64_t seed = 1) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal;
  Model model;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    model.modalities.push_back({"m" + std::to_string(i), dimensions[i]});
  }
  model.gamma = gamma;
  model.profile = profile;
  const double scale = 1 / std::sqrt(static_cast<double>(gamma) * dimensions.size());
  for (size_t m = 0; m < size_t{gamma} * model.TotalDimension(); ++m) {
    model.projection.push_back(0);
  }
  for (uint32_t r = 0; r < gamma; ++r) {
    size_t column = 0;
    for (uint32_t d : dimensions) {
      for (uint32_t j = 0; j < d; ++j, ++column) {
        model.projection[r * model.TotalDimension() + column] = scale * normal(rng);
      }
    }
  }
  model.approximation = *FitMinimax(degree, Interval{0.2, 2.2});
  return model;
}

inline std::vector<double> RandomUnit(uint32_t dimension, std::mt19937_64& rng) {
  std::normal_distribution<double> normal;
  std::vector<double> v(dimension);
  double squares = 0;
  for (double& x : v) {
    x = normal(rng);
    squares += x * x;
  }
  for (double& x : v) x /= std::sqrt(squares);
  return v;
}

// z f(|z|^2), and |z|^2 through `squared_norm`; a missing modality is an empty vector.
inline std::vector<double> FusePlain(const Model& model,
                                     const std::vector<std::vector<double>>& modalities,
                                     double* squared_norm = nullptr) {
  std::vector<double> z(model.gamma, 0);
  for (uint32_t r = 0; r < model.gamma; ++r) {
    size_t column = 0;
    for (size_t m = 0; m < modalities.size(); ++m) {
      for (uint32_t j = 0; j < model.modalities[m].dimension; ++j, ++column) {
        const double x = modalities[m].empty() ? 0 : modalities[m][j];
        z[r] += model.projection[r * model.TotalDimension() + column] * x;
      }
    }
  }
  double s = 0;
  for (double v : z) s += v * v;
  for (double& v : z) v *= model.approximation(s);
  if (squared_norm != nullptr) *squared_norm = s;
  return z;
}

inline double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// All keys of a plan.
template <typename Plan>
ckks::EvaluationKeys MakeKeys(const ckks::Context& context, const Plan& plan,
                              const ckks::SecretKey& secret, Csprng& rng) {
  ckks::EvaluationKeys keys;
  keys.key_id = secret.key_id();
  keys.relinearisation = ckks::SwitchKey(
      context, ckks::MakeRelinearisationKey(context, secret, plan.relinearisation_limbs, rng), 1);
  for (const auto& [element, limbs] : plan.galois_keys) {
    keys.galois[element] = ckks::SwitchKey(
        context, ckks::MakeGaloisKey(context, secret, element, limbs, rng), element);
  }
  return keys;
}

}  // namespace heft::testing

#endif  // HEFT_FUSION_TESTING_H_
