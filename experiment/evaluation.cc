// SPDX-License-Identifier: Apache-2.0
#include "experiment/evaluation.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <span>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/files.h"
#include "experiment/roles.h"
#include "experiment/score_tables.h"
#include "experiment/stopwatch.h"
#include "experiment/systems.h"
#include "features/effective_dimension.h"
#include "learning/attacks.h"
#include "learning/decision_tables.h"
#include "learning/projection.h"

namespace heft::experiment {
namespace {

constexpr double kReportedFmrs[] = {1e-2, 1e-3};

// Absolute and without a separator at its end, so that its last part is the folder's name.
std::filesystem::path FolderPath(const std::string& directory) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(directory + "/.", error);
  return path.lexically_normal().parent_path();
}

class Evaluator {
 public:
  Evaluator(const Monitor& monitor, Dataset dataset, const Model& model,
            const EvaluationOptions& options)
      : monitor_(monitor), dataset_(std::move(dataset)) {
    result_.model = model;
    result_.options = options;
  }

  absl::StatusOr<Evaluation> Run() {
    const Stopwatch watch;
    HEFT_RETURN_IF_ERROR(Choose());
    HEFT_RETURN_IF_ERROR(ScorePlain());
    HEFT_RETURN_IF_ERROR(ScoreUnderEncryption());
    HEFT_RETURN_IF_ERROR(MeasureGap());
    HEFT_RETURN_IF_ERROR(JudgeScores());
    HEFT_RETURN_IF_ERROR(JudgeWolves());
    HEFT_RETURN_IF_ERROR(MeasureSystems());
    HEFT_RETURN_IF_ERROR(Warn());
    result_.seconds = watch.Seconds();
    return std::move(result_);
  }

 private:
  const Model& model() const { return result_.model; }

  // The modalities of the model, and the rows of the split.
  absl::Status Choose() {
    const Split split = result_.options.split;
    const std::string folder = dataset_.folder;
    if (result_.options.everybody) {
      if (!dataset_.split_was_derived) {
        trained_ = dataset_.Rows() - static_cast<int>(RowsOf(dataset_.split, Split::kTest).size());
      }
      dataset_.split.assign(dataset_.split.size(), split);
      dataset_.split_was_derived = false;
    }
    HEFT_ASSIGN_OR_RETURN(dataset_, SelectModalities(std::move(dataset_), model(), folder));
    rows_ = RowsOf(dataset_.split, split);
    if (!result_.options.everybody && split != Split::kTrain) {
      known_ = RowsOf(dataset_.split, Split::kTrain);
    }
    std::set<std::string> identities;
    for (int row : rows_) identities.insert(dataset_.labels[row]);
    if (rows_.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(folder, ": split \"", SplitName(split),
                       "\" has no samples; --split all evaluates all people in the folder"));
    }
    result_.data_folder = folder;
    result_.data_name = FolderName(folder);
    result_.data_description = DescribeData(folder);
    result_.samples = static_cast<int>(rows_.size());
    result_.identities = static_cast<int>(identities.size());
    result_.split_was_derived = dataset_.split_was_derived;
    if (dataset_.split_was_derived) {
      const std::set<std::string> all(dataset_.labels.begin(), dataset_.labels.end());
      result_.notes.push_back(
          absl::StrFormat("There is no split.txt: %d of %d identities are evaluated, those of "
                          "split \"%s\" as heft train assigns them. If the model was trained on "
                          "other people, --split all evaluates all people",
                          identities.size(), all.size(), SplitName(split)));
    }
    return absl::OkStatus();
  }

