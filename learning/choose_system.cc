// SPDX-License-Identifier: Apache-2.0
#include "learning/choose_system.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "learning/recipe.h"

namespace heft {
namespace {

// An estimate with its 95% interval over people.
Json ErrorJson(double value, double standard_error, double lowest) {
  return {{"value", value},
          {"lo", std::max(value - 1.96 * standard_error, lowest)},
          {"hi", std::min(value + 1.96 * standard_error, 1.0)}};
}

FnmrEstimate Zero(const FnmrEstimate& like) {
  return {0, 1, std::vector<double>(like.of_person.size()), like.pairs};
}

// The smallest dimension of [first, last) that is not worse than the best, and minus_best of all.
size_t Smallest(std::vector<SystemTrial>& trials, size_t first, size_t last) {
  size_t best = first;
  for (size_t i = first; i < last; ++i) {
    if (Objective(trials[i].error) < Objective(trials[best].error)) best = i;
  }
  size_t chosen = last;
  for (size_t i = first; i < last; ++i) {
    trials[i].minus_best = Subtract(trials[i].error, trials[best].error);
    const FnmrDifference& minus = trials[i].minus_best;
    const double tolerated = std::max(recipe::kGammaErrors * minus.standard_error,
                                      recipe::kGammaTolerance * trials[best].error.fnmr) +
                             recipe::kLeastError;
    const bool near = Objective(trials[i].error) + recipe::kLeastError <=
                      recipe::kGammaFactor * (Objective(trials[best].error) + recipe::kLeastError);
    if (chosen == last && near && minus.value <= tolerated) chosen = i;
  }
  return chosen;
}

// The smallest dimension that keeps recipe::kPcaEnergy of the variance.
absl::StatusOr<int> ByEnergy(const SamplePool& pool, const StartChoice& start,
                             std::span<const int> gammas) {
  std::vector<double> variances;
  double total = 0;
  for (size_t m = 0; m < pool.modalities().size(); ++m) {
    const PoolModality& modality = pool.modalities()[m];
    HEFT_ASSIGN_OR_RETURN(const Basis basis,
                          PrincipalBasis(modality, static_cast<int>(modality.features.cols())));
    for (double variance : basis.variances) {
      variances.push_back(start.weights[m] * start.weights[m] * variance);
      total += variances.back();
    }
  }
  std::ranges::sort(variances, std::ranges::greater{});
  for (int gamma : gammas) {
    double kept = 0;
    for (size_t i = 0; i < std::min<size_t>(gamma, variances.size()); ++i) kept += variances[i];
    if (kept >= recipe::kPcaEnergy * total) return gamma;
  }
  return gammas.back();
}

std::string NameOf(const SystemTrial& trial) {
  return trial.start.method == Method::kNone ? "the concatenation" : MethodName(trial.start.method);
}

// Measures systems, each on people left out of its training.
class Chooser {
 public:
  Chooser(const SamplePool& pool, const TrainOptions& options, const WhatIsOpen& open)
      : pool_(pool),
        options_(options),
        open_(open),
        search_(StartSearch::Make(pool, open.gammas.back(), options)) {}

  bool KnowsNothing() {
    if (search_.KnowsNothing()) return true;
    const FnmrEstimate any = search_.Measure(open_.gammas[0], Start(Method::kNone));
    return std::ranges::all_of(any.pairs, [](double count) { return count == 0; });
  }

  absl::StatusOr<SystemChoice> Choose() {
    const Method wanted = open_.method ? Method::kLearned : options_.method;
    const SystemTrial chosen = Try(wanted);
    SystemTrial taken = chosen;
    if (open_.method) {
      SystemTrial rival = Try(Method::kPca);
      if (open_.gammas.size() > 1 && PaddedDimension(Total()) <= open_.largest_gamma) {
        const SystemTrial none = Try(Method::kNone);
        if (Clearly(none, rival)) rival = none;
      }
      if (Clearly(rival, chosen)) {
        taken = rival;
        out_.fallback = absl::StrFormat(
            "training does not help people who did not take part in it: FNMR %.2g at FMR %g, and "
            "templates of people who trained are %.1f times as long as others'. %s has %.2g and "
            "%.1f with %d dimensions and is used. Use data of more people, or more samples of each",
            chosen.error.fnmr, recipe::kFmr, std::sqrt(chosen.error.norm_ratio), NameOf(rival),
            rival.error.fnmr, std::sqrt(rival.error.norm_ratio), rival.gamma);
      }
    }
    if (cancelled_) return absl::CancelledError("interrupted");
    out_.gamma = taken.gamma;
    out_.start = taken.start;
    return std::move(out_);
  }

 private:
  int Total() const {
    Eigen::Index total = 0;
    for (const PoolModality& modality : pool_.modalities()) total += modality.features.cols();
    return static_cast<int>(total);
  }

