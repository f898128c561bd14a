// SPDX-License-Identifier: Apache-2.0
#include "learning/attacks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/threads.h"
#include "evaluation/thresholds.h"
#include "fusion/recovery_figures.h"
#include "learning/projection.h"

namespace heft {
namespace {

constexpr double kWolfRates[] = {1e-2, 1e-3};
// Of a gallery whose wolf is stated.
constexpr double kSearched = 100, kSearchRate = 1e-2;
constexpr int kScores[] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 49};
constexpr int kDecisions[] = {1, 2, 4, 8, 16, 32, 64, 128};
constexpr int kTemplatesOfAPerson = 2;  // that are attacked

absl::StatusOr<FeatureMatrix> TemplatesOf(const Dataset& people, const std::vector<int>& rows,
                                          const TrainResult& result) {
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features, Concatenate(people, rows));
  return FeatureMatrix(ProjectAndNormalise(result.projection, features, {result.approximation})
                           .rowwise()
                           .normalized());
}

absl::StatusOr<AttackedFold> FoldOf(const CrossFit& fit, size_t fold, const std::vector<int>& rows,
                                    std::map<std::string, int>* numbers) {
  AttackedFold out;
  HEFT_ASSIGN_OR_RETURN(out.known, TemplatesOf(fit.people, RowsOf(fit.splits[fold], Split::kTrain),
                                               fit.results[fold]));
  HEFT_ASSIGN_OR_RETURN(out.targets, TemplatesOf(fit.people, rows, fit.results[fold]));
  for (const int row : rows) {
    const auto next = static_cast<int>(numbers->size());
    out.people.push_back(
        numbers->try_emplace(fit.people.labels[static_cast<size_t>(row)], next).first->second);
  }
  return out;
}

// The first templates of each person.
Population AttackedPeople(const AttackedFold& fold) {
  std::map<int, int> taken;
  std::vector<int> rows;
  for (size_t i = 0; i < fold.people.size(); ++i) {
    if (taken[fold.people[i]]++ < kTemplatesOfAPerson) rows.push_back(static_cast<int>(i));
  }
  return {fold.known, fold.targets(rows, Eigen::all)};
}

// Found: in one fold, the share of its targets after each number of answers.
struct Found {
  std::vector<double> scores, decisions;
  double targets = 0;
};

absl::StatusOr<Found> AttackFold(const AttackedFold& fold, double threshold, uint64_t seed) {
  const Population people = AttackedPeople(fold);
  Found out;
  out.targets = static_cast<double>(people.targets.rows());
  std::vector<int> answers(std::begin(kScores), std::end(kScores));
  std::erase_if(answers, [&](int k) { return k > people.known.cols(); });
  const auto attack = [&](Probes probes) {
    return RecoverFromScores(people, probes, answers, std::span(&threshold, 1), seed);
  };
  HEFT_ASSIGN_OR_RETURN(const auto scores, attack(Probes::kChosen));
  for (const Recovery& row : scores) out.scores.push_back(row.accepted[0]);
  // Random probes tell a little more where few people are known. That matters for a budget.
  answers.resize(std::ranges::count_if(out.scores, [](double s) { return s <= kMaxRecovered; }));
  if (!answers.empty()) {
    HEFT_ASSIGN_OR_RETURN(const auto random, attack(Probes::kStrangers));
    for (size_t i = 0; i < random.size(); ++i) {
      out.scores[i] = std::max(out.scores[i], random[i].accepted[0]);
    }
  }
  HEFT_ASSIGN_OR_RETURN(const auto decisions, RecoverFromDecisions(people, kDecisions, threshold,
                                                                   seed, GuessEffort::kQuick));
  for (const Recovery& row : decisions) out.decisions.push_back(row.accepted[0]);
  return out;
}

// Points of all folds, each with the weight of its targets.
std::vector<RecoveryFigures::Point> Pooled(std::span<const Found> found,
                                           std::span<const int> answers,
                                           std::vector<double> Found::*of) {
  std::vector<RecoveryFigures::Point> points;
  for (size_t i = 0; i < (found[0].*of).size(); ++i) {
    double accepted = 0, targets = 0;
    for (const Found& fold : found) {
      accepted += std::round((fold.*of)[i] * fold.targets);
      targets += fold.targets;
    }
    points.push_back({static_cast<uint64_t>(answers[i]), accepted / targets});
  }
  return points;
}

Json WolvesJson(const Wolves& wolves, const DecisionTable& table) {
  Json rates = Json::array();
  for (const double fmr : kWolfRates) {
    const auto chosen = ChooseThreshold(table.thresholds, fmr);
    if (!chosen.ok()) continue;
    const double accepted = wolves.AcceptedAt(chosen->score);
    rates.push_back({{"fmr", fmr},
                     {"score", chosen->score},
                     {"accepted", accepted},
                     {"over_rate", accepted / fmr}});
  }
  Json out = {{"people", wolves.People()}, {"verification", std::move(rates)}};
  const auto chosen = ChooseSearchThreshold(table.searches, kSearchRate, kSearched);
  if (!chosen.ok()) return out;
  const double named = wolves.NamedAt(chosen->score, kSearched);
  out["search"] = {{"fpir", kSearchRate},
                   {"people", kSearched},
                   {"score", chosen->score},
                   {"named", named},
                   {"over_rate", named / kSearchRate}};
  return out;
}

}  // namespace

