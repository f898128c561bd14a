// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/bytes.h"
#include "base/inside.h"
#include "base/progress.h"
#include "base/status.h"
#include "evaluation/thresholds.h"
#include "features/random.h"
#include "heft/train.h"
#include "learning/attacks.h"
#include "learning/cross_fit.h"
#include "learning/decision_tables.h"
#include "learning/model_scores.h"
#include "learning/parts.h"
#include "learning/training_marks.h"

namespace heft {
namespace {

// kMaxRows: samples that are all compared with each other; people beyond go into further parts.
constexpr int kMaxRows = 4000;
constexpr uint64_t kPartsStream = 1, kAttackedStream = 2;  // of the seed
constexpr int kAttackedParts = 5;
// kMaxOutsideCalibrated: the share of samples outside the interval from which on a warning is
// given.
constexpr double kMaxOutsideCalibrated = 0.02;

// People: whose scores are compared.
struct People {
  Dataset data;
  int identities = 0;
  int left_out = 0;          // identities whose rows are marked "train"
  bool trained_too = false;  // those are used, for want of others
};

// How many people of these rows have two samples or more.
int CountWithTwo(const Dataset& dataset, std::span<const int> rows) {
  std::vector<std::string> labels;
  for (int row : rows) labels.push_back(dataset.labels[row]);
  return PeopleWithTwo(IdentityNumbers(labels));
}

int CountIdentities(std::span<const std::string> labels) {
  if (labels.empty()) return 0;
  return 1 + std::ranges::max(IdentityNumbers(labels));
}

absl::StatusOr<People> ChoosePeople(const Dataset& dataset) {
  std::vector<int> rows(dataset.Rows());
  std::iota(rows.begin(), rows.end(), 0);
  People people;
  if (!dataset.split_was_derived) {
    std::vector<int> train, others = RowsOf(dataset.split, Split::kTest);
    std::ranges::copy_if(rows, std::back_inserter(train),
                         [&](int row) { return dataset.split[row] != Split::kTest; });
    if (CountWithTwo(dataset, others) >= kFewestCalibrated) {
      people.left_out = CountIdentities(SelectRows(dataset, train).labels);
      rows = std::move(others);
    } else {
      people.trained_too = !train.empty();
    }
  }
  const int with_two = CountWithTwo(dataset, rows);
  if (with_two < kFewestCalibrated) {
    return absl::InvalidArgumentError(absl::StrCat(
        "too few people to calibrate on: ", with_two, " have two samples or more, but ",
        kFewestCalibrated, " are needed; 20 with 4 samples each give a threshold for FMR 1e-2"));
  }
  people.data = SelectRows(dataset, rows);
  people.data.split.assign(rows.size(), Split::kTest);
  people.identities = CountIdentities(people.data.labels);
  return people;
}

// Refuses people whose vectors trained the projection.
absl::Status CheckNew(const Json& summary, const Dataset& people) {
  const Json* marks = summary.find("training_marks");
  if (marks == nullptr) return absl::OkStatus();
  const size_t found = CountMarked(*marks, people);
  if (found == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "these people trained the model (", found, " of ", marks->size(),
      " marked training vectors are among their samples), so their scores are too good: give other "
      "people, or mark all but those who trained it \"test\" in split.txt"));
}

// Parts: the people in as many parts as keep each below kMaxRows samples.
std::vector<Dataset> Deal(const Dataset& people, uint64_t seed) {
  const int parts = (people.Rows() + kMaxRows - 1) / kMaxRows;
  if (parts == 1) return {people};
  const std::vector<int> identities = IdentityNumbers(people.labels);
  Random random(seed, kPartsStream);
  const std::vector<int> part_of = DealPeople(identities, parts, random);
  std::vector<std::vector<int>> rows(parts);
  for (int row = 0; row < people.Rows(); ++row) rows[part_of[identities[row]]].push_back(row);
  std::vector<Dataset> out;
  for (const std::vector<int>& part : rows) out.push_back(SelectRows(people, part));
  return out;
}

struct Pairs {
  int64_t genuine = 0, impostor = 0;
};

Pairs CountPairs(std::span<const Dataset> parts) {
  Pairs pairs;
  for (const Dataset& part : parts) {
    std::map<std::string_view, int64_t> samples;
    for (const std::string& label : part.labels) ++samples[label];
    const int64_t n = part.Rows();
    int64_t genuine = 0;
    for (const auto& [label, count] : samples) genuine += count * (count - 1) / 2;
    pairs.genuine += genuine;
    pairs.impostor += n * (n - 1) / 2 - genuine;
  }
  return pairs;
}

std::vector<std::string> Warnings(const People& people, const Pairs& pairs, double outside) {
  std::vector<std::string> warnings;
  if (people.trained_too) {
    warnings.push_back(
        "the calibration uses people marked \"train\", because there are too few others: if they "
        "trained the model, its thresholds are too optimistic");
  }
  std::string few = UnsupportedRates(static_cast<size_t>(pairs.impostor));
  if (!few.empty()) warnings.push_back(std::move(few));
  if (outside > kMaxOutsideCalibrated) {
    warnings.push_back(absl::StrFormat(
        "%.1f%% of the samples lie outside the interval that the model normalises: templates of "
        "such samples are rejected at admission. Train a model on people like these, or use one "
        "that needs no training (heft train --method none)",
        100 * outside));
  }
  return warnings;
}

// What a calibration says anew.
constexpr std::string_view kReplaced[] = {"threshold_warning", "calibration", "wolves", "recovery",
                                          "against_wolves"};

// AttackedParts: the people in kAttackedParts parts, each attacked with the others known. Only of
// the first kMaxRows samples.
absl::StatusOr<std::vector<AttackedFold>> AttackedParts(const Dataset& people, const Model& model,
                                                        uint64_t seed) {
  CrossFit fit;
  std::vector<int> rows(static_cast<size_t>(std::min(people.Rows(), kMaxRows)));
  std::iota(rows.begin(), rows.end(), 0);
  fit.people = SelectRows(people, rows);
  const std::vector<int> identities = IdentityNumbers(fit.people.labels);
  Random random(seed, kAttackedStream);
  const std::vector<int> part_of = DealPeople(identities, kAttackedParts, random);
  TrainResult result;
  result.projection = ProjectionOf(model);
  result.approximation = model.approximation;
  for (int part = 0; part < kAttackedParts; ++part) {
    std::vector<Split> split;
    for (const int identity : identities) {
      split.push_back(part_of[static_cast<size_t>(identity)] == part ? Split::kTest
                                                                     : Split::kTrain);
    }
    fit.splits.push_back(std::move(split));
    fit.results.push_back(result);
  }
  return AttackedFolds(fit);
}

// The summary with "calibration", and without the training's own warning on its thresholds, which
// are replaced.
Json Summarise(const Json& before, const Json& attacks, Json calibration) {
  Json summary = Json::object();
  for (const auto& [key, value] : before.members()) {
    if (std::ranges::find(kReplaced, key) == std::end(kReplaced)) summary[key] = value;
  }
  summary.update(attacks);
  summary["calibration"] = std::move(calibration);
  return summary;
}

}  // namespace

