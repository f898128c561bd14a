// SPDX-License-Identifier: Apache-2.0
#include "learning/projection.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "base/check.h"
#include "base/threads.h"
#include "features/products.h"

namespace heft {
namespace {

constexpr Eigen::Index kRowsPerTask = 256;
// Of fewer rows it takes longer to arrange the other matrix than to multiply. Eigen adds long ones
// in pieces whose size depends on the caches.
constexpr Eigen::Index kFewRows = 4;

// left * right^T by blocks of rows, in parallel.
FeatureMatrix ProductTransposed(const FeatureMatrix& left, const FeatureMatrix& right) {
  HEFT_DCHECK(left.cols() == right.cols(), "rows of different lengths have no product");
  FeatureMatrix product(left.rows(), right.rows());
  const std::size_t tasks = (left.rows() + kRowsPerTask - 1) / kRowsPerTask;
  ParallelFor(tasks, [&](std::size_t task) {
    const Eigen::Index begin = task * kRowsPerTask;
    const Eigen::Index count = std::min(kRowsPerTask, left.rows() - begin);
    if (count < kFewRows) {
      product.middleRows(begin, count).noalias() =
          left.middleRows(begin, count) * right.transpose();
      return;
    }
    internal::ProductOfRows(left.row(begin).data(), count, right.data(), right.rows(), left.cols(),
                            product.row(begin).data());
  });
  return product;
}

// The sum of `product` of chunks of rows, computed in parallel. The chunks are fixed, so the sum
// does not depend on the number of threads.
FeatureMatrix SumOverRows(
    Eigen::Index rows,
    const std::function<FeatureMatrix(Eigen::Index begin, Eigen::Index count)>& product) {
  constexpr Eigen::Index kParts = 8;
  std::vector<FeatureMatrix> parts(kParts);
  ParallelFor(kParts, [&](std::size_t part) {
    const Eigen::Index begin = rows * part / kParts;
    parts[part] = product(begin, rows * (part + 1) / kParts - begin);
  });
  for (Eigen::Index part = 1; part < kParts; ++part) parts[0] += parts[part];
  return parts[0];
}

}  // namespace

double Normaliser::Value(double s) const {
  if (approximation.has_value()) return gain * (*approximation)(gain * gain * s);
  return s > 0 ? 1 / std::sqrt(s) : 0.0;
}

double Normaliser::Derivative(double s) const {
  if (approximation.has_value()) {
    return gain * gain * gain * approximation->Derivative(gain * gain * s);
  }
  return s > 0 ? -0.5 / (s * std::sqrt(s)) : 0.0;
}

bool Normaliser::Valid(double s) const {
  if (!(s > 0) || !std::isfinite(s)) return false;
  return !approximation.has_value() || approximation->interval.Contains(gain * gain * s);
}

absl::StatusOr<FeatureMatrix> Concatenate(const Dataset& dataset, std::span<const int> rows,
                                          std::span<const int> missing) {
  FeatureMatrix features = FeatureMatrix::Zero(rows.size(), dataset.TotalDimension());
  Eigen::Index column = 0;
  for (std::size_t m = 0; m < dataset.modalities.size(); ++m) {
    const Modality& modality = dataset.modalities[m];
    const Eigen::Index width = modality.features.cols();
    if (std::find(missing.begin(), missing.end(), static_cast<int>(m)) == missing.end()) {
      FeatureMatrix selected(rows.size(), width);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        selected.row(i) = modality.features.row(rows[i]);
      }
      HEFT_RETURN_IF_ERROR(NormaliseRows(selected, dataset.norm, modality.name));
      features.middleCols(column, width) = selected;
    }
    column += width;
  }
  return features;
}

FeatureMatrix ProjectAll(const FeatureMatrix& projection, const FeatureMatrix& features) {
  return ProductTransposed(features, projection);
}

FeatureMatrix TransposedProduct(const FeatureMatrix& left, const FeatureMatrix& right) {
  return SumOverRows(left.rows(), [&](Eigen::Index begin, Eigen::Index count) -> FeatureMatrix {
    return left.middleRows(begin, count).transpose() * right.middleRows(begin, count);
  });
}

FeatureMatrix GramMatrix(const FeatureMatrix& x) {
  const FeatureMatrix half = SumOverRows(x.rows(), [&](Eigen::Index begin, Eigen::Index count) {
    FeatureMatrix sum = FeatureMatrix::Zero(x.cols(), x.cols());
    if (count == 0) return sum;  // Eigen's rankUpdate by no columns divides by zero
    sum.selfadjointView<Eigen::Lower>().rankUpdate(x.middleRows(begin, count).transpose());
    return sum;
  });
  return half.selfadjointView<Eigen::Lower>();
}

Eigen::VectorXd SquaredNorms(const FeatureMatrix& projection, const FeatureMatrix& features) {
  return ProductTransposed(features, projection).rowwise().squaredNorm();
}

FeatureMatrix ProjectAndNormalise(const FeatureMatrix& projection, const FeatureMatrix& features,
                                  const Normaliser& normaliser, int* outside) {
  FeatureMatrix z = ProductTransposed(features, projection);
  int invalid = 0;
  for (Eigen::Index i = 0; i < z.rows(); ++i) {
    const double s = z.row(i).squaredNorm();
    invalid += !normaliser.Valid(s);
    z.row(i) *= normaliser.Value(s);
  }
  if (outside != nullptr) *outside = invalid;
  return z;
}

FeatureMatrix CosineScores(const FeatureMatrix& z) { return ProductTransposed(z, z); }

FeatureMatrix EuclideanScores(const FeatureMatrix& z) {
  const Eigen::VectorXd s = z.rowwise().squaredNorm();
  FeatureMatrix scores = 2 * ProductTransposed(z, z);
  scores.colwise() -= s;
  scores.rowwise() -= s.transpose();
  return scores;
}

}  // namespace heft
