// SPDX-License-Identifier: Apache-2.0
#include "experiment/cross_validation.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "evaluation/thresholds.h"
#include "experiment/encrypted_scores.h"
#include "experiment/score_tables.h"
#include "experiment/stopwatch.h"
#include "experiment/systems.h"
#include "fusion/plan.h"
#include "learning/baselines.h"

namespace heft::experiment {
namespace {

double AurocOf(const LabelledScores& set) {
  const absl::StatusOr<ScoreSet> pairs = PairScores(set.scores, set.identities);
  if (!pairs.ok()) return 0;
  return Auroc(*pairs).value_or(0);
}

// FindOrAdd: the entry that is like `wanted` in its id, and `wanted` itself where there is none.
template <typename Entry>
Entry& FindOrAdd(std::vector<Entry>& entries, Entry wanted) {
  for (Entry& entry : entries) {
    if (entry.id == wanted.id) return entry;
  }
  return entries.emplace_back(std::move(wanted));
}

class CrossValidator {
 public:
  CrossValidator(const Monitor& monitor, const Dataset& dataset,
                 const std::vector<FoldModels>& models, const FoldOptions& options,
                 const std::string& reference)
      : monitor_(monitor), dataset_(dataset), models_(models) {
    result_.options = options;
    result_.reference = reference;
  }

  absl::StatusOr<CrossValidation> Run() {
    const FoldOptions& options = result_.options;
    for (const FoldModels& set : models_) {
      if (static_cast<int>(set.models.size()) == options.folds) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(set.models.size(), " models for ", options.folds, " folds"));
    }
    if (options.scores && models_.size() != 1) {
      return absl::InvalidArgumentError("scores can be written for one set of models only");
    }
    HEFT_RETURN_IF_ERROR(
        ForEachFold(dataset_, options.folds, options.fold_seed,
                    [&](int fold, const Dataset& data) { return ScoreFold(fold, data); }));
    Progress progress(monitor_, "bootstrap");
    HEFT_ASSIGN_OR_RETURN(result_.table, table_.Compare(Bootstrap(), progress.Callback()));
    HEFT_RETURN_IF_ERROR(JudgeAll());
    CompareFusion();
    result_.scores = scores_.Finish();
    for (const auto& [id, runs] : runs_) AddCost(id, runs);
    for (const FoldModels& set : models_) NoteStarts(set);
    const std::set<std::string> identities(dataset_.labels.begin(), dataset_.labels.end());
    result_.samples = dataset_.Rows();
    result_.identities = static_cast<int>(identities.size());
    result_.genuine_pairs = result_.table.rows[0].estimate.genuine_pairs;
    result_.impostor_pairs = result_.table.rows[0].estimate.impostor_pairs;
    return std::move(result_);
  }

 private:
  // Runs: of one row, a fold each, without their scores.
  struct Runs {
    std::string id;
    std::vector<EncryptedRun> runs = {};
  };

  // Judged: scores of one row, a fold each.
  struct Judged {
    std::string id;
    std::vector<JudgedSet> sets = {};
    std::vector<LabelledScores> plain = {};  // where those are encrypted
  };

  void NoteStarts(const FoldModels& set) {
    const auto kept = std::count_if(set.models.begin(), set.models.end(), KeptItsStart);
    if (kept == 0 || set.rows != FoldModels::Rows::kAll) return;
    result_.notes.push_back(absl::StrCat(
        set.label, set.label.empty() ? "" : ": ", "in ", kept, " of ", set.models.size(),
        " folds no epoch of either training was better on the validation people than their common "
        "start, so both kept it (epoch 0). There the exactly trained and the FHE-aware projection "
        "are the same, and their scores agree"));
  }

  absl::Status ScoreFold(int fold, const Dataset& data) {
    fold_name_ = absl::StrCat("fold ", fold + 1, " of ", result_.options.folds);
    if (!models_.empty()) {
      HEFT_ASSIGN_OR_RETURN(const Dataset selected,
                            SelectModalities(data, models_[0].models[fold], "the data set"));
      const int gamma = static_cast<int>(models_[0].models[fold].gamma);
      HEFT_ASSIGN_OR_RETURN(std::vector<SystemScores> baselines,
                            BaselineSystems(selected, Split::kTest, gamma));
      for (SystemScores& s : baselines) {
        if (s.unavailable.empty()) table_.Add(s.system, std::move(s.scores));
      }
    }
    for (const FoldModels& set : models_) {
      HEFT_RETURN_IF_ERROR(ScoreModel(set, set.models[fold], data));
    }
    return absl::OkStatus();
  }