absl::StatusOr<std::vector<AttackedFold>> AttackedFolds(const CrossFit& fit) {
  std::vector<AttackedFold> folds;
  std::vector<bool> seen(fit.people.labels.size());
  std::map<std::string, int> numbers;
  // Folds of people who are all new come first, so that there are few.
  for (const bool all_new : {true, false}) {
    for (size_t fold = 0; fold < fit.splits.size(); ++fold) {
      std::vector<int> rows = RowsOf(fit.splits[fold], Split::kTest);
      const auto known = RowsOf(fit.splits[fold], Split::kTrain);
      const size_t left_out = rows.size();
      std::erase_if(rows, [&](int row) { return seen[static_cast<size_t>(row)]; });
      if (rows.empty() || known.size() < 2 || (all_new && rows.size() < left_out)) continue;
      for (const int row : rows) seen[static_cast<size_t>(row)] = true;
      HEFT_ASSIGN_OR_RETURN(AttackedFold attacked, FoldOf(fit, fold, rows, &numbers));
      folds.push_back(std::move(attacked));
    }
  }
  return folds;
}

absl::StatusOr<Wolves> WolvesOf(std::span<const AttackedFold> folds, const DecisionTable& table) {
  std::vector<double> thresholds;
  for (const double fmr : kWolfRates) {
    const auto chosen = ChooseThreshold(table.thresholds, fmr);
    if (chosen.ok()) thresholds.push_back(chosen->score);
  }
  if (thresholds.empty()) thresholds.push_back(table.thresholds.back().score);
  const double last = thresholds.back();
  const double step = thresholds.size() > 1 ? last - thresholds[0] : 0.1;
  thresholds.push_back(last + step);
  thresholds.push_back(last + 2 * step);
  std::erase_if(thresholds, [](double score) { return score > 0.98; });
  if (thresholds.empty()) thresholds.push_back(0.98);
  return MeasureWolves(folds, thresholds);
}

absl::Status Harden(std::span<const AttackedFold> folds, const ProbeScores& scores, uint64_t seed,
                    DecisionTable* table) {
  if (folds.empty() || table->thresholds.empty()) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(const Wolves wolves, WolvesOf(folds, *table));
  HEFT_ASSIGN_OR_RETURN(const ScoreSet pooled, PoolScores(scores.sets));
  table->thresholds = AgainstWolves(std::move(table->thresholds), wolves, pooled.genuine, seed);
  for (SearchCalibration& search : table->searches) {
    search = AgainstWolves(std::move(search), wolves, seed);
  }
  return absl::OkStatus();
}

std::string DescribeAttacks(const Json& summary) {
  std::string text;
  if (const Json* wolves = summary.find("wolves")) {
    const char* separator = "  a wolf, one probe that many people's templates accept: ";
    for (const Json& rate : (*wolves)["verification"]) {
      absl::StrAppendFormat(&text, "%saccepted by %.2f%% at FMR %g, %.1f times the rate", separator,
                            100 * rate["accepted"].get<double>(), rate["fmr"].get<double>(),
                            rate["over_rate"].get<double>());
      separator = "; ";
    }
    if (const Json* search = wolves->find("search")) {
      absl::StrAppendFormat(&text, "%snames somebody in %.0f%% of searches of %d people at FPIR %g",
                            separator, 100 * (*search)["named"].get<double>(),
                            (*search)["people"].get<int>(), (*search)["fpir"].get<double>());
    }
    if (!text.empty()) {
      absl::StrAppend(&text, summary.contains("against_wolves")
                                 ? " (thresholds are set against wolves)\n"
                                 : " (--against-wolves sets thresholds by it)\n");
    }
  }
  if (const auto figures = FiguresOf(summary)) {
    absl::StrAppend(&text, "  ", figures->Describe(), "\n");
  }
  return text;
}

absl::StatusOr<Json> AttacksOn(std::span<const AttackedFold> folds, const DecisionTable& table,
                               uint64_t seed) {
  Json out = Json::object();
  if (folds.empty() || table.thresholds.empty()) return out;
  HEFT_ASSIGN_OR_RETURN(const Wolves wolves, WolvesOf(folds, table));
  out["wolves"] = WolvesJson(wolves, table);
  const auto threshold = ChooseThreshold(table.thresholds, kRecoveryFmr);
  if (!threshold.ok()) return out;
  std::vector<Found> found(folds.size());
  HEFT_RETURN_IF_ERROR(TryParallelFor(folds.size(), [&](size_t i) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(found[i], AttackFold(folds[i], threshold->score, seed));
    return absl::OkStatus();
  }));
  RecoveryFigures figures;
  figures.people = static_cast<uint64_t>(wolves.People());
  figures.scores = Pooled(found, kScores, &Found::scores);
  figures.decisions = Pooled(found, kDecisions, &Found::decisions);
  // Who has scores may send a wolf instead.
  const Estimate wolf = wolves.AcceptedIn(threshold->score, seed);
  for (auto* points : {&figures.scores, &figures.decisions}) {
    for (auto& point : *points) point.accepted = std::max(point.accepted, wolf.value);
  }
  figures.unanswered = {wolf.lo, std::max(wolf.hi, figures.scores[0].accepted)};
  out["recovery"] = figures.ToJson();
  return out;
}

}  // namespace heft
