// SPDX-License-Identifier: Apache-2.0
#include "fusion/norm_factor.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace heft {
namespace {

constexpr double kRoot2 = std::numbers::sqrt2;

// Pair: the wraps k and m of both parts, and the one sigma under which they agree.
struct Pair {
  double sigma = 0;
  double slope = 0;         // how fast both sides of the equation part around it, in ranges
  double squared_norm = 0;  // in ranges: what has wrapped k times here and is read as zero
};

// Calls `each` for pairs of up to `most` wraps of the real part, with sigma near the
// range.
template <typename Each>
void ForPairs(double most, const Each& each) {
  const auto ratio = [](double sigma) { return sigma * kRoot2 / (1 - sigma * sigma); };
  const double least = ratio(kLeastNormFactor), largest = ratio(kLargestNormFactor);
  for (double k = 1; k <= most; ++k) {
    // The pairs on both edges of the range too: their windows reach into it.
    const double first = std::max(1.0, std::floor(k * least)), last = std::ceil(k * largest);
    for (double m = first; m <= last; ++m) {
      // m sigma^2 + k sqrt(2) sigma - m = 0.
      const double sigma = (-k * kRoot2 + std::sqrt(2 * k * k + 4 * m * m)) / (2 * m);
      const double rest = 1 - sigma * sigma;
      each(Pair{sigma, 2 * k * sigma / (rest * rest) + m / (sigma * sigma * kRoot2), k / rest});
    }
  }
}

// HalfWindow: around a pair's sigma, what no factor is drawn from. It covers every proof of
// profiles `standard`, `compact` and `flooded`: R is 8 at least, and tolerance times length over
// R 3.3e-4 at most (a template of 1,024 dimensions).
double HalfWindow(const Pair& pair) {
  constexpr double kRange = 8, kTolerated = 3.3e-4;
  // Errors grow with the length: both multiples differ by up to 2.1e-4 |z| rms
  // (NormProofDimensionsTest). Six deviations, of a
  // |z|^2 that is read as 0.45 R at most.
  constexpr double kNoise = 6 * 2.1e-4;
  // Of sigma: rounding it where it is applied, and reading it.
  constexpr double kSlack = 1e-5;
  const double noise = kNoise * std::sqrt((pair.squared_norm + 0.45) / kRange);
  return (kTolerated + noise) / pair.slope + kSlack;
}

std::vector<NormFactorSpan> MakeSpans() {
  std::vector<NormFactorSpan> windows;
  ForPairs(kSafeWraps, [&](const Pair& pair) {
    const double half = HalfWindow(pair);
    windows.push_back({pair.sigma - half, pair.sigma + half});
  });
  std::sort(windows.begin(), windows.end(),
            [](const NormFactorSpan& a, const NormFactorSpan& b) { return a.lo < b.lo; });
  std::vector<NormFactorSpan> spans;
  double from = kLeastNormFactor;
  for (const NormFactorSpan& window : windows) {
    if (window.hi <= from) continue;
    if (window.lo >= kLargestNormFactor) break;
    if (window.lo > from) spans.push_back({from, window.lo});
    from = window.hi;
  }
  if (from < kLargestNormFactor) spans.push_back({from, kLargestNormFactor});
  return spans;
}

double Permitted() {
  double sum = 0;
  for (const NormFactorSpan& span : NormFactorSpans()) sum += span.width();
  return sum;
}

// Share: of the permitted factors, those in [lo, hi].
double Share(double lo, double hi) {
  static const double all = Permitted();
  double sum = 0;
  const auto& spans = NormFactorSpans();
  auto it = std::lower_bound(spans.begin(), spans.end(), lo,
                             [](const NormFactorSpan& s, double x) { return s.hi < x; });
  for (; it != spans.end() && it->lo < hi; ++it) {
    sum += std::max(0.0, std::min(hi, it->hi) - std::max(lo, it->lo));
  }
  return sum / all;
}

}  // namespace

const std::vector<NormFactorSpan>& NormFactorSpans() {
  static const std::vector<NormFactorSpan> spans = MakeSpans();
  return spans;
}

double NormFactorOf(uint32_t bits) {
  static const double all = Permitted();
  double left = all * (bits * 0x1p-32);
  for (const NormFactorSpan& span : NormFactorSpans()) {
    if (left < span.width()) return span.lo + left;
    left -= span.width();
  }
  return NormFactorSpans().back().hi;
}

double DrawNormFactor(Csprng& rng) { return NormFactorOf(rng.U32()); }

double WrapsPass(const WrappedProof& proof, double most) {
  std::vector<Pair> pairs;
  ForPairs(most, [&](const Pair& pair) { pairs.push_back(pair); });
  std::sort(pairs.begin(), pairs.end(),
            [](const Pair& a, const Pair& b) { return a.squared_norm < b.squared_norm; });
  const double longest = proof.longest / proof.range;
  // The sum changes where a pair begins or ends, and grows with the length that is read in between.
  std::vector<double> norms;
  for (const Pair& pair : pairs) {
    norms.push_back(pair.squared_norm);
    norms.push_back(pair.squared_norm + longest);
  }
  double worst = 0;
  for (const double norm : norms) {
    double sum = 0;
    auto it = std::lower_bound(pairs.begin(), pairs.end(), norm - longest - 1e-12,
                               [](const Pair& p, double x) { return p.squared_norm < x; });
    for (; it != pairs.end() && it->squared_norm <= norm + 1e-12; ++it) {
      const double read = (norm - it->squared_norm) * proof.range;
      const double half =
          proof.tolerance * std::sqrt(std::max(1.0, read)) / (proof.range * it->slope);
      sum += Share(it->sigma - half, it->sigma + half);
    }
    worst = std::max(worst, sum);
  }
  return worst;
}

}  // namespace heft
