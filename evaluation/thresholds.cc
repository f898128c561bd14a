// SPDX-License-Identifier: Apache-2.0
#include "evaluation/thresholds.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "absl/strings/str_cat.h"

namespace heft {
namespace {

// Share of `falling` (sorted) that is at least `threshold`.
double ShareAtLeast(const std::vector<double>& falling, double threshold) {
  const auto end = std::upper_bound(falling.begin(), falling.end(), threshold, std::greater<>());
  return static_cast<double>(end - falling.begin()) / falling.size();
}

}  // namespace

absl::StatusOr<ThresholdTable> CalibrateThresholds(const ScoreSet& scores,
                                                   std::span<const double> fmrs) {
  HEFT_RETURN_IF_ERROR(Verify(scores).status());
  std::vector<double> genuine = scores.genuine, impostor = scores.impostor;
  std::sort(genuine.begin(), genuine.end(), std::greater<>());
  std::sort(impostor.begin(), impostor.end(), std::greater<>());
  ThresholdTable table;
  table.genuine_pairs = genuine.size();
  table.impostor_pairs = impostor.size();
  for (double fmr : fmrs) {
    if (!(fmr > 0 && fmr < 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("false match rate ", fmr, ": choose one between 0 and 1"));
    }
    // The first impostor that must be rejected; its ties are rejected with it.
    const std::size_t allowed = static_cast<std::size_t>(fmr * impostor.size() * (1 + 1e-12));
    Threshold entry;
    entry.fmr = fmr;
    entry.threshold = std::nextafter(impostor[allowed], std::numeric_limits<double>::infinity());
    entry.measured_fmr = ShareAtLeast(impostor, entry.threshold);
    entry.measured_tmr = ShareAtLeast(genuine, entry.threshold);
    entry.supported = fmr * impostor.size() >= kFalseMatchesNeeded;
    if (!entry.supported) {
      absl::StrAppend(&table.warning, table.warning.empty() ? "" : "; ", "the threshold for FMR ",
                      fmr, " rests on ", impostor.size(), " impostor comparisons, ",
                      std::ceil(kFalseMatchesNeeded / fmr), " are needed to trust it");
    }
    table.thresholds.push_back(entry);
  }
  return table;
}

absl::StatusOr<ScoreCalibration> CalibrateScores(const ScoreSet& scores) {
  HEFT_RETURN_IF_ERROR(Verify(scores).status());
  constexpr double kRidge = 1e-6;
  ScoreCalibration fit;
  for (int iteration = 0; iteration < 100; ++iteration) {  // Newton's method
    double g_slope = kRidge * fit.slope, g_intercept = 0;
    double h_ss = kRidge, h_si = 0, h_ii = kRidge;
    auto add = [&](const std::vector<double>& kind, double target) {
      const double share = 0.5 / kind.size();
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
