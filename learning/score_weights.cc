// SPDX-License-Identifier: Apache-2.0
#include "learning/score_weights.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "features/decompositions.h"
#include "learning/projection.h"

namespace heft {
namespace {

constexpr uint64_t kMaxPairs = 50'000;  // of each kind

// Logistic regression on the modalities `in`: the mean loss of each kind of comparison counts half,
// and a ridge keeps weights finite where a threshold parts all comparisons.
class Regression {
 public:
  Regression(std::span<const ScoreSet> scores, std::span<const size_t> in)
      : scores_(scores), in_(in), size_(static_cast<Eigen::Index>(in.size() + 1)) {}

  // Newton's method, each step halved until the loss falls. The last coefficient is the intercept.
  Eigen::VectorXd Fit() const {
    Eigen::VectorXd fit = Eigen::VectorXd::Zero(size_);
    Expansion here = Expand(fit);
    for (int iteration = 0; iteration < 100; ++iteration) {
      const Eigen::VectorXd step = SolveSymmetric(here.curvature, here.gradient);
      double share = 1;
      Expansion next = Expand(fit - step);
      while (!(next.loss < here.loss) && share > 1e-6) {
        share /= 2;
        next = Expand(fit - share * step);
      }
      if (!(next.loss < here.loss)) break;
      fit -= share * step;
      const bool done = here.loss - next.loss < 1e-12 * here.loss;
      here = std::move(next);
      if (done) break;
    }
    return fit;
  }

 private:
  static constexpr double kRidge = 1e-6;

  struct Expansion {
    double loss;
    Eigen::VectorXd gradient;
    Eigen::MatrixXd curvature;  // the lower half
  };

  // Loss and derivatives together: their exponential function takes most of the time.
  Expansion Expand(const Eigen::VectorXd& fit) const {
    Expansion out{kRidge / 2 * fit.head(size_ - 1).squaredNorm(), kRidge * fit,
                  kRidge * Eigen::MatrixXd::Identity(size_, size_)};
    out.gradient[size_ - 1] = 0;
    Eigen::VectorXd x = Eigen::VectorXd::Ones(size_);  // a comparison's scores, and a 1
    for (const bool genuine : {true, false}) {
      const auto kind = genuine ? &ScoreSet::genuine : &ScoreSet::impostor;
      const size_t count = (scores_[0].*kind).size();
      const double share = 0.5 / static_cast<double>(count);
      for (size_t i = 0; i < count; ++i) {
        for (size_t k = 0; k < in_.size(); ++k) {
          x[static_cast<Eigen::Index>(k)] = (scores_[in_[k]].*kind)[i];
        }
        const double logit = fit.dot(x), small = std::exp(-std::abs(logit));
        const double p = (logit < 0 ? small : 1) / (1 + small);
        out.loss += share * (std::max(genuine ? -logit : logit, 0.0) + std::log1p(small));
        const double slope = share * (p - (genuine ? 1 : 0)), bend = share * p * (1 - p);
        for (Eigen::Index k = 0; k < size_; ++k) {
          out.gradient[k] += slope * x[k];
          for (Eigen::Index l = k; l < size_; ++l) out.curvature(l, k) += bend * x[k] * x[l];
        }
      }
    }
    return out;
  }

  const std::span<const ScoreSet> scores_;
  const std::span<const size_t> in_;
  const Eigen::Index size_;
};

// Cosines of every stride-th comparison of each kind, by modality.
std::vector<ScoreSet> SomePairs(const FeatureMatrix& features, const std::vector<int>& dimensions,
                                const std::vector<int>& identities) {
  const size_t n = identities.size();
  uint64_t genuine = 0;
  for (size_t i = 0; i < n; ++i) {
    genuine += static_cast<uint64_t>(std::count(
        identities.begin() + static_cast<std::ptrdiff_t>(i) + 1, identities.end(), identities[i]));
  }
  const uint64_t impostor = n * (n - 1) / 2 - genuine;
  const uint64_t strides[] = {1 + impostor / kMaxPairs, 1 + genuine / kMaxPairs};
  uint64_t seen[] = {0, 0};
  std::vector<ScoreSet> scores(dimensions.size());
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      const bool same = identities[i] == identities[j];
      if (seen[same]++ % strides[same] != 0) continue;
      Eigen::Index column = 0;
      for (size_t m = 0; m < dimensions.size(); ++m) {
        const double cosine =
            features.row(static_cast<Eigen::Index>(i))
                .segment(column, dimensions[m])
                .dot(features.row(static_cast<Eigen::Index>(j)).segment(column, dimensions[m]));
        (same ? scores[m].genuine : scores[m].impostor).push_back(cosine);
        column += dimensions[m];
      }
    }
  }
  return scores;
}

}  // namespace

absl::StatusOr<std::vector<double>> FitWeights(std::span<const ScoreSet> scores) {
  for (const ScoreSet& set : scores) {
    if (set.genuine.size() == scores[0].genuine.size() &&
        set.impostor.size() == scores[0].impostor.size() && !set.genuine.empty() &&
        !set.impostor.empty()) {
      continue;
    }
    return absl::InvalidArgumentError(
        "weights need genuine and impostor comparisons, equally many of every modality");
  }
  std::vector<size_t> in;
  for (size_t m = 0; m < scores.size(); ++m) in.push_back(m);
  std::vector<double> weights(scores.size(), 0.0);
  while (!in.empty()) {
    const Eigen::VectorXd fit = Regression(scores, in).Fit();
    Eigen::Index least = 0;
    const double lowest = fit.head(static_cast<Eigen::Index>(in.size())).minCoeff(&least);
    if (lowest < 0) {
      in.erase(in.begin() + least);
      continue;
    }
    for (size_t k = 0; k < in.size(); ++k) weights[in[k]] = fit[static_cast<Eigen::Index>(k)];
    break;
  }
  const double scale = weights.empty() || weights[0] > 0 ? (weights.empty() ? 1.0 : weights[0])
                                                         : *std::ranges::max_element(weights);
  if (scale == 0) return std::vector<double>(scores.size(), 1.0);  // None tells anything.
  for (double& weight : weights) weight /= scale;
  return weights;
}

absl::StatusOr<ScoreWeights> FitScoreWeights(const Dataset& dataset) {
  const std::vector<int> rows = RowsOf(dataset.split, Split::kTrain);
  ScoreWeights out{std::vector<double>(dataset.modalities.size(), 1.0), ""};
  if (rows.empty()) {
    out.equal_because = "no training people";
    return out;
  }
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features, Concatenate(dataset, rows));
  std::vector<std::string> labels;
  for (int row : rows) labels.push_back(dataset.labels[static_cast<size_t>(row)]);
  const std::vector<ScoreSet> pairs =
      SomePairs(features, dataset.Dimensions(), IdentityNumbers(labels));
  if (pairs[0].genuine.empty() || pairs[0].impostor.empty()) {
    out.equal_because = "the training people have no genuine or no impostor pairs";
    return out;
  }
  HEFT_ASSIGN_OR_RETURN(out.weights, FitWeights(pairs));
  return out;
}

}  // namespace heft
