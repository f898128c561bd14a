// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "evaluation/weighted_pairs.h"

namespace heft {
namespace {

absl::Status CheckScores(const ScoreSet& scores) {
  if (scores.genuine.empty() || scores.impostor.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        scores.genuine.size(), " genuine and ", scores.impostor.size(),
        " impostor comparisons: need two samples of one identity and a second identity"));
  }
  for (const auto* kind : {&scores.genuine, &scores.impostor}) {
    for (double score : *kind) {
      if (std::isnan(score)) return absl::InvalidArgumentError("a score is NaN");
    }
  }
  return absl::OkStatus();
}

// (score, is genuine), falling.
std::vector<std::pair<double, bool>> SortedScores(const ScoreSet& scores) {
  std::vector<std::pair<double, bool>> sorted;
  sorted.reserve(scores.genuine.size() + scores.impostor.size());
  for (double s : scores.genuine) sorted.emplace_back(s, true);
  for (double s : scores.impostor) sorted.emplace_back(s, false);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& x, const auto& y) { return x.first > y.first; });
  return sorted;
}

std::vector<RocPoint> AllPoints(const ScoreSet& scores) {
  const auto sorted = SortedScores(scores);
  std::vector<RocPoint> points = {{std::numeric_limits<double>::infinity(), 0, 0}};
  double genuine = 0, impostor = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    (sorted[i].second ? genuine : impostor) += 1;
    if (i + 1 < sorted.size() && sorted[i + 1].first == sorted[i].first) continue;
    points.push_back(
        {sorted[i].first, impostor / scores.impostor.size(), genuine / scores.genuine.size()});
  }
  return points;
}

}  // namespace

absl::StatusOr<ScoreSet> PairScores(const FeatureMatrix& scores, std::span<const int> identities) {
  const Eigen::Index n = identities.size();
  if (scores.rows() != n || scores.cols() != n) {
    return absl::InvalidArgumentError(absl::StrCat("scores are ", scores.rows(), " x ",
                                                   scores.cols(), ", ", n, " samples are given"));
  }
  ScoreSet set;
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = i + 1; j < n; ++j) {
      (identities[i] == identities[j] ? set.genuine : set.impostor).push_back(scores(i, j));
    }
  }
  HEFT_RETURN_IF_ERROR(CheckScores(set));
  return set;
}

absl::StatusOr<ScoreSet> CrossScores(const FeatureMatrix& scores,
                                     std::span<const int> probe_identities,
                                     std::span<const int> reference_identities) {
  if (scores.rows() != static_cast<Eigen::Index>(probe_identities.size()) ||
      scores.cols() != static_cast<Eigen::Index>(reference_identities.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "scores are ", scores.rows(), " x ", scores.cols(), ", ", probe_identities.size(),
        " probes and ", reference_identities.size(), " references are given"));
  }
  ScoreSet set;
  for (Eigen::Index i = 0; i < scores.rows(); ++i) {
    for (Eigen::Index j = 0; j < scores.cols(); ++j) {
      const bool genuine = probe_identities[i] == reference_identities[j];
      (genuine ? set.genuine : set.impostor).push_back(scores(i, j));
    }
  }
  HEFT_RETURN_IF_ERROR(CheckScores(set));
  return set;
}

absl::StatusOr<VerificationMetrics> Verify(const ScoreSet& scores) {
  HEFT_RETURN_IF_ERROR(CheckScores(scores));
  std::vector<double> all = scores.genuine;
  all.insert(all.end(), scores.impostor.begin(), scores.impostor.end());
  // Two identities of weight 1 stand for all: a genuine pair is (0, 0), an impostor pair (0, 1).
  const std::vector<int> a(all.size(), 0);
  std::vector<int> b(all.size(), 1);
  std::fill_n(b.begin(), scores.genuine.size(), 0);
  const double weights[] = {1, 1};
  return internal::WeightedPairs(all, a, b).Measure(weights);
}

absl::StatusOr<double> Auroc(const ScoreSet& scores) {
  HEFT_ASSIGN_OR_RETURN(const VerificationMetrics metrics, Verify(scores));
  return metrics.auroc;
}

absl::StatusOr<double> EqualErrorRate(const ScoreSet& scores) {
  HEFT_ASSIGN_OR_RETURN(const VerificationMetrics metrics, Verify(scores));
  return metrics.eer;
}

absl::StatusOr<double> TmrAtFmr(const ScoreSet& scores, double fmr) {
  HEFT_RETURN_IF_ERROR(CheckScores(scores));
  double tmr = 0;
  for (const RocPoint& point : AllPoints(scores)) {
    if (point.fmr > fmr) break;
    tmr = point.tmr;
  }
  return tmr;
}

absl::StatusOr<std::vector<RocPoint>> Roc(const ScoreSet& scores, std::size_t max_points) {
  HEFT_RETURN_IF_ERROR(CheckScores(scores));
  std::vector<RocPoint> points = AllPoints(scores);
  if (max_points < 2 || points.size() <= max_points) return points;
  std::vector<RocPoint> thinned;
  for (std::size_t i = 0; i < max_points; ++i) {
    thinned.push_back(points[i * (points.size() - 1) / (max_points - 1)]);
  }
  return thinned;
}

ScoreHistogram Histogram(const ScoreSet& scores, int bins) {
  ScoreHistogram histogram;
  histogram.genuine.assign(bins, 0);
  histogram.impostor.assign(bins, 0);
  bool first = true;
  for (const auto* kind : {&scores.genuine, &scores.impostor}) {
    for (double score : *kind) {
      histogram.lo = first ? score : std::min(histogram.lo, score);
      histogram.hi = first ? score : std::max(histogram.hi, score);
      first = false;
    }
  }
  const double width = (histogram.hi - histogram.lo) / bins;
  auto count = [&](const std::vector<double>& values, std::vector<int64_t>& counts) {
    for (double score : values) {
      const double bin = width > 0 ? std::floor((score - histogram.lo) / width) : 0;
      ++counts[std::clamp(static_cast<int>(bin), 0, bins - 1)];
    }
  };
  count(scores.genuine, histogram.genuine);
  count(scores.impostor, histogram.impostor);
  return histogram;
}

double ShareAccepted(std::span<const double> scores, double threshold) {
  if (scores.empty()) return 0;
  const auto accepted =
      std::count_if(scores.begin(), scores.end(), [&](double s) { return s >= threshold; });
  return static_cast<double>(accepted) / static_cast<double>(scores.size());
}

}  // namespace heft
