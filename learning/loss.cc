// SPDX-License-Identifier: Apache-2.0
#include "learning/loss.h"

#include <algorithm>
#include <vector>

#include "base/threads.h"
#include "features/products.h"

namespace heft {
namespace {

constexpr Eigen::Index kAnchorsPerBlock = 32;
constexpr Eigen::Index kChunks = 16;  // of blocks; fixed, so that sums do not depend on threads

// The valid samples in order of class, so that an anchor's own class is one run of columns. With
// c_ik = <left_i, right_k> a distance is base_i - c_ik: for cosines left = right = u and base = 1;
// |u_i - u_k|^2 = |u_i|^2 - <(2 u_i, -1), (u_k, |u_k|^2)>.
struct Ordered {
  std::vector<int> rows;        // original row of each
  std::vector<int> begin, end;  // run of its class, for each
  FeatureMatrix left, right;    // rows in this order
  Eigen::VectorXd base;
  double pairs = 0, triplets = 0;  // ordered pairs and triplets
};

Ordered OrderByClass(const FeatureMatrix& z, const Eigen::VectorXd& s, std::span<const int> classes,
                     Metric metric, const Normaliser& normaliser) {
  const bool euclidean = metric == Metric::kEuclidean;
  Ordered ordered;
  for (Eigen::Index i = 0; i < z.rows(); ++i) {
    if (euclidean || normaliser.Valid(s[i])) ordered.rows.push_back(static_cast<int>(i));
  }
  std::stable_sort(ordered.rows.begin(), ordered.rows.end(),
                   [&](int a, int b) { return classes[a] < classes[b]; });
  const int n = ordered.rows.size();
  ordered.begin.resize(n);
  ordered.end.resize(n);
  ordered.right.resize(n, euclidean ? z.cols() + 1 : z.cols());
  for (int start = 0; start < n;) {
    int stop = start;
    while (stop < n && classes[ordered.rows[stop]] == classes[ordered.rows[start]]) ++stop;
    const double size = stop - start;
    ordered.pairs += size * (size - 1);
    ordered.triplets += size * (size - 1) * (n - size);
    for (int i = start; i < stop; ++i) {
      ordered.begin[i] = start;
      ordered.end[i] = stop;
      const int row = ordered.rows[i];
      const double factor = euclidean ? 1.0 : normaliser.Value(s[row]);
      ordered.right.row(i).head(z.cols()) = factor * z.row(row);
      if (euclidean) ordered.right(i, z.cols()) = s[row];
    }
    start = stop;
  }
  ordered.left = ordered.right;
  ordered.base = Eigen::VectorXd::Ones(n);
  if (euclidean) {
    ordered.left.leftCols(z.cols()) *= 2;
    ordered.left.col(z.cols()).setConstant(-1);
    ordered.base = ordered.right.col(z.cols());
  }
  return ordered;
}

// Weight of one pair's distance and of one triplet's hinge in the loss.
struct TermWeights {
  double pair = 0, triplet = 0;
};

// Scratch of one anchor.
struct AnchorScratch {
  std::vector<std::pair<double, int>> positives;  // (threshold on a negative's cosine, column)
  std::vector<double> thresholds, count, sum;
};

// One anchor: `cosines` holds c_ik for all k and is overwritten by dloss/dc_ik. Returns the
// anchor's share of the loss.
double AnchorTerm(int anchor, int begin, int end, double base, const TermWeights& weights,
                  double margin, Eigen::Ref<Eigen::RowVectorXd> cosines, AnchorScratch& scratch) {
  // The hinge [margin - c_ij + c_ik]_+ is active where c_ik > c_ij - margin.
  scratch.positives.clear();
  double loss = 0;
  for (int j = begin; j < end; ++j) {
    if (j == anchor) continue;
    scratch.positives.emplace_back(cosines[j] - margin, j);
    loss += weights.pair * (base - cosines[j]);
  }
  cosines.segment(begin, end - begin).setZero();
  const int positives = scratch.positives.size();
  if (positives == 0) {
    cosines.setZero();
    return 0;
  }
  std::sort(scratch.positives.begin(), scratch.positives.end());
  scratch.thresholds.resize(positives);
  for (int p = 0; p < positives; ++p) scratch.thresholds[p] = scratch.positives[p].first;
  // Negatives by the number of positives that they violate: count and sum of cosines.
  scratch.count.assign(positives + 1, 0);
  scratch.sum.assign(positives + 1, 0);
  const double lowest = scratch.thresholds[0];
  auto negatives = [&](int from, int to) {
    for (int k = from; k < to; ++k) {
      const double cosine = cosines[k];
      if (cosine <= lowest) {
        cosines[k] = 0;
        continue;
      }
      const int violated =
          std::lower_bound(scratch.thresholds.begin(), scratch.thresholds.end(), cosine) -
          scratch.thresholds.begin();
      scratch.count[violated] += 1;
      scratch.sum[violated] += cosine;
      cosines[k] = weights.triplet * violated;
    }
  };
  negatives(0, begin);
  negatives(end, static_cast<int>(cosines.size()));
  double count = 0, sum = 0;
  for (int p = positives - 1; p >= 0; --p) {  // Those that violate more than p positives.
    count += scratch.count[p + 1];
    sum += scratch.sum[p + 1];
    loss += weights.triplet * (sum - count * scratch.thresholds[p]);
    cosines[scratch.positives[p].second] = -weights.pair - weights.triplet * count;
  }
  return loss;
}

// dloss/dleft and dloss/dright of all samples.
struct SideGradients {
  FeatureMatrix left, right;
};

// Anchors of chunk `chunk`: sets their rows of `left`, adds to `right`, and returns their loss.
double ChunkTerm(Eigen::Index chunk, const Ordered& ordered, const TermWeights& weights,
                 double margin, FeatureMatrix& left, FeatureMatrix& right) {
  const Eigen::Index n = ordered.right.rows();
  const Eigen::Index first = n * chunk / kChunks, last = n * (chunk + 1) / kChunks;
  AnchorScratch scratch;
  double loss = 0;
  FeatureMatrix cosines(std::min(kAnchorsPerBlock, last - first), n);
  FeatureMatrix sum(n, ordered.left.cols());
  const FeatureMatrix coordinates = ordered.right.transpose();
  for (Eigen::Index start = first; start < last; start += kAnchorsPerBlock) {
    const Eigen::Index size = std::min(kAnchorsPerBlock, last - start);
    auto block = cosines.topRows(size);
    internal::ProductOfRows(ordered.left.row(start).data(), size, ordered.right.data(), n,
                            ordered.right.cols(), cosines.data());
    for (Eigen::Index i = 0; i < size; ++i) {
      const int anchor = start + i;
      loss += AnchorTerm(anchor, ordered.begin[anchor], ordered.end[anchor], ordered.base[anchor],
                         weights, margin, block.row(i), scratch);
    }
    internal::ProductOfRows(cosines.data(), size, coordinates.data(), coordinates.rows(), n,
                            left.row(start).data());
    const FeatureMatrix of_samples = block.transpose();
    const FeatureMatrix anchors = ordered.left.middleRows(start, size).transpose();
    internal::ProductOfRows(of_samples.data(), n, anchors.data(), anchors.rows(), size, sum.data());
    right += sum;
  }
  return loss;
}

// dloss/dz of the samples in use, from the gradients of both sides.
FeatureMatrix ThroughMetric(const FeatureMatrix& z, const Eigen::VectorXd& s,
                            const Ordered& ordered, const SideGradients& gradients,
                            const TermWeights& weights, Metric metric,
                            const Normaliser& normaliser) {
  FeatureMatrix dz = FeatureMatrix::Zero(z.rows(), z.cols());
  const Eigen::Index width = z.cols();
  for (std::size_t i = 0; i < ordered.rows.size(); ++i) {
    const int row = ordered.rows[i];
    const auto left = gradients.left.row(i), right = gradients.right.row(i);
    if (metric == Metric::kCosine) {
      // Through u = n(s) z: n v + 2 n' <v, z> z with v = dloss/du.
      const Eigen::RowVectorXd v = left + right;
      dz.row(row) = normaliser.Value(s[row]) * v +
                    2 * normaliser.Derivative(s[row]) * v.dot(z.row(row)) * z.row(row);
    } else {
      // The last coordinate of `right` is |z|^2; so is the base of every pair.
      const double positives = ordered.end[i] - ordered.begin[i] - 1;
      dz.row(row) = 2 * left.head(width) + right.head(width) +
                    2 * (right[width] + weights.pair * positives) * z.row(row);
    }
  }
  return dz;
}

}  // namespace

std::string MetricName(Metric metric) { return metric == Metric::kCosine ? "cosine" : "euclidean"; }

LossResult LossAndGradient(const FeatureMatrix& projection, const FeatureMatrix& features,
                           std::span<const int> classes, const LossOptions& options,
                           const Normaliser& normaliser) {
  const FeatureMatrix z = ProjectAll(projection, features);
  const Eigen::VectorXd s = z.rowwise().squaredNorm();
  const Ordered ordered = OrderByClass(z, s, classes, options.metric, normaliser);
  LossResult result;
  result.used = ordered.rows.size();
  result.skipped = static_cast<int>(features.rows()) - result.used;

  TermWeights weights;
  if (ordered.pairs > 0) weights.pair = options.lambda / ordered.pairs;
  if (ordered.triplets > 0) weights.triplet = (1 - options.lambda) / ordered.triplets;
  const FeatureMatrix zero = FeatureMatrix::Zero(result.used, ordered.right.cols());
  SideGradients gradients = {zero, zero};
  // A sum over one chunk of anchors has megabytes, so there are only as many as threads.
  std::vector<FeatureMatrix> right(
      std::min<std::size_t>(kChunks, static_cast<std::size_t>(ThreadCount())), zero);
  for (Eigen::Index first = 0; first < kChunks; first += static_cast<Eigen::Index>(right.size())) {
    const Eigen::Index count = std::min(kChunks - first, static_cast<Eigen::Index>(right.size()));
    std::vector<double> losses(static_cast<std::size_t>(count));
    ParallelFor(losses.size(), [&](std::size_t i) {
      right[i].setZero();
      losses[i] = ChunkTerm(first + static_cast<Eigen::Index>(i), ordered, weights, options.margin,
                            gradients.left, right[i]);
    });
    for (std::size_t i = 0; i < losses.size(); ++i) {
      gradients.right += right[i];
      result.loss += losses[i];
    }
  }
  const FeatureMatrix dz =
      ThroughMetric(z, s, ordered, gradients, weights, options.metric, normaliser);
  result.gradient = TransposedProduct(dz, features);
  return result;
}

}  // namespace heft
