// SPDX-License-Identifier: Apache-2.0
// What a learned model does with features in the clear: scale each modality to unit length,
// concatenate, project, normalise, score.
#ifndef HEFT_LEARNING_PROJECTION_H_
#define HEFT_LEARNING_PROJECTION_H_

#include <optional>
#include <span>

#include "base/status.h"
#include "features/dataset.h"
#include "features/matrix.h"
#include "heft/model.h"

namespace heft {

// Normaliser: the factor that brings z to (nearly) unit length, as a function of s = |z|^2. Exact
// 1/sqrt(s), or gain * f(gain^2 * s) for an approximation f; `gain` is a scale of z that has not
// been folded into the projection yet.
struct Normaliser {
  std::optional<Approximation> approximation;  // exact if empty
  double gain = 1.0;

  double Value(double s) const;
  double Derivative(double s) const;
  // Whether the factor means anything: s > 0, and gain^2 * s in the approximation's interval.
  bool Valid(double s) const;
};

// Concatenate: the given rows of all modalities, each scaled to length 1 by the data set's norm,
// side by side in its order of modalities; rows.size() x total dimension. Modalities whose index is
// in `missing` were not captured. Their columns are zero, and the projection makes a template of
// the others. kInvalidArgument for a zero row of a modality that is not missing.
absl::StatusOr<FeatureMatrix> Concatenate(const Dataset& dataset, std::span<const int> rows,
                                          std::span<const int> missing = {});

// ProjectAll: features P^T, n x gamma, rows z = P x.
FeatureMatrix ProjectAll(const FeatureMatrix& projection, const FeatureMatrix& features);

// TransposedProduct: left^T right for n x a and n x b, a x b; fixed chunks of rows in parallel,
// summed in order.
FeatureMatrix TransposedProduct(const FeatureMatrix& left, const FeatureMatrix& right);
// GramMatrix: TransposedProduct(x, x) for half its work.
FeatureMatrix GramMatrix(const FeatureMatrix& x);

// |P x|^2 of each row x.
Eigen::VectorXd SquaredNorms(const FeatureMatrix& projection, const FeatureMatrix& features);

// ProjectAndNormalise: rows u = n(|z|^2) z with z = P x. `projection` is gamma x d, `features` n x
// d, the result n x gamma. Rows outside the interval are computed like the others, as an encrypted
// evaluation would; with the exact normaliser a zero z stays zero. `outside`, if not null,
// receives the number of rows for which Valid is false.
FeatureMatrix ProjectAndNormalise(const FeatureMatrix& projection, const FeatureMatrix& features,
                                  const Normaliser& normaliser = {}, int* outside = nullptr);

// CosineScores: z z^T, n x n; cosines if rows have unit length.
FeatureMatrix CosineScores(const FeatureMatrix& z);

// EuclideanScores: -|z_i - z_j|^2, n x n.
FeatureMatrix EuclideanScores(const FeatureMatrix& z);

}  // namespace heft

#endif  // HEFT_LEARNING_PROJECTION_H_