absl::StatusOr<Model> Calibrate(const Model& model, const TrainingData& data, uint64_t seed,
                                const Monitor& monitor, bool against_wolves) {
  HEFT_RETURN_IF_ERROR(model.Check());
  HEFT_ASSIGN_OR_RETURN(const Json before, Json::Parse(model.training_summary));
  HEFT_ASSIGN_OR_RETURN(const Dataset selected,
                        SelectModalities(Inside::Of(data).dataset, model, "the data set"));
  HEFT_ASSIGN_OR_RETURN(const People people, ChoosePeople(selected));
  HEFT_RETURN_IF_ERROR(CheckNew(before, people.data));
  const std::vector<Dataset> parts = Deal(people.data, seed);
  const size_t modalities = model.modalities.size();
  const std::vector<uint32_t> probes = ProbeSets(modalities);
  const Progress progress(monitor, "calibrating");
  Model out = model;
  out.tables.clear();
  HEFT_ASSIGN_OR_RETURN(const std::vector<AttackedFold> folds,
                        AttackedParts(people.data, model, seed));
  int outside = 0;
  for (size_t i = 0; i < probes.size(); ++i) {
    HEFT_RETURN_IF_ERROR(progress.Step(i, probes.size()));
    ProbeScores scores{probes[i], {}};
    const std::vector<int> missing = MissingModalities(probes[i], modalities);
    for (const Dataset& part : parts) {
      int lost = 0;
      HEFT_ASSIGN_OR_RETURN(LabelledScores set,
                            PlainScores(part, Split::kTest, model, missing, &lost));
      if (missing.empty()) outside += lost;
      scores.sets.push_back(std::move(set));
    }
    HEFT_ASSIGN_OR_RETURN(DecisionTable table, FitDecisionTable(scores, seed, true));
    if (against_wolves) HEFT_RETURN_IF_ERROR(Harden(folds, scores, seed, &table));
    out.tables.push_back(std::move(table));
  }
  HEFT_RETURN_IF_ERROR(progress.Step(probes.size(), probes.size()));
  const Pairs pairs = CountPairs(parts);
  const double outside_share = double(outside) / people.data.Rows();
  HEFT_ASSIGN_OR_RETURN(Json attacks, AttacksOn(folds, out.tables[0], seed));
  if (against_wolves) attacks["against_wolves"] = true;
  out.training_summary = Summarise(before, std::move(attacks),
                                   {{"people", people.identities},
                                    {"samples", people.data.Rows()},
                                    {"people_left_out", people.left_out},
                                    {"genuine_pairs", pairs.genuine},
                                    {"impostor_pairs", pairs.impostor},
                                    {"outside_share", outside_share},
                                    {"seed", seed},
                                    {"warnings", Warnings(people, pairs, outside_share)}})
                             .dump();
  HEFT_RETURN_IF_ERROR(out.Check());
  return out;
}

