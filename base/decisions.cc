// SPDX-License-Identifier: Apache-2.0
#include "heft/decisions.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/impostor_tail.h"
#include "base/status.h"

namespace heft {
namespace {

absl::Status CheckRate(std::string_view name, double rate) {
  if (rate > 0 && rate < 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(name), " ", rate, ": choose one between 0 and 1"));
}

// The wider of the intervals of the points around a rate, scaled to the rate.
RateInterval Around(const DecisionThreshold& a, const DecisionThreshold& b, double fmr) {
  return {fmr * std::min(a.interval.lo / a.fmr, b.interval.lo / b.fmr),
          std::min(fmr * std::max(a.interval.hi / a.fmr, b.interval.hi / b.fmr), 1.0)};
}

std::string FewComparisons(double fmr, uint64_t pairs) {
  if (fmr * static_cast<double>(pairs) >= kFalseMatchesNeeded) return "";
  return absl::StrCat("the threshold for FMR ", fmr, " rests on ", pairs, " impostor comparisons; ",
                      static_cast<uint64_t>(std::ceil(kFalseMatchesNeeded / fmr)),
                      " are needed to trust it");
}

// The largest gallery for which `threshold` reaches `fpir`.
uint64_t LargestGallery(const ImpostorTail& tail, double threshold, double fpir) {
  uint64_t lo = 0, hi = uint64_t{1} << 40;
  while (hi - lo > 1) {
    const uint64_t middle = lo + (hi - lo) / 2;
    (tail.Fpir(threshold, static_cast<double>(middle)) <= fpir ? lo : hi) = middle;
  }
  return lo;
}

// FPIR for resampled people.
RateInterval FpirInterval(const SearchCalibration& search, double threshold, double people) {
  if (search.replicates.empty()) return {};
  std::vector<double> rates;
  for (const ImpostorTail& tail : search.replicates) rates.push_back(tail.Fpir(threshold, people));
  std::sort(rates.begin(), rates.end());
  const auto at = [&](double share) {
    return rates[static_cast<size_t>(std::lround(share * static_cast<double>(rates.size() - 1)))];
  };
  return {at(0.025), at(0.975)};
}

// A warning if probably none of the comparisons reached the threshold, which then depends only on
// the tail's form.
std::string BeyondComparisons(const SearchCalibration& search, const ChosenThreshold& chosen) {
  if (search.tail.RateAt(chosen.score) * static_cast<double>(search.comparisons) >= 1) return "";
  return absl::StrCat("the threshold for FPIR ", chosen.rate, " lies beyond what the ",
                      search.comparisons, " comparisons of ", search.people,
                      " people show: new people may have ", chosen.interval.lo, " to ",
                      chosen.interval.hi, "; train on more people");
}

}  // namespace

absl::StatusOr<ChosenThreshold> ChooseThreshold(std::span<const DecisionThreshold> curve,
                                                double fmr) {
  HEFT_RETURN_IF_ERROR(CheckRate("false match rate", fmr));
  if (curve.empty()) {
    return absl::InvalidArgumentError(
        "the decision table has no thresholds: fit it to people who took no part in the training "
        "(heft calibrate --data DATA)");
  }
  // The nearest points on either side; for a point itself, that point twice.
  const DecisionThreshold *above = nullptr, *below = nullptr;
  constexpr double kSame = 1e-9;
  for (const DecisionThreshold& t : curve) {
    if (t.fmr >= fmr * (1 - kSame) && (above == nullptr || t.fmr < above->fmr)) above = &t;
    if (t.fmr <= fmr * (1 + kSame) && (below == nullptr || t.fmr > below->fmr)) below = &t;
  }
  if (above == nullptr || below == nullptr) {
    const auto [least, most] = std::ranges::minmax(curve, {}, &DecisionThreshold::fmr);
    return absl::OutOfRangeError(
        absl::StrCat("the model has no threshold for FMR ", fmr, ": its ", least.impostor_pairs,
                     " impostor comparisons reach from ", least.fmr, " to ", most.fmr,
                     "; train it on data with more validation people, or give --threshold"));
  }
  const double between =
      above->fmr > below->fmr ? std::log(above->fmr / fmr) / std::log(above->fmr / below->fmr) : 0;
  ChosenThreshold out;
  out.score = above->score + between * (below->score - above->score);
  out.of = RateOf::kComparisons;
  out.rate = fmr;
  out.interval = Around(*above, *below, fmr);
  out.warning = FewComparisons(fmr, below->impostor_pairs);
  return out;
}

absl::StatusOr<ChosenThreshold> ChooseSearchThreshold(std::span<const SearchCalibration> searches,
                                                      double fpir, uint64_t people,
                                                      uint32_t templates) {
  HEFT_RETURN_IF_ERROR(CheckRate("false positive identification rate", fpir));
  if (people == 0) return absl::InvalidArgumentError("the gallery is empty: enrol people first");
  if (searches.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the decision table has no calibration of searches, which takes ", kFewestCalibrated,
        " people with two samples each, besides those that training leaves out for "
        "tests. Give such people to heft calibrate --data DATA, or give --threshold"));
  }
  // The calibration of the fewest templates that suffice, or of the most that there are.
  const SearchCalibration* search = nullptr;
  for (const SearchCalibration& s : searches) {
    const bool better =
        search == nullptr || (search->templates < templates
                                  ? s.templates > search->templates
                                  : s.templates >= templates && s.templates < search->templates);
    if (better) search = &s;
  }
  // The templates of a person are alike, so each further one adds less to the chance that one of
  // them reaches a score. So n templates reach it at most n/m times as often as m do.
  const double each = std::max(1.0, static_cast<double>(templates) / search->templates);
  const ImpostorTail& tail = search->tail;
  const double size = each * static_cast<double>(people);
  const double rarest = 1 / (kFarthest * static_cast<double>(search->comparisons));
  ChosenThreshold out;
  out.score = tail.ThresholdFor(fpir, size);
  out.of = RateOf::kSearches;
  out.rate = fpir;
  if (tail.RateAt(out.score) < rarest) {
    const auto reach = static_cast<uint64_t>(
        static_cast<double>(LargestGallery(tail, internal::ScoreAtShare(tail, rarest), fpir)) /
        each);
    return absl::OutOfRangeError(absl::StrCat(
        "an FPIR of ", fpir, " among ", people, " people is farther out than the ",
        search->comparisons, " comparisons of ", search->people, " people tell: they reach to ",
        reach == 0 ? "no gallery at all" : absl::StrCat("galleries of ", reach),
        "; train on more people, or give --threshold"));
  }
  out.interval = FpirInterval(*search, out.score, size);
  out.warning = BeyondComparisons(*search, out);
  if (each > 1 && out.warning.empty()) {
    out.warning = absl::StrCat("the gallery holds ", templates, " templates of a person and the ",
                               "model knows searches of ", search->templates,
                               ", so the threshold is higher than it need be; calibrate on people ",
                               "with more samples");
  }
  return out;
}

}  // namespace heft
