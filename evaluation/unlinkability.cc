// SPDX-License-Identifier: Apache-2.0
#include "evaluation/unlinkability.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "features/decompositions.h"
#include "features/random.h"

namespace heft {
namespace {

using Matrix = Eigen::MatrixXd;

absl::Status CheckScores(std::span<const double> scores, const char* kind) {
  if (scores.empty()) {
    return absl::InvalidArgumentError(std::string("no ") + kind + " pairs to link");
  }
  if (std::ranges::all_of(scores, [](double s) { return std::isfinite(s); })) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("a linkage score is not a finite number");
}

// The shares of `scores` in equal bins from `lo` on.
std::vector<double> Shares(std::span<const double> scores, double lo, double width, size_t bins) {
  std::vector<double> shares(bins, 0.0);
  const double one = 1.0 / static_cast<double>(scores.size());
  for (const double s : scores) {
    const auto bin = static_cast<int64_t>(std::floor((s - lo) / width));
    shares[static_cast<size_t>(std::clamp<int64_t>(bin, 0, static_cast<int64_t>(bins) - 1))] += one;
  }
  return shares;
}

double Linkability(double mated, double non_mated) {
  if (mated <= non_mated) return 0;
  if (non_mated == 0) return 1;
  const double ratio = mated / non_mated;
  return 2 * ratio / (1 + ratio) - 1;
}

struct Pairs {
  std::vector<double> mated, non_mated;
};

// `order`: which template of the second key stands at which place.
Pairs PairsOf(const FeatureMatrix& scores, const PairKinds& kinds, const std::vector<int>& order) {
  Pairs out;
  for (int a = 0; a < static_cast<int>(scores.rows()); ++a) {
    for (int b = 0; b < static_cast<int>(scores.cols()); ++b) {
      const PairKind kind = kinds(a, b);
      if (kind == PairKind::kNeither) continue;
      (kind == PairKind::kMated ? out.mated : out.non_mated).push_back(scores(a, order[b]));
    }
  }
  return out;
}

}  // namespace

absl::StatusOr<Unlinkability> MeasureUnlinkability(std::span<const double> mated,
                                                   std::span<const double> non_mated) {
  HEFT_RETURN_IF_ERROR(CheckScores(mated, "mated"));
  HEFT_RETURN_IF_ERROR(CheckScores(non_mated, "non-mated"));
  const auto [mated_lo, mated_hi] = std::ranges::minmax(mated);
  const auto [other_lo, other_hi] = std::ranges::minmax(non_mated);
  const double lo = std::min(mated_lo, other_lo), hi = std::max(mated_hi, other_hi);
  Unlinkability out;
  if (!(hi > lo)) {
    out.curve.push_back({lo, 1, 1, 0});
    return out;
  }
  const size_t bins = std::clamp<size_t>(mated.size() / 10, 2, 100);
  const double width = (hi - lo) / static_cast<double>(bins);
  const std::vector<double> first = Shares(mated, lo, width, bins);
  const std::vector<double> second = Shares(non_mated, lo, width, bins);
  for (size_t i = 0; i < bins; ++i) {
    const double d = Linkability(first[i], second[i]);
    out.d_sys += first[i] * d;
    out.curve.push_back({lo + (static_cast<double>(i) + 0.5) * width, first[i], second[i], d});
  }
  return out;
}

absl::StatusOr<Linkage> MeasureLinkage(const FeatureMatrix& scores, const PairKinds& kinds,
                                       int shuffles, uint64_t seed) {
  if (shuffles < 10) return absl::InvalidArgumentError("give at least ten shuffles");
  std::vector<int> order(static_cast<size_t>(scores.cols()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  const Pairs pairs = PairsOf(scores, kinds, order);
  Linkage out;
  HEFT_ASSIGN_OR_RETURN(out.found, MeasureUnlinkability(pairs.mated, pairs.non_mated));
  std::vector<double> by_chance(static_cast<size_t>(shuffles));
  HEFT_RETURN_IF_ERROR(TryParallelFor(by_chance.size(), [&](size_t i) -> absl::Status {
    std::vector<int> shuffled = order;
    Random random(seed, i);
    random.Shuffle(shuffled);
    const Pairs mixed = PairsOf(scores, kinds, shuffled);
    HEFT_ASSIGN_OR_RETURN(const Unlinkability one,
                          MeasureUnlinkability(mixed.mated, mixed.non_mated));
    by_chance[i] = one.d_sys;
    return absl::OkStatus();
  }));
  std::ranges::sort(by_chance);
  for (const double d : by_chance) out.chance += d / static_cast<double>(by_chance.size());
  out.chance_hi = by_chance[static_cast<size_t>(0.975 * static_cast<double>(by_chance.size() - 1))];
  return out;
}

absl::StatusOr<Inversion> InvertTemplates(const FeatureMatrix& known_templates,
                                          const FeatureMatrix& known_vectors,
                                          const FeatureMatrix& templates,
                                          const FeatureMatrix& vectors) {
  if (known_templates.rows() < 2 || known_templates.rows() != known_vectors.rows() ||
      templates.rows() < 1 || templates.rows() != vectors.rows() ||
      templates.cols() != known_templates.cols() || vectors.cols() != known_vectors.cols()) {
    return absl::InvalidArgumentError("an inversion needs a vector for each template");
  }
  constexpr double kShrinkage = 0.01;
  const Eigen::RowVectorXd template_mean = known_templates.colwise().mean();
  const Eigen::RowVectorXd vector_mean = known_vectors.colwise().mean();
  const Matrix t = known_templates.rowwise() - template_mean;
  const Matrix x = known_vectors.rowwise() - vector_mean;
  Matrix moments = t.transpose() * t;
  moments.diagonal().array() += kShrinkage * moments.trace() / static_cast<double>(t.cols());
  const Matrix weights = SolveSymmetric(moments, Matrix(t.transpose() * x));
  Inversion out;
  const double share = 1.0 / static_cast<double>(templates.rows());
  for (Eigen::Index i = 0; i < templates.rows(); ++i) {
    const Eigen::RowVectorXd truth = vectors.row(i);
    const Eigen::RowVectorXd guess = vector_mean + (templates.row(i) - template_mean) * weights;
    out.cosine += share * guess.normalized().dot(truth.normalized());
    out.blind += share * vector_mean.normalized().dot(truth.normalized());
  }
  return out;
}

}  // namespace heft