absl::StatusOr<Described> DescribeCalibration(const Model& model) {
  HEFT_ASSIGN_OR_RETURN(const Json summary, Json::Parse(model.training_summary));
  const Json* found = summary.find("calibration");
  if (found == nullptr) {
    return absl::FailedPreconditionError(
        "the model's training summary has no \"calibration\": calibrate the model first");
  }
  const Json& calibration = *found;
  Described out;
  out.json = {{"model_id", HexString(model.Id())},
              {"decision_id", HexString(model.DecisionId())},
              {"tables", model.tables.size()}};
  out.json.update(calibration);
  out.text = absl::StrFormat(
      "  thresholds for %d sets of modalities from %d people with %d samples, %d genuine and %d "
      "impostor comparisons\n",
      model.tables.size(), calibration["people"].get<int>(), calibration["samples"].get<int>(),
      calibration["genuine_pairs"].get<int64_t>(), calibration["impostor_pairs"].get<int64_t>());
  if (const int left_out = calibration["people_left_out"].get<int>(); left_out > 0) {
    absl::StrAppend(&out.text, "  left out: ", left_out,
                    " people who are marked \"train\" in split.txt\n");
  }
  Json thresholds = Json::array();
  for (double fmr : kStandardFmrs) {
    const auto chosen = model.ThresholdFor(fmr, model.AllModalities());
    if (!chosen.ok()) continue;
    thresholds.push_back({{"fmr", fmr}, {"score", chosen->score}});
    absl::StrAppendFormat(&out.text, "  FMR %g: score %.3f\n", fmr, chosen->score);
  }
  out.json["thresholds"] = std::move(thresholds);
  out.text += DescribeAttacks(summary);
  for (const char* key : {"wolves", "recovery"}) {
    if (const Json* attack = summary.find(key)) out.json[key] = *attack;
  }
  for (const Json& warning : calibration["warnings"]) {
    out.warnings.push_back(warning.get<std::string>());
  }
  return out;
}

}  // namespace heft
