// SPDX-License-Identifier: Apache-2.0
#include "experiment/judgement.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/status/status.h"
#include "evaluation/error_rates.h"
#include "evaluation/thresholds.h"

namespace heft::experiment {
namespace {

// Of every set what its model chose for the same question.
struct SetThresholds {
  double asked = 0;
  std::string refused;
  std::vector<double> thresholds;
  RateInterval predicted{0, 0};
};

// `choose` gives the threshold of set k, for all sets or for none.
template <typename Choose>
SetThresholds ChooseForAll(size_t sets, double asked, Choose choose) {
  SetThresholds out;
  out.asked = asked;
  for (size_t k = 0; k < sets; ++k) {
    const absl::StatusOr<ChosenThreshold> chosen = choose(k);
    if (!chosen.ok()) {
      out.refused = std::string(chosen.status().message());
      return out;
    }
    out.thresholds.push_back(chosen->score);
    out.predicted.lo += chosen->interval.lo / static_cast<double>(sets);
    out.predicted.hi += chosen->interval.hi / static_cast<double>(sets);
  }
  return out;
}

RateCheck Refused(const SetThresholds& choice, double allowed_missed) {
  RateCheck check;
  check.allowed_missed = allowed_missed;
  check.asked = choice.asked;
  check.refused = choice.refused;
  return check;
}

RateCheck Checked(const SetThresholds& choice, const Estimate& measured, const Estimate& missed,
                  double allowed_missed) {
  RateCheck check = CheckRate(choice.asked, measured, choice.predicted);
  check.missed = missed;
  check.allowed_missed = allowed_missed;
  for (double t : choice.thresholds) {
    check.threshold += t / static_cast<double>(choice.thresholds.size());
  }
  return check;
}

// Thresholds of each set, of all choices that were not refused. They rise, as the rates asked for
// fall.
std::vector<std::vector<double>> BySet(const std::vector<SetThresholds>& choices, size_t sets) {
  std::vector<std::vector<double>> out(sets);
  for (const SetThresholds& choice : choices) {
    if (!choice.refused.empty()) continue;
    for (size_t k = 0; k < sets; ++k) out[k].push_back(choice.thresholds[k]);
  }
  return out;
}

// The least FNMR of a point of the ROC whose FMR is `asked` at most.
double AllowedFnmr(const std::vector<RocPoint>& roc, double asked) {
  double tmr = 0;
  for (const RocPoint& point : roc) {
    if (point.fmr <= asked) tmr = std::max(tmr, point.tmr);
  }
  return 1 - tmr;
}

// The same of searches.
double AllowedFnir(const SearchErrors& curve, double asked) {
  double fnir = 1;
  for (size_t k = 0; k < curve.thresholds.size(); ++k) {
    if (curve.fpir[k] <= asked) fnir = std::min(fnir, curve.fnir[k]);
  }
  return fnir;
}

// The thresholds of each list's model for probes of a set of modalities, and what the lists show.
absl::StatusOr<std::vector<RateCheck>> CheckFmrs(std::span<const Comparisons> lists,
                                                 std::span<const Model* const> models, uint32_t set,
                                                 const ScoreSet& scores,
                                                 const BootstrapOptions& options) {
  std::vector<SetThresholds> choices;
  for (double fmr : kAskedFmrs) {
    choices.push_back(ChooseForAll(lists.size(), fmr,
                                   [&](size_t k) { return models[k]->ThresholdFor(fmr, set); }));
  }
  HEFT_ASSIGN_OR_RETURN(const PooledRates rates,
                        MeasureErrorRates(lists, BySet(choices, lists.size()), options));
  HEFT_ASSIGN_OR_RETURN(const std::vector<RocPoint> roc, Roc(scores));
  std::vector<RateCheck> checks;
  size_t next = 0;
  for (const SetThresholds& choice : choices) {
    const double allowed = AllowedFnmr(roc, choice.asked);
    if (!choice.refused.empty()) {
      checks.push_back(Refused(choice, allowed));
      continue;
    }
    const ErrorRates& at = rates.at[next++];
    checks.push_back(Checked(choice, at.fmr, at.fnmr, allowed));
  }
  return checks;
}

absl::Status JudgeComparisons(std::span<const Comparisons> lists,
                              std::span<const Model* const> models, const BootstrapOptions& options,
                              Judgement* out) {
  HEFT_ASSIGN_OR_RETURN(out->scores, PoolScores(lists));
  // Models of one judgement fuse the same modalities.
  HEFT_ASSIGN_OR_RETURN(out->comparisons,
                        CheckFmrs(lists, models, models[0]->AllModalities(), out->scores, options));
  return absl::OkStatus();
}

absl::Status JudgeEvidence(std::span<const Comparisons> lists, std::span<const Model* const> models,
                           const BootstrapOptions& options, Judgement* out) {
  std::vector<Comparisons> ratios;
  for (size_t k = 0; k < lists.size(); ++k) {
    const auto table = models[k]->TableFor(models[k]->AllModalities());
    if (!table.ok() || !(*table)->calibration) return absl::OkStatus();
    Comparisons& list = ratios.emplace_back(lists[k]);
    for (double& score : list.scores) score = (*table)->calibration->LogLikelihoodRatio(score);
  }
  HEFT_ASSIGN_OR_RETURN(out->evidence, MeasureEvidence(ratios, options));
  return absl::OkStatus();
}

void AddSearchChecks(const std::vector<SetThresholds>& choices, uint32_t templates, uint64_t people,
                     OpenSetOutcome outcome, Judgement* out) {
  size_t next = 0;
  for (const SetThresholds& choice : choices) {
    const double allowed = AllowedFnir(outcome.curve, choice.asked);
    SearchCheck check = {templates, people, Refused(choice, allowed)};
    if (choice.refused.empty()) {
      const OpenSetOutcome::Rates& at = outcome.at[next++];
      check.rate = Checked(choice, at.fpir, at.fnir, allowed);
    }
    out->searches.push_back(std::move(check));
  }
  out->curves.push_back({templates, std::move(outcome.curve)});
}

absl::Status JudgeSearches(std::span<const JudgedSet> sets,
                           const std::vector<LabelledScores>& scores, uint32_t templates,
                           const BootstrapOptions& options, Judgement* out) {
  uint64_t people = 0;
  for (const LabelledScores& set : scores) {
    const size_t gallery = GallerySize(set.identities, templates);
    if (gallery == 0) return absl::OkStatus();
    people += gallery;
  }
  std::vector<SetThresholds> choices;
  for (double fpir : kAskedFpirs) {
    choices.push_back(ChooseForAll(sets.size(), fpir, [&](size_t k) {
      const Model& model = *sets[k].model;
      return model.ThresholdForSearch(fpir, GallerySize(scores[k].identities, templates), templates,
                                      model.AllModalities());
    }));
  }
  OpenSetPlan plan;
  plan.templates = templates;
  plan.seed = options.seed;
  HEFT_ASSIGN_OR_RETURN(OpenSetOutcome outcome,
                        TryOpenSet(scores, BySet(choices, sets.size()), plan));
  AddSearchChecks(choices, templates, people / sets.size(), std::move(outcome), out);
  return absl::OkStatus();
}

}  // namespace

std::string VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kHolds:
      return "holds";
    case Verdict::kDoesNotHold:
      return "does_not_hold";
    case Verdict::kTooFewPeople:
      return "too_few_people";
  }
  return "";
}