  absl::Status ScorePlain() {
    const Split split = result_.options.split;
    HEFT_ASSIGN_OR_RETURN(std::vector<SystemScores> baselines,
                          BaselineSystems(dataset_, split, static_cast<int>(model().gamma)));
    for (SystemScores& baseline : baselines) {
      if (!baseline.note.empty()) {
        result_.notes.push_back(absl::StrCat(baseline.system.label, ": ", baseline.note));
      }
      if (baseline.unavailable.empty()) {
        scored_.push_back(std::move(baseline));
      } else {
        result_.unavailable.push_back({baseline.system, baseline.unavailable});
      }
    }
    HEFT_ASSIGN_OR_RETURN(std::vector<SystemScores> learned,
                          LearnedSystems(dataset_, split, model()));
    std::move(learned.begin(), learned.end(), std::back_inserter(scored_));
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features, Concatenate(dataset_, rows_));
    for (double s : SquaredNorms(ProjectionOf(model()), features)) {
      result_.squared_norms.push_back(s);
      result_.outside += !model().approximation.interval.Contains(s);
    }
    const absl::StatusOr<double> effective =
        EffectiveDimension(ProjectAndNormalise(ProjectionOf(model()), features));
    if (effective.ok()) result_.effective_dimension = *effective;
    return AddPartialNorms();
  }

  absl::Status AddPartialNorms() {
    const int count = static_cast<int>(model().modalities.size());
    for (int only = 0; count > 1 && only < count; ++only) {
      HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features,
                            Concatenate(dataset_, rows_, AllBut(only, count)));
      const Eigen::VectorXd s = SquaredNorms(ProjectionOf(model()), features);
      result_.partial_norms.emplace_back(s.begin(), s.end());
    }
    return absl::OkStatus();
  }

  absl::Status ScoreUnderEncryption() {
    HEFT_ASSIGN_OR_RETURN(
        result_.run,
        ScoreEncrypted(monitor_, model(), ModalityRows(dataset_, result_.options.split)));
    const LabelledScores& plain = scored_.back().scores;
    const int gamma = static_cast<int>(model().gamma);
    scored_.push_back({{"fhe_aware_encrypted", "FHE-aware, encrypted", gamma, true},
                       LabelledScores{result_.run.scores, plain.identities}});
    return absl::OkStatus();
  }

  // The last two systems are the same one, plain and encrypted.
  absl::Status MeasureGap() {
    const LabelledScores& plain = scored_[scored_.size() - 2].scores;
    const LabelledScores& encrypted = scored_.back().scores;
    const FeatureMatrix difference = encrypted.scores - plain.scores;
    if (result_.options.scores) {
      ScoreTableBuilder table;
      table.AddSquare(SplitName(result_.options.split), rows_, dataset_.labels, encrypted.scores,
                      &plain.scores);
      result_.table = table.Finish();
    }
    result_.gap.max_score = difference.cwiseAbs().maxCoeff();
    result_.gap.rms_score = std::sqrt(difference.squaredNorm() / difference.size());
    HEFT_ASSIGN_OR_RETURN(result_.plain, PairScores(plain.scores, plain.identities));
    HEFT_ASSIGN_OR_RETURN(result_.encrypted, PairScores(encrypted.scores, encrypted.identities));
    HEFT_ASSIGN_OR_RETURN(const double plain_auroc, Auroc(result_.plain));
    HEFT_ASSIGN_OR_RETURN(const double encrypted_auroc, Auroc(result_.encrypted));
    result_.gap.auroc = encrypted_auroc - plain_auroc;
    result_.genuine_pairs = result_.plain.genuine.size();
    result_.impostor_pairs = result_.plain.impostor.size();
    return absl::OkStatus();
  }

  BootstrapOptions Bootstrap() const {
    BootstrapOptions options;
    options.replicates = result_.options.replicates;
    options.seed = result_.options.seed;
    return options;
  }

  absl::Status JudgeScores() {
    const JudgedSet judged = {scored_.back().scores, &model()};
    HEFT_ASSIGN_OR_RETURN(result_.judgement, Judge(std::span(&judged, 1), Bootstrap()));
    result_.judgement.plain = result_.plain;
    return JudgePartialProbes();
  }

  // Probes that lack modalities, of each set for which the model has a table.
  absl::Status JudgePartialProbes() {
    for (const DecisionTable& table : model().tables) {
      if (table.modalities == model().AllModalities()) continue;
      const std::vector<int> missing =
          MissingModalities(table.modalities, model().modalities.size());
      HEFT_ASSIGN_OR_RETURN(const LabelledScores scores,
                            PlainScores(dataset_, result_.options.split, model(), missing));
      HEFT_RETURN_IF_ERROR(
          JudgePartial(scores, model(), table.modalities, Bootstrap(), &result_.judgement));
    }
    return absl::OkStatus();
  }

  // How many of these people's templates accept a wolf, which an attacker learns from the training
  // people. None is learned where these people are, or may be, among the training people.
  absl::Status JudgeWolves() {
    const auto table = model().TableFor(model().AllModalities());
    if (known_.size() < 2 || !table.ok() || (*table)->thresholds.empty()) return absl::OkStatus();
    AttackedFold fold;
    HEFT_ASSIGN_OR_RETURN(fold.known, UnitTemplates(known_));
    HEFT_ASSIGN_OR_RETURN(fold.targets, UnitTemplates(rows_));
    std::vector<std::string> labels;
    for (const int row : rows_) labels.push_back(dataset_.labels[static_cast<size_t>(row)]);
    fold.people = IdentityNumbers(labels);
    HEFT_ASSIGN_OR_RETURN(const Wolves wolves, WolvesOf(std::span(&fold, 1), **table));
    result_.judgement.wolf_people = wolves.People();
    for (RateCheck& check : result_.judgement.comparisons) {
      if (check.refused.empty()) check.wolf = wolves.AcceptedAt(check.threshold);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<FeatureMatrix> UnitTemplates(const std::vector<int>& rows) const {
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features, Concatenate(dataset_, rows));
    return FeatureMatrix(
        ProjectAndNormalise(ProjectionOf(model()), features, {model().approximation})
            .rowwise()
            .normalized());
  }

  void CompareFusion() {
    std::vector<Rival> rivals;
    for (const SystemResult& row : result_.systems) {
      if (!row.encrypted_minus_this) continue;
      rivals.push_back({row, *row.encrypted_minus_this, *row.encrypted_fnmr_minus_this});
    }
    result_.fusion = CheckFusion(result_.systems.back(), rivals, std::span(&model(), 1));
  }

  absl::Status MeasureSystems() {
    SystemComparison comparison(Bootstrap());
    Progress progress(monitor_, "bootstrap");
    for (size_t i = 0; i < scored_.size(); ++i) {
      SystemScores& scored = scored_[i];
      HEFT_RETURN_IF_ERROR(progress.Step(i, scored_.size(), scored.system.label));
      SystemResult row;
      row.system = scored.system;
      HEFT_ASSIGN_OR_RETURN(row.estimate, comparison.Add(std::span(&scored.scores, 1)));
      HEFT_ASSIGN_OR_RETURN(const ScoreSet pairs,
                            PairScores(scored.scores.scores, scored.scores.identities));
      HEFT_ASSIGN_OR_RETURN(const std::vector<RocPoint> roc, Roc(pairs));
      row.roc = ThinForDrawing(roc);
      result_.systems.push_back(std::move(row));
      scored.scores = {};  // n x n numbers a system add up
    }
    for (size_t i = 0; i + 1 < scored_.size(); ++i) {
      const size_t encrypted = scored_.size() - 1;
      result_.systems[i].encrypted_minus_this = comparison.Difference(encrypted, i);
      result_.systems[i].encrypted_fnmr_minus_this = comparison.FnmrDifference(encrypted, i);
    }
    progress.Update(scored_.size(), scored_.size());
    CompareFusion();
    return absl::OkStatus();
  }

  absl::Status Warn() {
    std::vector<std::string>& warnings = result_.warnings;
    for (double fmr : kReportedFmrs) {
      if (fmr * static_cast<double>(result_.impostor_pairs) >= kFalseMatchesNeeded) continue;
      warnings.push_back(absl::StrFormat(
          "TMR at FMR %g rests on %d impostor comparisons; %.0f are needed to trust it", fmr,
          result_.impostor_pairs, std::ceil(kFalseMatchesNeeded / fmr)));
    }
    constexpr int kFewIdentities = 30;
    if (result_.identities < kFewIdentities) {
      warnings.push_back(
          absl::StrFormat("only %d identities: the intervals are rough", result_.identities));
    }
    if (trained_ > 0) {
      warnings.push_back(
          absl::StrFormat("%d samples are of people for training or validation: if the model was "
                          "trained on these data, its figures are too optimistic",
                          trained_));
    }
    if (result_.options.split == Split::kTrain) {
      warnings.push_back(
          "the model was trained on this split: the figures say nothing about new people");
    } else if (result_.options.split == Split::kValidation) {
      warnings.push_back(
          "the model was selected on this split: the figures are better than for new people");
    }
    if (result_.outside > 0) {
      warnings.push_back(absl::StrFormat(
          "%d of %d samples lie outside the approximation's interval; their scores are not cosines",
          result_.outside, result_.samples));
    }
    if (result_.run.refused > 0) {
      warnings.push_back(
          absl::StrFormat("%d of %d samples were refused as probes: the model gives them a length "
                          "at which the proof of their norm fails. Their scores count as %g. Train "
                          "on more people, or with a smaller --gamma",
                          result_.run.refused, result_.samples, Roles::kRefusedScore));
    }
    if (!result_.KeepsPromise().value_or(true)) {
      warnings.push_back(absl::StrFormat(
          "encrypted and plain differ by more than the stated limits: AUROC %+.5f (at most %g), a "
          "score by %.5f (at most %g)",
          result_.gap.auroc, kPromisedAurocGap, result_.gap.max_score, kPromisedScoreGap));
    }
    if (KeptItsStart(model())) {
      result_.notes.push_back(
          "No epoch of either training was better on the validation people than their common "
          "start, so both kept it (epoch 0). The exactly trained and the FHE-aware projection are "
          "the same, and their rows agree");
    }
    return absl::OkStatus();
  }

  const Monitor& monitor_;
  Dataset dataset_;
  std::vector<int> rows_;
  std::vector<int> known_;  // rows of the training people
  int trained_ = 0;  // samples of people for training or validation, where everybody is judged
  std::vector<SystemScores> scored_;
  Evaluation result_;
};

}  // namespace

