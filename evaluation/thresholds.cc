// SPDX-License-Identifier: Apache-2.0
#include "evaluation/thresholds.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "absl/strings/str_cat.h"
#include "evaluation/error_rates.h"

namespace heft {
namespace {

void Append(const ScoreSet& one, ScoreSet* pooled) {
  pooled->genuine.insert(pooled->genuine.end(), one.genuine.begin(), one.genuine.end());
  pooled->impostor.insert(pooled->impostor.end(), one.impostor.begin(), one.impostor.end());
}

// The curve's rates that so many comparisons can show, falling.
std::vector<double> CurveRates(size_t impostor_pairs) {
  std::vector<double> rates;
  for (int k = 1;; ++k) {
    const double rate = std::pow(10.0, -static_cast<double>(k) / kPointsADecade);
    if (rate * static_cast<double>(impostor_pairs) < 1) return rates;
    rates.push_back(rate);
  }
}

// The lowest threshold that keeps `fmr`: above the first impostor that must be rejected; its ties
// are rejected with it.
double LowestThreshold(const std::vector<double>& falling, double fmr) {
  const auto allowed = static_cast<size_t>(fmr * static_cast<double>(falling.size()) * (1 + 1e-12));
  return std::nextafter(falling[allowed], std::numeric_limits<double>::infinity());
}

}  // namespace

std::string UnsupportedRates(size_t impostor_pairs) {
  std::string warning;
  for (double fmr : kStandardFmrs) {
    if (fmr * static_cast<double>(impostor_pairs) >= kFalseMatchesNeeded) continue;
    absl::StrAppend(&warning, warning.empty() ? "" : "; ", "the threshold for FMR ", fmr,
                    " rests on ", impostor_pairs, " impostor comparisons, ",
                    std::ceil(kFalseMatchesNeeded / fmr), " are needed to trust it");
  }
  return warning;
}

absl::StatusOr<ScoreSet> PoolScores(std::span<const LabelledScores> sets) {
  if (sets.empty()) return absl::InvalidArgumentError("no scores to evaluate");
  ScoreSet pooled;
  for (const LabelledScores& set : sets) {
    HEFT_ASSIGN_OR_RETURN(const ScoreSet one, PairScores(set.scores, set.identities));
    Append(one, &pooled);
  }
  return pooled;
}

absl::StatusOr<ScoreSet> PoolScores(std::span<const Comparisons> sets) {
  if (sets.empty()) return absl::InvalidArgumentError("no scores to evaluate");
  ScoreSet pooled;
  for (const Comparisons& set : sets) {
    HEFT_ASSIGN_OR_RETURN(const ScoreSet one, SplitKinds(set));
    Append(one, &pooled);
  }
  return pooled;
}

absl::StatusOr<ThresholdTable> CalibrateThresholds(std::span<const LabelledScores> sets,
                                                   const BootstrapOptions& options) {
  std::vector<Comparisons> lists;
  for (const LabelledScores& set : sets) {
    HEFT_RETURN_IF_ERROR(PairScores(set.scores, set.identities).status());
    lists.push_back(ToComparisons(set));
  }
  return CalibrateThresholds(lists, options);
}

absl::StatusOr<ThresholdTable> CalibrateThresholds(std::span<const Comparisons> sets,
                                                   const BootstrapOptions& options) {
  HEFT_ASSIGN_OR_RETURN(ScoreSet pooled, PoolScores(sets));
  std::vector<double>& impostor = pooled.impostor;
  std::sort(impostor.begin(), impostor.end(), std::greater<>());
  const std::vector<double> rates = CurveRates(impostor.size());
  std::vector<double> scores;
  for (double rate : rates) scores.push_back(LowestThreshold(impostor, rate));
  HEFT_ASSIGN_OR_RETURN(
      const PooledRates measured,
      MeasureErrorRates(sets, std::vector<std::vector<double>>(sets.size(), scores), options));
  ThresholdTable table;
  table.genuine_pairs = static_cast<int64_t>(pooled.genuine.size());
  table.impostor_pairs = static_cast<int64_t>(impostor.size());
  table.warning = UnsupportedRates(impostor.size());
  for (size_t k = 0; k < rates.size(); ++k) {
    const auto& [fmr, fnmr] = measured.at[k];
    table.thresholds.push_back(
        {rates[k], scores[k], fnmr.value, impostor.size(), {fmr.lo, fmr.hi}});
  }
  return table;
}

absl::StatusOr<ScoreCalibration> CalibrateScores(std::span<const LabelledScores> sets) {
  HEFT_ASSIGN_OR_RETURN(const ScoreSet pooled, PoolScores(sets));
  return CalibrateScores(pooled);
}

absl::StatusOr<ScoreCalibration> CalibrateScores(const ScoreSet& scores) {
  HEFT_RETURN_IF_ERROR(Verify(scores).status());
  constexpr double kRidge = 1e-6;
  ScoreCalibration fit;
  for (int iteration = 0; iteration < 100; ++iteration) {  // Newton's method
    double g_slope = kRidge * fit.slope, g_intercept = 0;
    double h_ss = kRidge, h_si = 0, h_ii = kRidge;
    auto add = [&](const std::vector<double>& kind, double target) {
      const double share = 0.5 / static_cast<double>(kind.size());
      for (double score : kind) {
        const double p = 1 / (1 + std::exp(-fit.LogLikelihoodRatio(score)));
        const double curvature = share * p * (1 - p);
        g_slope += share * (p - target) * score;
        g_intercept += share * (p - target);
        h_ss += curvature * score * score;
        h_si += curvature * score;
        h_ii += curvature;
      }
    };
    add(scores.genuine, 1);
    add(scores.impostor, 0);
    const double determinant = h_ss * h_ii - h_si * h_si;
    double d_slope = (h_ii * g_slope - h_si * g_intercept) / determinant;
    double d_intercept = (h_ss * g_intercept - h_si * g_slope) / determinant;
    const double size = std::hypot(d_slope, d_intercept);
    if (size > 10) {  // A far step leaves the region where the quadratic model holds.
      d_slope *= 10 / size;
      d_intercept *= 10 / size;
    }
    fit.slope -= d_slope;
    fit.intercept -= d_intercept;
    if (size < 1e-9 * (1 + std::abs(fit.slope))) break;
  }
  return fit;
}

}  // namespace heft