Verdict RateCheck::verdict() const {
  if (ratio.lo > 1 || ratio.hi < 1) return Verdict::kDoesNotHold;
  const bool narrow =
      ratio.value > 0 && ratio.hi <= kWidest * ratio.value && ratio.value <= kWidest * ratio.lo;
  return narrow ? Verdict::kHolds : Verdict::kTooFewPeople;
}

double RateCheck::MissedOverAllowed() const {
  if (allowed_missed > 0) return missed.value / allowed_missed;
  return missed.value > 0 ? INFINITY : 1;
}

RateCheck CheckRate(double asked, const Estimate& measured, const RateInterval& predicted) {
  RateCheck check;
  check.asked = asked;
  check.predicted = predicted;
  check.measured = measured;
  // Errors of threshold and of measurement are independent, and of a factor. A model that says
  // nothing of its threshold leaves the measurement alone.
  const RateInterval said = predicted == RateInterval{} ? RateInterval{asked, asked} : predicted;
  const auto apart = [](double a, double b) { return a > 0 && b > 0 ? std::log(a / b) : INFINITY; };
  const double value = std::max(measured.value, 0.0);
  const double down = std::hypot(apart(value, measured.lo), apart(asked, said.lo));
  check.ratio.value = value / asked;
  check.ratio.lo = check.ratio.value * std::exp(-down);
  if (value > 0) {
    const double up = std::hypot(apart(measured.hi, value), apart(said.hi, asked));
    check.ratio.hi = check.ratio.value * std::exp(up);
  } else {
    check.ratio.hi = measured.hi / asked * std::max(1.0, said.hi / asked);
  }
  return check;
}

