// SPDX-License-Identifier: Apache-2.0
#include "learning/loss.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/threads.h"

namespace heft {
namespace {

constexpr Eigen::Index kAnchorsPerBlock = 32;
constexpr Eigen::Index kChunks = 16;  // of blocks; fixed, so that sums do not depend on threads

// The valid samples in order of class, so that an anchor's own class is one run of columns.
struct Ordered {
  std::vector<int> rows;           // original row of each
  std::vector<int> begin, end;     // run of its class, for each
  FeatureMatrix unit;              // u, rows in this order
  double pairs = 0, triplets = 0;  // ordered pairs and triplets
};

Ordered OrderByClass(const FeatureMatrix& z, const Eigen::VectorXd& s, std::span<const int> classes,
                     const Normalizer& normalizer) {
  Ordered ordered;
  for (Eigen::Index i = 0; i < z.rows(); ++i) {
    if (normalizer.Valid(s[i])) ordered.rows.push_back(static_cast<int>(i));
  }
  std::stable_sort(ordered.rows.begin(), ordered.rows.end(),
                   [&](int a, int b) { return classes[a] < classes[b]; });
  const int n = ordered.rows.size();
  ordered.begin.resize(n);
  ordered.end.resize(n);
  ordered.unit.resize(n, z.cols());
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
      ordered.unit.row(i) = normalizer.Value(s[row]) * z.row(row);
    }
    start = stop;
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

// One anchor: `cosines` holds <u_i, u_k> for all k and is overwritten by dloss/d<u_i, u_k>. Returns
// the anchor's share of the loss.
double AnchorTerm(int anchor, int begin, int end, const TermWeights& weights, double margin,
                  Eigen::Ref<Eigen::RowVectorXd> cosines, AnchorScratch& scratch) {
  // The hinge [margin - c_ij + c_ik]_+ is active where c_ik > c_ij - margin.
  scratch.positives.clear();
  double loss = 0;
  for (int j = begin; j < end; ++j) {
    if (j == anchor) continue;
    scratch.positives.emplace_back(cosines[j] - margin, j);
    loss += weights.pair * (1 - cosines[j]);
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

// Anchors of chunk `chunk`: adds dloss/du to `du` (all samples) and returns their loss.
double ChunkTerm(Eigen::Index chunk, const Ordered& ordered, const TermWeights& weights,
                 double margin, FeatureMatrix& du) {
  const Eigen::Index n = ordered.unit.rows();
  const Eigen::Index first = n * chunk / kChunks, last = n * (chunk + 1) / kChunks;
  AnchorScratch scratch;
  double loss = 0;
  FeatureMatrix cosines(std::min(kAnchorsPerBlock, last - first), n);
  for (Eigen::Index start = first; start < last; start += kAnchorsPerBlock) {
    const Eigen::Index size = std::min(kAnchorsPerBlock, last - start);
    auto block = cosines.topRows(size);
    block.noalias() = ordered.unit.middleRows(start, size) * ordered.unit.transpose();
    for (Eigen::Index i = 0; i < size; ++i) {
      const int anchor = start + i;
      loss += AnchorTerm(anchor, ordered.begin[anchor], ordered.end[anchor], weights, margin,
                         block.row(i), scratch);
    }
    du.middleRows(start, size).noalias() += block * ordered.unit;
    du.noalias() += block.transpose() * ordered.unit.middleRows(start, size);
  }
  return loss;
}

}  // namespace

LossResult LossAndGradient(const FeatureMatrix& projection, const FeatureMatrix& features,
                           std::span<const int> classes, const LossOptions& options,
                           const Normalizer& normalizer) {
  const FeatureMatrix z = ProjectAll(projection, features);
  const Eigen::VectorXd s = z.rowwise().squaredNorm();
  const Ordered ordered = OrderByClass(z, s, classes, normalizer);
  LossResult result;
  result.used = ordered.rows.size();
  result.skipped = static_cast<int>(features.rows()) - result.used;

  TermWeights weights;
  if (ordered.pairs > 0) weights.pair = options.lambda / ordered.pairs;
  if (ordered.triplets > 0) weights.triplet = (1 - options.lambda) / ordered.triplets;
  std::vector<FeatureMatrix> du(kChunks, FeatureMatrix::Zero(result.used, z.cols()));
  std::vector<double> losses(kChunks, 0.0);
  ParallelFor(kChunks, [&](std::size_t chunk) {
    losses[chunk] = ChunkTerm(chunk, ordered, weights, options.margin, du[chunk]);
  });
  for (Eigen::Index chunk = 1; chunk < kChunks; ++chunk) du[0] += du[chunk];
  result.loss = std::accumulate(losses.begin(), losses.end(), 0.0);

  // Through u = n(s) z: dloss/dz = n v + 2 n' <v, z> z with v = dloss/du.
  FeatureMatrix dz = FeatureMatrix::Zero(z.rows(), z.cols());
  for (int i = 0; i < result.used; ++i) {
    const int row = ordered.rows[i];
    dz.row(row) = normalizer.Value(s[row]) * du[0].row(i) +
                  2 * normalizer.Derivative(s[row]) * du[0].row(i).dot(z.row(row)) * z.row(row);
  }
  result.gradient = TransposedProduct(dz, features);
  return result;
}

}  // namespace heft
