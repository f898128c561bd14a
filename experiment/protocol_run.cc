// SPDX-License-Identifier: Apache-2.0
#include "experiment/protocol_run.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "evaluation/comparisons.h"
#include "evaluation/thresholds.h"
#include "experiment/mean_scores.h"
#include "experiment/score_tables.h"

namespace heft::experiment {
namespace {

// A group with its scores.
struct Scored {
  FeatureMatrix scores;                 // [probe][reference]
  std::vector<int> probes, references;  // subjects
  Comparisons list, plain;
};

std::vector<int> Number(const std::vector<ProtocolEntry>& entries,
                        std::map<std::string, int>* numbers) {
  std::vector<int> out;
  for (const ProtocolEntry& entry : entries) {
    out.push_back(
        numbers->try_emplace(entry.subject, static_cast<int>(numbers->size())).first->second);
  }
  return out;
}

RowLists RowsOfAll(const std::vector<ProtocolEntry>& entries) {
  RowLists rows;
  for (const ProtocolEntry& entry : entries) rows.push_back(entry.rows);
  return rows;
}

// WarnOfSelfComparison: rows of a probe that are rows of a reference too.
void WarnOfSelfComparison(const ProtocolGroup& group, std::vector<std::string>* warnings) {
  std::vector<std::set<int>> rows;
  for (const ProtocolEntry& entry : group.references) {
    rows.emplace_back(entry.rows.begin(), entry.rows.end());
  }
  size_t found = 0;
  for (const auto& [probe, reference] : group.comparisons) {
    const std::set<int>& own = rows[reference];
    found += std::ranges::any_of(group.probes[probe].rows,
                                 [&own](int row) { return own.contains(row); });
  }
  if (found == 0) return;
  warnings->push_back(absl::StrCat(group.name, ": ", found, " comparisons are of a sample with ",
                                   "itself: use probes that are not enrolled"));
}

// WarnOfSharedPeople: those of dev who are in eval again, judged by what they have chosen.
void WarnOfSharedPeople(const Protocol& protocol, std::vector<std::string>* warnings) {
  const auto subjects = [](const ProtocolGroup& group) {
    std::set<std::string> out;
    for (const ProtocolEntry& entry : group.references) out.insert(entry.subject);
    for (const ProtocolEntry& entry : group.probes) out.insert(entry.subject);
    return out;
  };
  const std::set<std::string> dev = subjects(protocol.dev), eval = subjects(*protocol.eval);
  const auto shared = std::ranges::count_if(dev, [&](const auto& s) { return eval.contains(s); });
  if (shared == 0) return;
  warnings->push_back(
      absl::StrCat(shared, " subjects of dev are in ", protocol.eval->name,
                   " too: dev's thresholds are tested on people who were used to fit ",
                   "them, so the figures are too optimistic"));
}

// WarnOfTrainingPeople: where the data say themselves who trains.
void WarnOfTrainingPeople(const Dataset& dataset, const ProtocolGroup& group,
                          std::vector<std::string>* warnings) {
  if (dataset.split_was_derived) return;
  std::set<int> rows;
  for (const auto* entries : {&group.references, &group.probes}) {
    for (const ProtocolEntry& entry : *entries) {
      for (int row : entry.rows) {
        if (dataset.split[row] != Split::kTest) rows.insert(row);
      }
    }
  }
  if (rows.empty()) return;
  warnings->push_back(
      absl::StrCat(group.name, ": ", rows.size(),
                   " samples are of people for training or validation: if the model ",
                   "was trained on these data, its figures are too optimistic"));
}

class ProtocolRunner {
 public:
  ProtocolRunner(const Monitor& monitor, const Dataset& dataset, const Model& model,
                 const ProtocolOptions& options)
      : monitor_(monitor), dataset_(dataset), model_(model) {
    result_.options = options;
    bootstrap_.replicates = options.replicates;
    bootstrap_.seed = options.seed;
  }

  absl::StatusOr<ProtocolResult> Run(const Protocol& protocol) {
    if (protocol.eval) WarnOfSharedPeople(protocol, &result_.warnings);
    HEFT_ASSIGN_OR_RETURN(const Scored dev, AddGroup(protocol.dev));
    if (protocol.eval) {
      HEFT_ASSIGN_OR_RETURN(const Scored eval, AddGroup(*protocol.eval));
      HEFT_RETURN_IF_ERROR(JudgeByDev(dev, eval, &result_.groups.back()));
    }
    result_.scores = scores_.Finish();
    return std::move(result_);
  }

 private:
  absl::StatusOr<Scored> Score(const ProtocolGroup& group, GroupResult* result) {
    const RowLists references = RowsOfAll(group.references), probes = RowsOfAll(group.probes);
    Scored out;
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix plain,
                          PlainMeans(model_, dataset_, references, probes));
    out.scores = plain;
    if (result_.options.encrypted) {
      HEFT_ASSIGN_OR_RETURN(FeatureMatrix encrypted,
                            EncryptedMeans(monitor_, model_, dataset_, references, probes));
      result->largest_gap = (encrypted - plain).cwiseAbs().maxCoeff();
      out.scores = std::move(encrypted);
    }
    std::map<std::string, int> numbers;
    out.references = Number(group.references, &numbers);
    result->subjects = numbers.size();
    out.probes = Number(group.probes, &numbers);
    for (const auto& [probe, reference] : group.comparisons) {
      const auto row = static_cast<Eigen::Index>(probe);
      const auto column = static_cast<Eigen::Index>(reference);
      out.list.Add(out.scores(row, column), out.probes[probe], out.references[reference]);
      out.plain.Add(plain(row, column), out.probes[probe], out.references[reference]);
    }
    if (result_.options.scores) AddScores(group, out.scores, plain);
    for (int subject : out.probes) {
      result->strangers += subject >= static_cast<int>(result->subjects);
    }
    return out;
  }