  static std::string Id(const FoldModels& set, const std::string& row) {
    return set.id.empty() ? row : absl::StrCat(set.id, "/", row);
  }
  static std::string Label(const FoldModels& set, const std::string& row) {
    return set.label.empty() ? row : absl::StrCat(set.label, ": ", row);
  }

  absl::Status ScoreModel(const FoldModels& set, const Model& model, const Dataset& fold) {
    HEFT_ASSIGN_OR_RETURN(const Dataset data, SelectModalities(fold, model, "the data set"));
    HEFT_ASSIGN_OR_RETURN(const std::vector<SystemScores> learned,
                          LearnedSystems(data, Split::kTest, model));
    const int gamma = static_cast<int>(model.gamma);
    if (set.rows != FoldModels::Rows::kAll) {
      const bool exact = set.rows == FoldModels::Rows::kExact;
      if (set.rows == FoldModels::Rows::kChoice && result_.options.encrypted &&
          MakeInstance(model).ok()) {
        return ScoreEncryptedRow(set, model, data, {set.id, set.label, gamma, true});
      }
      const SystemScores& row = learned[learned.size() - (exact ? 2 : 1)];
      table_.Add({set.id, set.label, gamma}, row.scores);
      return absl::OkStatus();
    }
    for (const SystemScores& row : learned) {
      table_.Add({Id(set, row.system.id), Label(set, row.system.label), gamma}, row.scores);
    }
    if (!result_.options.encrypted) {
      Keep(Id(set, "fhe_aware_plain"), model, learned.back().scores);
      AddScores(data, learned.back().scores, nullptr);
    }
    if (result_.options.encrypted && !model.exact_projection.empty()) {
      HEFT_ASSIGN_OR_RETURN(const Model exact, ExactlyTrained(model, data));
      HEFT_RETURN_IF_ERROR(
          ScoreEncryptedRow(set, exact, data,
                            {Id(set, "learned_exact_encrypted"),
                             Label(set, "Learned exact, encrypted"), gamma, true}));
    }
    if (result_.options.partial_probes) HEFT_RETURN_IF_ERROR(ScorePartialPlain(set, model, data));
    if (!result_.options.encrypted) return absl::OkStatus();
    return ScoreEncryptedRow(
        set, model, data,
        {Id(set, "fhe_aware_encrypted"), Label(set, "FHE-aware, encrypted"), gamma, true},
        result_.options.partial_probes);
  }

  static ScoredSystem Partial(const FoldModels& set, const Model& model, int only, bool encrypted) {
    const std::string& name = model.modalities[only].name;
    const std::string how = encrypted ? "encrypted" : "plain";
    return {Id(set, absl::StrCat("fhe_aware_", how, "_only_", name)),
            Label(set, absl::StrCat("FHE-aware, ", how, ", probe of ", name, " only")),
            static_cast<int>(model.gamma), encrypted};
  }

  absl::Status ScorePartialPlain(const FoldModels& set, const Model& model, const Dataset& data) {
    const int count = static_cast<int>(model.modalities.size());
    for (int only = 0; only < count; ++only) {
      int outside = 0;
      HEFT_ASSIGN_OR_RETURN(LabelledScores scores,
                            PlainScores(data, Split::kTest, model, AllBut(only, count), &outside));
      const ScoredSystem row = Partial(set, model, only, false);
      FindOrAdd(result_.partial_outside, FoldOutside{row.id}).share +=
          static_cast<double>(outside) / dataset_.Rows();
      table_.Add(row, std::move(scores));
    }
    return absl::OkStatus();
  }