std::optional<bool> Evaluation::KeepsPromise() const {
  if (std::ranges::count(kPromisedProfiles, model.profile) == 0) return std::nullopt;
  return std::abs(gap.auroc) <= kPromisedAurocGap && gap.max_score <= kPromisedScoreGap;
}

std::string Evaluation::SplitLabel() const {
  return options.everybody ? "all" : SplitName(options.split);
}

const SystemResult* Evaluation::Find(std::string_view id) const {
  for (const SystemResult& system : systems) {
    if (system.system.id == id) return &system;
  }
  return nullptr;
}

std::string FolderName(const std::string& directory) {
  return FolderPath(directory).filename().string();
}

std::string DescribeData(const std::string& directory) {
  const std::filesystem::path path = FolderPath(directory);
  if (path.filename() == "lfw-speech") {
    return "20-pixel faces (LFW) and one-second speech (Speech Commands), real data in chimeric "
           "pairs: faces and voices of different people, paired by identity at random";
  }
  for (const auto& [name, faces] : {std::pair("lfw-speechocean", "aligned"),
                                    std::pair("lfw-speechocean-crop", "not aligned")}) {
    if (path.filename() != name) continue;
    return absl::StrCat("512-D embeddings of faces (LFW, ", faces, ") and 128-D embeddings of ",
                        "voices (speechocean762, some ten seconds), real data in chimeric pairs");
  }
  const auto readme = ReadTextFile((path / "README.md").string(), 1 << 16);
  if (!readme.ok()) return "";
  for (absl::string_view line : absl::StrSplit(*readme, '\n')) {
    while (!line.empty() && (line[0] == '#' || line[0] == ' ')) line.remove_prefix(1);
    line = absl::StripAsciiWhitespace(line);
    if (absl::EndsWith(line, ".")) line.remove_suffix(1);
    if (!line.empty()) return std::string(line);
  }
  return "";
}

absl::StatusOr<Evaluation> Evaluate(const Monitor& monitor, Dataset dataset, const Model& model,
                                    const EvaluationOptions& options) {
  return Evaluator(monitor, std::move(dataset), model, options).Run();
}

}  // namespace heft::experiment