  void AddScores(const ProtocolGroup& group, const FeatureMatrix& scores,
                 const FeatureMatrix& plain) {
    for (const auto& [probe, reference] : group.comparisons) {
      const auto row = static_cast<Eigen::Index>(probe);
      const auto column = static_cast<Eigen::Index>(reference);
      const ProtocolEntry &of = group.references[reference], &by = group.probes[probe];
      const double clear = plain(row, column);
      scores_.Add(group.name, {of.subject, of.id}, {by.subject, by.id}, scores(row, column),
                  result_.options.encrypted ? &clear : nullptr);
    }
  }

  absl::StatusOr<Scored> AddGroup(const ProtocolGroup& group) {
    WarnOfSelfComparison(group, &result_.warnings);
    WarnOfTrainingPeople(dataset_, group, &result_.warnings);
    GroupResult result;
    result.name = group.name;
    result.references = group.references.size();
    result.probes = group.probes.size();
    for (const ProtocolEntry& entry : group.references) {
      result.most_samples = std::max(result.most_samples, entry.rows.size());
    }
    HEFT_ASSIGN_OR_RETURN(Scored scored, Score(group, &result));
    const std::vector<Comparisons> system = {scored.list};
    HEFT_ASSIGN_OR_RETURN(const std::vector<ComparisonEstimate> rates,
                          MeasureComparisons(std::span(&system, 1), bootstrap_));
    result.rates = rates[0];
    result.genuine = rates[0].genuine;
    result.impostor = rates[0].impostor;
    const Model* const model = &model_;
    HEFT_ASSIGN_OR_RETURN(result.by_model, JudgeLists({&scored.list, 1}, {&model, 1}, bootstrap_));
    if (result_.options.encrypted) {
      HEFT_ASSIGN_OR_RETURN(result.by_model.plain, SplitKinds(scored.plain));
    }
    result.by_model.searches_of =
        "All references are enrolled; strangers are the probes of subjects without a reference.";
    if (group.all && result.strangers > 0) {
      const SearchChooser choose = [this](double fpir, uint64_t people, uint32_t templates) {
        return model_.ThresholdForSearch(fpir, people, templates, model_.AllModalities());
      };
      HEFT_RETURN_IF_ERROR(
          JudgeGallery(scored.scores, scored.probes, scored.references, choose, &result.by_model));
    } else {
      result.by_model.no_searches =
          group.all
              ? "every probe's subject is enrolled: there are no strangers to search"
              : "searches need all probes against all references, but these lists select pairs";
    }
    result_.groups.push_back(std::move(result));
    return scored;
  }

  // Rules that are fitted on dev, as if they were a model's.
  absl::Status JudgeByDev(const Scored& dev, const Scored& eval, GroupResult* result) {
    Model rules;
    rules.modalities = model_.modalities;
    HEFT_ASSIGN_OR_RETURN(const ThresholdTable table,
                          CalibrateThresholds(std::span(&dev.list, 1), bootstrap_));
    HEFT_ASSIGN_OR_RETURN(const ScoreSet kinds, SplitKinds(dev.list));
    HEFT_ASSIGN_OR_RETURN(const ScoreCalibration calibration, CalibrateScores(kinds));
    rules.tables = {{rules.AllModalities(), table.thresholds, {}, calibration}};
    const Model* const model = &rules;
    HEFT_ASSIGN_OR_RETURN(result->by_dev, JudgeLists({&eval.list, 1}, {&model, 1}, bootstrap_));
    result->by_dev->plain = result->by_model.plain;
    result->by_dev->thresholds = "Thresholds and calibration fitted on dev";
    // The point of dev where both errors are nearest.
    HEFT_ASSIGN_OR_RETURN(const std::vector<RocPoint> roc, Roc(kinds));
    const auto apart = [](const RocPoint& p) { return std::abs(p.fmr - (1 - p.tmr)); };
    const double threshold = std::ranges::min_element(roc, {}, apart)->threshold;
    HEFT_ASSIGN_OR_RETURN(const ScoreSet measured, SplitKinds(eval.list));
    result->half_total_error = (ShareAccepted(measured.impostor, threshold) + 1 -
                                ShareAccepted(measured.genuine, threshold)) /
                               2;
    return absl::OkStatus();
  }

  const Monitor& monitor_;
  const Dataset& dataset_;
  const Model& model_;
  BootstrapOptions bootstrap_;
  ScoreTableBuilder scores_;
  ProtocolResult result_;
};

}  // namespace

absl::StatusOr<ProtocolResult> RunProtocol(const Monitor& monitor, const Dataset& dataset,
                                           const Model& model, const Protocol& protocol,
                                           const ProtocolOptions& options) {
  return ProtocolRunner(monitor, dataset, model, options).Run(protocol);
}

}  // namespace heft::experiment
