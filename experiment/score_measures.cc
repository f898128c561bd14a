// SPDX-License-Identifier: Apache-2.0
#include "experiment/score_measures.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "evaluation/error_rates.h"
#include "heft/decisions.h"

namespace heft::experiment {
namespace {

constexpr size_t kMaxSystems = 8;

// Lists: the scores of a table that were computed, with people numbered from 0 without gaps.
struct Lists {
  Comparisons score, plain;
  size_t people = 0, failed = 0;
};

Lists ListsOf(const ScoreTable& table) {
  Lists out;
  std::unordered_map<uint32_t, int> numbers;
  const auto number = [&](uint32_t subject) {
    return numbers.try_emplace(subject, static_cast<int>(numbers.size())).first->second;
  };
  for (const ScorePair& pair : table.pairs) {
    if (std::isnan(pair.score) || (table.has_plain && std::isnan(pair.plain))) {
      ++out.failed;
      continue;
    }
    // Without names all genuine comparisons are one person's, and impostors' those of two.
    const int probe = table.named ? number(pair.probe) : 0;
    const int enrolled = table.named ? number(pair.enrolled) : (pair.genuine ? 0 : 1);
    out.score.Add(pair.score, probe, enrolled);
    if (table.has_plain) out.plain.Add(pair.plain, probe, enrolled);
  }
  out.people = table.named ? numbers.size() : 0;
  return out;
}

// AtFmr: the last point of a falling ROC whose FMR is at most `fmr`.
const RocPoint& AtFmr(const std::vector<RocPoint>& roc, double fmr) {
  const auto above = std::ranges::upper_bound(roc, fmr, {}, &RocPoint::fmr);
  return *(above - 1);  // the first point has an FMR of 0
}

double EerThreshold(const std::vector<RocPoint>& roc) {
  const auto apart = [](const RocPoint& p) { return std::abs(p.fmr - (1 - p.tmr)); };
  return std::ranges::min_element(roc.begin() + 1, roc.end(), {}, apart)->threshold;
}

Estimate PointEstimate(double value) { return {value, value, value}; }

class ScoreMeasurer {
 public:
  ScoreMeasurer(const Monitor& monitor, const ScoreOptions& options) : monitor_(monitor) {
    result_.options = options;
    bootstrap_.replicates = options.replicates;
    bootstrap_.seed = options.seed;
    std::ranges::sort(result_.options.fmrs, std::greater());
  }

  absl::StatusOr<ScoreMeasures> Run(std::span<const NamedScores> systems) {
    HEFT_RETURN_IF_ERROR(CheckOptions(systems.size()));
    Progress progress(monitor_, "measuring scores");
    for (size_t i = 0; i < systems.size(); ++i) {
      HEFT_RETURN_IF_ERROR(progress.Step(i, systems.size(), systems[i].name));
      const absl::Status added = Add(systems[i]);
      if (added.ok()) continue;
      return absl::Status(added.code(), absl::StrCat(systems[i].name, ": ", added.message()));
    }
    progress.Update(systems.size(), systems.size());
    return std::move(result_);
  }

 private:
  absl::Status CheckOptions(size_t systems) const {
    if (systems == 0 || systems > kMaxSystems) {
      return absl::InvalidArgumentError(
          absl::StrCat(systems, " lists of scores: give 1 to ", kMaxSystems));
    }
    for (double fmr : result_.options.fmrs) {
      if (fmr > 0 && fmr < 1) continue;
      return absl::InvalidArgumentError(absl::StrCat("FMR ", fmr, ": choose one between 0 and 1"));
    }
    return absl::OkStatus();
  }

  absl::Status Add(const NamedScores& system) {
    const Lists lists = ListsOf(system.table);
    std::vector<std::vector<Comparisons>> sets = {{lists.score}};
    if (system.table.has_plain) sets.push_back({lists.plain});
    std::vector<ComparisonEstimate> measured;
    if (system.table.named) {
      HEFT_ASSIGN_OR_RETURN(measured, MeasureComparisons(sets, bootstrap_));
    }
    const size_t first = result_.curves.size();
    for (size_t k = 0; k < sets.size(); ++k) {
      ScoredCurve curve;
      curve.name = k == 0 ? system.name : absl::StrCat(system.name, ", plain");
      curve.plain = k > 0;
      curve.failed = lists.failed;
      curve.people = lists.people;
      HEFT_ASSIGN_OR_RETURN(curve.scores, SplitKinds(sets[k][0]));
      HEFT_ASSIGN_OR_RETURN(curve.measured,
                            measured.empty() ? WithoutPeople(curve.scores) : measured[k]);
      HEFT_RETURN_IF_ERROR(Sweep(sets[k][0], &curve));
      result_.curves.push_back(std::move(curve));
    }
    if (sets.size() > 1) AddChange(first, lists, measured[1]);
    Warn(system, result_.curves[first]);
    return absl::OkStatus();
  }

