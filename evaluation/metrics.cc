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

absl::StatusOr<std::vector<RocPoint>> Roc(const ScoreSet& scores) {
  HEFT_RETURN_IF_ERROR(CheckScores(scores));
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

double ShareAccepted(std::span<const double> scores, double threshold) {
  if (scores.empty()) return 0;
  const auto accepted =
      std::count_if(scores.begin(), scores.end(), [&](double s) { return s >= threshold; });
  return static_cast<double>(accepted) / static_cast<double>(scores.size());
}

}  // namespace heft