std::vector<RocPoint> ThinForDrawing(const std::vector<RocPoint>& points) {
  constexpr double kStep = 1.0 / 500, kDecades = 4;
  const auto log = [](double rate) { return std::log10(std::max(rate, 1e-6)) / kDecades; };
  std::vector<RocPoint> kept;
  for (size_t i = 0; i < points.size(); ++i) {
    const RocPoint& p = points[i];
    if (i > 0 && i + 1 < points.size() && log(p.fmr) - log(kept.back().fmr) < kStep &&
        p.tmr - kept.back().tmr < kStep && log(1 - kept.back().tmr) - log(1 - p.tmr) < kStep) {
      continue;
    }
    kept.push_back(p);
  }
  return kept;
}

absl::StatusOr<Judgement> JudgeLists(std::span<const Comparisons> lists,
                                     std::span<const Model* const> models,
                                     const BootstrapOptions& options) {
  Judgement out;
  HEFT_RETURN_IF_ERROR(JudgeComparisons(lists, models, options, &out));
  HEFT_RETURN_IF_ERROR(JudgeEvidence(lists, models, options, &out));
  return out;
}

absl::Status JudgePartial(const LabelledScores& scores, const Model& model, uint32_t set,
                          const BootstrapOptions& options, Judgement* judgement) {
  const Comparisons list = ToComparisons(scores);
  const Model* const judge = &model;
  HEFT_ASSIGN_OR_RETURN(const ScoreSet pairs, PoolScores(std::span(&list, 1)));
  HEFT_ASSIGN_OR_RETURN(std::vector<RateCheck> checks,
                        CheckFmrs(std::span(&list, 1), std::span(&judge, 1), set, pairs, options));
  judgement->partial.push_back({model.NamesOf(set), std::move(checks)});
  return absl::OkStatus();
}

absl::Status JudgeGallery(const FeatureMatrix& scores, std::span<const int> probes,
                          std::span<const int> templates, const SearchChooser& choose,
                          Judgement* judgement, std::span<const int> left_out) {
  std::map<int, uint32_t> counts;
  for (int person : templates) ++counts[person];
  uint32_t most = 0;
  for (const auto& [person, count] : counts) most = std::max(most, count);
  std::vector<SetThresholds> choices;
  for (double fpir : kAskedFpirs) {
    choices.push_back(
        ChooseForAll(1, fpir, [&](size_t) { return choose(fpir, counts.size(), most); }));
  }
  const std::vector<double> thresholds = BySet(choices, 1)[0];
  HEFT_ASSIGN_OR_RETURN(OpenSetOutcome outcome,
                        SearchGallery(scores, probes, templates, thresholds, left_out));
  AddSearchChecks(choices, most, counts.size(), std::move(outcome), judgement);
  return absl::OkStatus();
}

absl::StatusOr<Judgement> Judge(std::span<const JudgedSet> sets, const BootstrapOptions& options) {
  std::vector<LabelledScores> scores;
  std::vector<Comparisons> lists;
  std::vector<const Model*> models;
  for (const JudgedSet& set : sets) {
    scores.push_back(set.scores);
    lists.push_back(ToComparisons(set.scores));
    models.push_back(set.model);
  }
  HEFT_ASSIGN_OR_RETURN(Judgement out, JudgeLists(lists, models, options));
  for (uint32_t templates : kEnrolledTemplates) {
    HEFT_RETURN_IF_ERROR(JudgeSearches(sets, scores, templates, options, &out));
  }
  if (out.searches.empty()) {
    out.no_searches =
        "searches need people with two samples, and people who are not enrolled: there are too few "
        "of them";
  }
  return out;
}

}  // namespace heft::experiment