  static absl::StatusOr<ComparisonEstimate> WithoutPeople(const ScoreSet& scores) {
    HEFT_ASSIGN_OR_RETURN(const VerificationMetrics metrics, Verify(scores));
    ComparisonEstimate out;
    out.auroc = PointEstimate(metrics.auroc);
    out.eer = PointEstimate(metrics.eer);
    out.fnmr_1e2 = PointEstimate(1 - metrics.tmr_1e2);
    out.fnmr_1e3 = PointEstimate(1 - metrics.tmr_1e3);
    out.genuine = static_cast<int64_t>(scores.genuine.size());
    out.impostor = static_cast<int64_t>(scores.impostor.size());
    return out;
  }

  // The ROC and, on it, the requested points.
  absl::Status Sweep(const Comparisons& list, ScoredCurve* curve) const {
    HEFT_ASSIGN_OR_RETURN(curve->roc, Roc(curve->scores));
    curve->eer_threshold = EerThreshold(curve->roc);
    std::vector<double> thresholds;
    for (double fmr : result_.options.fmrs) {
      const RocPoint& at = AtFmr(curve->roc, fmr);
      OperatingPoint& point = curve->points.emplace_back();
      point.asked = fmr;
      point.reached = std::isfinite(at.threshold);
      point.threshold = at.threshold;
      point.fmr = PointEstimate(at.fmr);
      point.fnmr = PointEstimate(1 - at.tmr);
      if (point.reached) thresholds.push_back(at.threshold);
    }
    if (curve->people == 0 || thresholds.empty()) return absl::OkStatus();
    const std::vector<double> rising = thresholds;  // as FMRs fall
    HEFT_ASSIGN_OR_RETURN(const PooledRates rates,
                          MeasureErrorRates({&list, 1}, {&rising, 1}, bootstrap_));
    size_t next = 0;
    for (OperatingPoint& point : curve->points) {
      if (!point.reached) continue;
      point.fmr = rates.at[next].fmr;
      point.fnmr = rates.at[next++].fnmr;
    }
    return absl::OkStatus();
  }

  void AddChange(size_t curve, const Lists& lists, const ComparisonEstimate& plain) {
    ScoreChange change{curve};
    // Of plain from encrypted, so with the other sign.
    const auto turn = [](const Estimate& e) { return Estimate{-e.value, -e.hi, -e.lo}; };
    change.auroc = turn(plain.auroc_change);
    change.fnmr_1e2 = turn(plain.fnmr_change);
    double squares = 0;
    for (size_t i = 0; i < lists.score.scores.size(); ++i) {
      const double difference = lists.score.scores[i] - lists.plain.scores[i];
      change.largest = std::max(change.largest, std::abs(difference));
      squares += difference * difference;
    }
    change.rms = std::sqrt(squares / static_cast<double>(lists.score.scores.size()));
    result_.changes.push_back(change);
  }

  void Warn(const NamedScores& system, const ScoredCurve& curve) {
    const auto warn = [&](const std::string& why) {
      result_.warnings.push_back(absl::StrCat(system.name, ": ", why));
    };
    if (curve.measured.auroc.value < 0.5) {
      warn(
          "impostor scores are higher than genuine ones: are these distances? A higher score must "
          "mean more similar");
    }
    if (curve.failed > 0) {
      warn(absl::StrCat(curve.failed, " comparisons have no score and are left out: rates are ",
                        "of algorithms (FMR, FNMR), not of a system that fails to acquire"));
    }
    const auto used = std::ranges::count_if(
        system.table.splits, [&](const std::string& split) { return !split.empty(); });
    if (used > 1 && system.table.named) {
      warn(absl::StrCat("comparisons of ", used, " splits are pooled; --split takes one"));
    }
    constexpr size_t kFewPeople = 30;
    if (system.table.named && curve.people < kFewPeople) {
      warn(absl::StrCat("only ", curve.people, " people: the intervals are rough"));
    }
    const auto impostors = static_cast<double>(curve.measured.impostor);
    for (const OperatingPoint& point : curve.points) {
      if (point.asked * impostors >= kFalseMatchesNeeded) continue;
      warn(absl::StrFormat("FMR %g rests on %d impostor comparisons; %.0f are needed to trust it",
                           point.asked, curve.measured.impostor,
                           std::ceil(kFalseMatchesNeeded / point.asked)));
    }
  }

  const Monitor& monitor_;
  BootstrapOptions bootstrap_;
  ScoreMeasures result_;
};

}  // namespace

absl::StatusOr<ScoreMeasures> MeasureTables(const Monitor& monitor,
                                            std::span<const NamedScores> systems,
                                            const ScoreOptions& options) {
  return ScoreMeasurer(monitor, options).Run(systems);
}

}  // namespace heft::experiment