  absl::Status ScoreEncryptedRow(const FoldModels& set, const Model& model, const Dataset& data,
                                 const ScoredSystem& row, bool partial_probes = false) {
    std::vector<int> only;
    if (partial_probes) {
      for (size_t m = 0; m < model.modalities.size(); ++m) only.push_back(static_cast<int>(m));
    }
    Progress(monitor_, absl::StrCat(fold_name_, ", ", row.label)).Update(0, 1);
    HEFT_ASSIGN_OR_RETURN(EncryptedRun run,
                          ScoreEncrypted(monitor_, model, ModalityRows(data, Split::kTest), only));
    int outside = 0;
    HEFT_ASSIGN_OR_RETURN(LabelledScores plain,
                          PlainScores(data, Split::kTest, model, {}, &outside));
    LabelledScores scores{std::move(run.scores), plain.identities};
    AddGap(row.id, plain, scores, outside);
    for (size_t k = 0; k < only.size(); ++k) {
      table_.Add(Partial(set, model, only[k], true),
                 {std::move(run.partial_scores[k]), plain.identities});
    }
    if (row.id == Id(set, "fhe_aware_encrypted")) {
      Keep(row.id, model, scores);
      FindOrAdd(judged_, Judged{row.id}).plain.push_back(plain);
      AddScores(data, scores, &plain);
    }
    table_.Add(row, std::move(scores));
    FindOrAdd(runs_, Runs{row.id}).runs.push_back(std::move(run));
    return absl::OkStatus();
  }

  void AddScores(const Dataset& data, const LabelledScores& scores, const LabelledScores* plain) {
    if (!result_.options.scores) return;
    scores_.AddSquare(fold_name_, RowsOf(data.split, Split::kTest), data.labels, scores.scores,
                      plain == nullptr ? nullptr : &plain->scores);
  }

  // To be judged when all folds are there.
  void Keep(const std::string& id, const Model& model, const LabelledScores& scores) {
    FindOrAdd(judged_, Judged{id}).sets.push_back({scores, &model});
  }

  absl::Status JudgeAll() {
    for (const Judged& judged : judged_) {
      FoldJudgement& found = result_.judgements.emplace_back();
      found.id = judged.id;
      HEFT_ASSIGN_OR_RETURN(found.judgement, Judge(judged.sets, Bootstrap()));
      if (judged.plain.empty()) continue;
      HEFT_ASSIGN_OR_RETURN(found.judgement.plain, PoolScores(judged.plain));
    }
    return absl::OkStatus();
  }

  BootstrapOptions Bootstrap() const {
    BootstrapOptions options;
    options.replicates = result_.options.replicates;
    options.seed = result_.options.seed;
    return options;
  }

  void CompareFusion() {
    const FoldComparison& table = result_.table;
    const auto reference = static_cast<size_t>(result_.Reference());
    std::vector<Rival> rivals;
    for (size_t row = 0; row < table.rows.size(); ++row) {
      rivals.push_back({table.rows[row], table.differences[reference][row],
                        table.fnmr_differences[reference][row]});
    }
    if (models_.empty()) return;
    result_.fusion = CheckFusion(table.rows[reference], rivals, models_.back().models);
  }

  void AddGap(const std::string& id, const LabelledScores& plain, const LabelledScores& encrypted,
              int outside) {
    FoldGap& gap = FindOrAdd(result_.gaps, FoldGap{id});
    const double difference = (encrypted.scores - plain.scores).cwiseAbs().maxCoeff();
    gap.auroc += (AurocOf(encrypted) - AurocOf(plain)) / result_.options.folds;
    gap.max_score = std::max(gap.max_score, difference);
    gap.outside_share += static_cast<double>(outside) / dataset_.Rows();
  }

  void AddCost(const std::string& id, const std::vector<EncryptedRun>& runs) {
    auto median = [&](double EncryptedRun::*field) {
      std::vector<double> values;
      for (const EncryptedRun& run : runs) values.push_back(run.*field);
      return Median(std::move(values));
    };
    result_.costs.push_back(
        {id, median(&EncryptedRun::fuse_ms), median(&EncryptedRun::match_block_ms),
         median(&EncryptedRun::template_bytes), median(&EncryptedRun::sample_bytes),
         median(&EncryptedRun::evaluation_keys_bytes)});
  }

  const Monitor& monitor_;
  const Dataset& dataset_;
  const std::vector<FoldModels>& models_;
  std::string fold_name_;
  FoldTable table_;
  std::vector<Runs> runs_;
  std::vector<Judged> judged_;
  ScoreTableBuilder scores_;
  CrossValidation result_;
};

}  // namespace

int CrossValidation::Reference() const {
  const int found = table.Find(reference);
  return found >= 0 ? found : static_cast<int>(table.rows.size()) - 1;
}

absl::StatusOr<CrossValidation> CrossValidate(const Monitor& monitor, const Dataset& dataset,
                                              const std::vector<FoldModels>& models,
                                              const FoldOptions& options,
                                              const std::string& reference) {
  return CrossValidator(monitor, dataset, models, options, reference).Run();
}

}  // namespace heft::experiment