  StartChoice Start(Method method) const {
    TrainOptions options = options_;
    options.method = method;
    return DefaultStart(options, pool_);
  }

  // Whether `a` is better than `b` by more than chance, and by enough to count.
  static bool Clearly(const SystemTrial& a, const SystemTrial& b) {
    const FnmrDifference difference = Subtract(b.error, a.error);
    double pairs = 0;
    for (double count : a.error.pairs) pairs += count;
    return difference.value > std::max(recipe::kFallBackErrors * difference.standard_error,
                                       0.1 / std::max(pairs, 1.0));
  }

  // Measures a method at its dimensions, and gives the one to take.
  SystemTrial Try(Method method) {
    const size_t first = out_.trials.size();
    std::vector<int> gammas(open_.gammas.begin(), open_.gammas.end());
    if (method == Method::kNone)
      gammas = {std::max(PaddedDimension(Total()), gammas.size() == 1 ? gammas[0] : 0)};
    StartChoice start = Start(method);
    for (int gamma : gammas) {
      cancelled_ = cancelled_ || (open_.stopped && open_.stopped());
      if (!cancelled_) start = search_.Best(gamma, start);
      out_.trials.push_back({gamma, start, search_.Measure(gamma, start), {}});
    }
    return out_.trials[Smallest(out_.trials, first, out_.trials.size())];
  }

  const SamplePool& pool_;
  const TrainOptions& options_;
  const WhatIsOpen& open_;
  StartSearch search_;
  SystemChoice out_;
  bool cancelled_ = false;
};

}  // namespace

std::vector<int> GammaCandidates(int total) {
  std::vector<int> gammas;
  for (int gamma : recipe::kGammas) {
    if (gamma <= total) gammas.push_back(gamma);
  }
  if (gammas.empty()) gammas = {static_cast<int>(std::bit_floor(static_cast<unsigned>(total)))};
  return gammas;
}

int PaddedDimension(int total) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(total, 2))));
}

std::string SystemChoice::Reason() const {
  std::string text = absl::StrCat(MethodName(start.method), ", gamma ", gamma);
  for (const SystemTrial& trial : trials) {
    if (trial.gamma == gamma && trial.start.method == start.method) {
      absl::StrAppendFormat(&text, ": FNMR %.2g at FMR %g", trial.error.fnmr, recipe::kFmr);
    }
  }
  for (const SystemTrial& trial : trials) {
    if (trial.start.method != start.method || trial.gamma == gamma) continue;
    absl::StrAppendFormat(&text, "; %d: %.2g", trial.gamma, trial.error.fnmr);
  }
  return text;
}

Json SystemChoice::ToJson() const {
  Json json = {{"gamma", gamma}, {"method", MethodName(start.method)}, {"trials", Json::array()}};
  for (const SystemTrial& trial : trials) {
    const double deviation = Subtract(trial.error, Zero(trial.error)).standard_error;
    json["trials"].push_back(Json{
        {"gamma", trial.gamma},
        {"method", MethodName(trial.start.method)},
        {"modality_weights", trial.start.weights},
        {"shrinkages", trial.start.shrinkages},
        {"blend", trial.start.blend},
        {"whitening", trial.start.whitening},
        {"fnmr", ErrorJson(trial.error.fnmr, deviation, 0)},
        {"norm_ratio", trial.error.norm_ratio},
        {"minus_best", ErrorJson(trial.minus_best.value, trial.minus_best.standard_error, -1)}});
  }
  if (!fallback.empty()) json["fallback"] = fallback;
  return json;
}

absl::StatusOr<SystemChoice> ChooseSystem(const Dataset& dataset, const TrainOptions& options,
                                          const WhatIsOpen& open) {
  SystemChoice choice;
  choice.gamma = open.gammas[0];
  for (int gamma : open.gammas) {
    if (gamma <= recipe::kPaperGamma) choice.gamma = gamma;
  }
  if (options.recipe == Recipe::kPaper) return choice;
  HEFT_ASSIGN_OR_RETURN(const SamplePool pool, SamplePool::Make(dataset, Split::kTrain));
  Chooser chooser(pool, options, open);
  if (!chooser.KnowsNothing()) return chooser.Choose();
  choice.start = DefaultStart(options, pool);
  const int padded = PaddedDimension(dataset.TotalDimension());
  if (open.method && open.gammas.size() > 1 && padded <= open.largest_gamma) {
    choice.start.method = Method::kNone;
    choice.gamma = padded;
    choice.fallback =
        "too few people with two samples to test whether training helps: the concatenation is "
        "used. Use data of more people, or choose --method learned";
    return choice;
  }
  if (options.method == Method::kPca) {
    HEFT_ASSIGN_OR_RETURN(choice.gamma, ByEnergy(pool, choice.start, open.gammas));
  }
  if (options.method == Method::kNone && open.gammas.size() > 1) {
    choice.gamma = padded;
  }
  return choice;
}

}  // namespace heft
