// SPDX-License-Identifier: Apache-2.0
#include "evaluation/open_set.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"

namespace heft {

absl::Status SearchTally::Add(const FeatureMatrix& scores, std::span<const int> probes,
                              std::span<const int> templates, std::span<const int> left_out) {
  if (scores.rows() != static_cast<Eigen::Index>(probes.size()) ||
      scores.cols() != static_cast<Eigen::Index>(templates.size()) ||
      (!left_out.empty() && left_out.size() != probes.size())) {
    return absl::InvalidArgumentError("scores, probes and templates have different sizes");
  }
  HEFT_RETURN_IF_ERROR(CheckFinite(scores, "scores"));
  for (Eigen::Index i = 0; i < scores.rows(); ++i) {
    std::map<int, double> best;
    for (Eigen::Index j = 0; j < scores.cols(); ++j) {
      if (!left_out.empty() && left_out[static_cast<size_t>(i)] == j) continue;
      const auto [it, fresh] = best.try_emplace(templates[static_cast<size_t>(j)], scores(i, j));
      it->second = std::max(it->second, scores(i, j));
    }
    const auto own = best.find(probes[static_cast<size_t>(i)]);
    if (own == best.end()) {
      double top = -std::numeric_limits<double>::infinity();
      for (const auto& [identity, score] : best) top = std::max(top, score);
      strangers_.push_back(top);
      continue;
    }
    // A tie is lost: the search could as well have named the other.
    const auto rank = static_cast<size_t>(std::ranges::count_if(
        best, [&](const auto& b) { return b.first != own->first && b.second >= own->second; }));
    ranks_.push_back(rank);
    mated_.push_back(rank == 0 ? own->second : -std::numeric_limits<double>::infinity());
  }
  return absl::OkStatus();
}

absl::StatusOr<SearchErrors> SearchTally::Finish() const {
  if (strangers_.empty() || mated_.empty()) {
    return absl::InvalidArgumentError(
        "an open-set evaluation needs searches of enrolled people and of others");
  }
  std::vector<double> strangers = strangers_, mated = mated_;
  SearchErrors out;
  out.strangers = strangers.size();
  out.mated = mated.size();
  std::sort(strangers.begin(), strangers.end());
  std::sort(mated.begin(), mated.end());
  std::vector<double> all = strangers;
  all.insert(all.end(), mated.begin(), mated.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const auto below = [](const std::vector<double>& sorted, double t) {
    return static_cast<double>(std::ranges::lower_bound(sorted, t) - sorted.begin()) /
           static_cast<double>(sorted.size());
  };
  for (double t : all) {
    if (!std::isfinite(t)) continue;
    out.thresholds.push_back(t);
    out.fpir.push_back(1 - below(strangers, t));
    out.fnir.push_back(below(mated, t));
  }
  std::vector<double> at_rank(1 + *std::ranges::max_element(ranks_));
  for (size_t rank : ranks_) at_rank[rank] += 1;
  double found = 0;
  for (double count : at_rank) {
    found += count;
    out.match_rates.push_back(found / static_cast<double>(ranks_.size()));
  }
  return out;
}

}  // namespace heft
