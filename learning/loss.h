// SPDX-License-Identifier: Apache-2.0
// The loss of the HEFT paper, equation 1, over all pairs and all triplets.
#ifndef HEFT_LEARNING_LOSS_H_
#define HEFT_LEARNING_LOSS_H_

#include <span>
#include <string>

#include "features/matrix.h"
#include "learning/projection.h"

namespace heft {

// Metric: the distance between projected samples that is learned, and whose opposite is the score.
enum class Metric {
  kCosine,     // 1 - <u_i, u_j>, u scaled to unit length by the normaliser
  kEuclidean,  // |z_i - z_j|^2, nothing scaled (paper, footnote 3; Siena et al., 2013)
};

// "cosine" and "euclidean".
std::string MetricName(Metric metric);

struct LossOptions {
  double lambda = 0.25;  // weight of the pairs' term, in [0, 1]; the triplets' is 1 - lambda
  double margin = 0.25;  // m of the hinge, >= 0
  Metric metric = Metric::kCosine;
};

struct LossResult {
  double loss = 0.0;
  FeatureMatrix gradient;  // dloss/dP, gamma x d
  int used = 0;            // samples inside the interval
  int skipped = 0;         // samples outside it, which enter nothing
};

// LossAndGradient: with z = P x there are two cases. u = n(|z|^2) z and d_ij = 1 - <u_i, u_j>
// (equation 2 of the paper where n is an approximation). For the Euclidean metric u = z and d_ij =
// |u_i - u_j|^2. Then
//
//   loss = lambda * mean over pairs of one class of d_ij
//        + (1 - lambda) * mean over triplets of [margin + d_ij - d_ik]_+ ,
//
// i, j of one class, k of another; every pair and every triplet counts. An anchor's hinge sums
// follow from counts once the distances to its own class are sorted, O(n^2 log n) in all and
// O(n gamma) memory. The gradient is closed form. Runs on ParallelFor with fixed chunks summed in
// fixed order: the result does not depend on the number of threads.
//
// `projection` gamma x d, `features` n x d, `classes` n numbers. A term without pairs or triplets
// is 0.
LossResult LossAndGradient(const FeatureMatrix& projection, const FeatureMatrix& features,
                           std::span<const int> classes, const LossOptions& options,
                           const Normaliser& normaliser);

}  // namespace heft

#endif  // HEFT_LEARNING_LOSS_H_
