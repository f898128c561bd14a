// SPDX-License-Identifier: Apache-2.0
// Linear discriminant analysis and principal components.
#ifndef HEFT_LEARNING_DISCRIMINANT_H_
#define HEFT_LEARNING_DISCRIMINANT_H_

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "features/matrix.h"
#include "learning/pairing.h"

namespace heft {

// Directions w with their ratio of between-class to within-class variance, best first; rows of
// `vectors` (k x d) are scaled to a within-class variance of 1.
struct Discriminants {
  FeatureMatrix vectors;
  Eigen::VectorXd ratios;       // >= 0
  std::vector<int> modalities;  // of each direction; only ChimericLda says so
};

struct DiscriminantOptions {
  // The within-class covariance becomes (1 - shrinkage) S_w + shrinkage * trace(S_w) / d * I, where
  // S_w has the direction of the mean in it if that is suppressed.
  double shrinkage = 0.3;
  // The between-class covariance becomes (1 - blend) S_b + blend * S_t, S_t that of all samples
  // about their mean: where there are fewer classes than directions in which people differ, samples
  // show directions that class means cannot. In [0, 1].
  double blend = 0;
  // The overall mean counts as a within-class direction. The projection has no offset to remove it,
  // and it would raise every cosine because all people share it.
  bool suppress_mean = true;
};

// ClassScatter: what Lda needs of samples, whatever its settings.
struct ClassScatter {
  FeatureMatrix means;     // of the classes, a row each
  Eigen::VectorXd sizes;   // samples of each class
  Eigen::MatrixXd within;  // sum of squares and products of samples about their class mean
};
ClassScatter ScatterOf(const FeatureMatrix& features, std::span<const int> classes);
// The same of a modality's samples and of its further people. These may be the same of many pools:
// `further` keeps their scatter from one call to the next.
ClassScatter ScatterOf(const PoolModality& modality, std::optional<ClassScatter>* further);
using FurtherScatters = std::map<std::size_t, std::optional<ClassScatter>>;  // by modality

// Lda: at most `count` directions; there are at most classes - 1 of positive ratio without blend,
// and d in all. Within-class covariance by Cholesky, then the eigenvectors of the class means'
// covariance in the whitened space (through their Gram matrix where classes are fewer than
// dimensions). kInvalidArgument for fewer than two classes or a covariance that is zero.
absl::StatusOr<Discriminants> Lda(const ClassScatter& scatter, int count,
                                  const DiscriminantOptions& options = {});
absl::StatusOr<Discriminants> Lda(const FeatureMatrix& features, std::span<const int> classes,
                                  int count, const DiscriminantOptions& options = {});

// ChimericLda: Lda of the re-paired samples in the limit of all re-pairings. Modalities are then
// independent, both covariances are block diagonal, and the directions are those of the single
// modalities, merged by ratio. count x total dimension.
absl::StatusOr<Discriminants> ChimericLda(const SamplePool& pool, int count,
                                          const DiscriminantOptions& options = {});

// Pca: the `count` leading eigenvectors (rows) of the covariance about the mean.
FeatureMatrix Pca(const FeatureMatrix& features, int count);

// Basis: directions of one modality, the best first, and the variance of samples along each. With
// discriminants the within-class variance along each is 1.
struct Basis {
  FeatureMatrix vectors;      // at most `count` x dimension
  Eigen::VectorXd variances;  // positive, falling
};

// DiscriminantBasis: Lda of a modality's samples. Lda's errors.
absl::StatusOr<Basis> DiscriminantBasis(const ClassScatter& scatter, int count,
                                        const DiscriminantOptions& options);

// PrincipalBasis: the leading principal components of all samples, further people included, without
// labels. The direction of the overall mean is removed, because all people share it and it would
// raise every cosine. kInvalidArgument where all samples are the same.
absl::StatusOr<Basis> PrincipalBasis(const PoolModality& modality, int count);

}  // namespace heft

#endif  // HEFT_LEARNING_DISCRIMINANT_H_
