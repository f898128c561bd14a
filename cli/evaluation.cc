// SPDX-License-Identifier: Apache-2.0
#include "cli/evaluation.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/files.h"
#include "evaluation/thresholds.h"
#include "inverse_sqrt/fit.h"
#include "learning/baselines.h"
#include "learning/projection.h"

namespace heft::cli {
namespace {

constexpr double kReportedFmrs[] = {1e-2, 1e-3};

// Absolute and without a separator at its end, so that its last part is the folder's name.
std::filesystem::path FolderPath(const std::string& directory) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(directory + "/.", error);
  return path.lexically_normal().parent_path();
}

FeatureMatrix Projection(const std::vector<double>& values, uint32_t gamma) {
  return Eigen::Map<const FeatureMatrix>(values.data(), gamma, values.size() / gamma);
}

// A point wherever the curve has moved by a five-hundredth of the plot's width or height.
std::vector<RocPoint> ThinForDrawing(const std::vector<RocPoint>& points) {
  constexpr double kStep = 1.0 / 500, kDecades = 4;
  auto x = [](const RocPoint& p) { return std::log10(std::max(p.fmr, 1e-6)) / kDecades; };
  std::vector<RocPoint> kept;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const RocPoint& p = points[i];
    if (i > 0 && i + 1 < points.size() && x(p) - x(kept.back()) < kStep &&
        p.tmr - kept.back().tmr < kStep) {
      continue;
    }
    kept.push_back(p);
  }
  return kept;
}

// The modalities that the model fuses, in its order.
absl::StatusOr<Dataset> SelectModalities(Dataset dataset, const Model& model,
                                         const std::string& directory) {
  std::vector<Modality> selected;
  for (const ModalitySpec& spec : model.modalities) {
    const auto found = std::find_if(dataset.modalities.begin(), dataset.modalities.end(),
                                    [&](const Modality& m) { return m.name == spec.name; });
    if (found == dataset.modalities.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(directory, ": no modality \"", spec.name, "\", which the model fuses"));
    }
    if (found->features.cols() != spec.dimension) {
      return absl::InvalidArgumentError(absl::StrCat(directory, ": \"", spec.name,
                                                     "\" has dimension ", found->features.cols(),
                                                     ", the model takes ", spec.dimension));
    }
    selected.push_back(*found);
  }
  dataset.modalities = std::move(selected);
  dataset.unpaired.clear();
  return dataset;
}

// Where the split is derived from a seed it must be the one that the model was trained with.
uint64_t TrainingSeed(const Model& model) {
  const auto summary = nlohmann::json::parse(model.training_summary, nullptr, false);
  const auto path = nlohmann::json::json_pointer("/options/seed");
  if (summary.is_discarded() || !summary.contains(path) || !summary[path].is_number_unsigned()) {
    return 1;
  }
  return summary[path].get<uint64_t>();
}

// The approximation that an exactly trained projection gets for itself: the model's kind and
// degree, on the training samples' norms with the trainer's margin; the paper's interval is fixed.
absl::StatusOr<Approximation> FitFor(const FeatureMatrix& projection, const Dataset& dataset,
                                     const Approximation& model) {
  if (model.interval == kPaperInterval) return model;
  constexpr double kTail = 0.001, kMargin = 1.15;
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features,
                        Concatenate(dataset, RowsOf(dataset.split, Split::kTrain)));
  const Eigen::VectorXd s = SquaredNorms(projection, features);
  std::vector<double> sorted(s.begin(), s.end());
  if (sorted.size() < 2) return model;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t tail = static_cast<std::size_t>(kTail * (sorted.size() - 1));
  const FitKind kind = model.name == "least_squares" ? FitKind::kLeastSquares : FitKind::kMinimax;
  return Fit(kind, model.Degree(),
             {sorted[tail] / kMargin, sorted[sorted.size() - 1 - tail] * kMargin});
}

// A system with all its scores, before it is measured.
struct Scored {
  std::string id, label;
  int dimension;
  bool encrypted;
  LabelledScores scores;
};

std::string BaselineLabel(const Baseline& baseline, int gamma) {
  if (baseline.name == "average") return "Average of vectors";
  if (baseline.name == "concatenation") return "Concatenation";
  if (baseline.name == "score_sum") return "Sum of scores";
  if (baseline.name == "pca") return absl::StrCat("PCA to ", gamma);
  if (baseline.name == "lda") return absl::StrCat("LDA to ", gamma);
  return absl::StrCat(absl::AsciiStrToUpper(baseline.name.substr(0, 1)), baseline.name.substr(1),
                      " alone");
}

class Evaluator {
 public:
  Evaluator(const Common& common, const EvaluationOptions& options) : common_(common) {
    result_.options = options;
  }

  absl::StatusOr<Evaluation> Run() {
    const auto start = std::chrono::steady_clock::now();
    HEFT_RETURN_IF_ERROR(Load());
    HEFT_RETURN_IF_ERROR(ScorePlain());
    HEFT_RETURN_IF_ERROR(ScoreUnderEncryption());
    HEFT_RETURN_IF_ERROR(MeasureGap());
    HEFT_RETURN_IF_ERROR(MeasureSystems());
    HEFT_RETURN_IF_ERROR(Warn());
    result_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(result_);
  }

 private:
  const Model& model() const { return result_.model; }

  absl::Status Load() {
    const EvaluationOptions& options = result_.options;
    HEFT_ASSIGN_OR_RETURN(result_.model, LoadModel(options.model));
    HEFT_ASSIGN_OR_RETURN(Dataset loaded, LoadDataset(options.data, TrainingSeed(model())));
    HEFT_ASSIGN_OR_RETURN(dataset_, SelectModalities(std::move(loaded), model(), options.data));
    rows_ = RowsOf(dataset_.split, options.split);
    std::set<std::string> identities;
    for (int row : rows_) identities.insert(dataset_.labels[row]);
    if (rows_.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(options.data, ": split \"", SplitName(options.split), "\" has no samples"));
    }
    result_.data_name = FolderPath(options.data).filename().string();
    result_.data_description = DescribeData(options.data);
    result_.samples = static_cast<int>(rows_.size());
    result_.identities = static_cast<int>(identities.size());
    result_.split_was_derived = dataset_.split_was_derived;
    return absl::OkStatus();
  }

  absl::Status AddLearned(std::string id, std::string label, const FeatureMatrix& projection,
                          const Normalizer& normalizer) {
    HEFT_ASSIGN_OR_RETURN(LabelledScores scores,
                          LearnedScores(dataset_, result_.options.split, projection, normalizer));
    const int gamma = static_cast<int>(model().gamma);
    scored_.push_back({std::move(id), std::move(label), gamma, false, std::move(scores)});
    return absl::OkStatus();
  }

  absl::Status ScorePlain() {
    const int gamma = static_cast<int>(model().gamma);
    HEFT_ASSIGN_OR_RETURN(std::vector<Baseline> baselines,
                          ScoreBaselines(dataset_, result_.options.split, gamma));
    for (Baseline& b : baselines) {
      const std::string label = BaselineLabel(b, b.dimension);
      scored_.push_back({b.name, label, b.dimension, false, std::move(b.scored)});
    }
    if (!model().exact_projection.empty()) {
      const FeatureMatrix exact = Projection(model().exact_projection, model().gamma);
      HEFT_RETURN_IF_ERROR(AddLearned("learned_exact", "Learned exact", exact, {}));
      HEFT_ASSIGN_OR_RETURN(const Approximation own,
                            FitFor(exact, dataset_, model().approximation));
      HEFT_RETURN_IF_ERROR(AddLearned("learned_exact_approximate",
                                      "Learned exact, approximate normalisation", exact, {own}));
    }
    const FeatureMatrix aware = Projection(model().projection, model().gamma);
    HEFT_RETURN_IF_ERROR(
        AddLearned("fhe_aware_exact", "FHE-aware, exact normalisation", aware, {}));
    HEFT_RETURN_IF_ERROR(
        AddLearned("fhe_aware_plain", "FHE-aware, plain", aware, {model().approximation}));
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features, Concatenate(dataset_, rows_));
    for (double s : SquaredNorms(aware, features)) {
      result_.squared_norms.push_back(s);
      result_.outside += !model().approximation.interval.Contains(s);
    }
    return absl::OkStatus();
  }

  absl::Status ScoreUnderEncryption() {
    const Dataset selected = SelectRows(dataset_, rows_);
    std::vector<FeatureMatrix> modalities;
    for (const Modality& m : selected.modalities) modalities.push_back(m.features);
    HEFT_ASSIGN_OR_RETURN(result_.run, ScoreEncrypted(common_, model(), modalities));
    const LabelledScores& plain = scored_.back().scores;
    const int gamma = static_cast<int>(model().gamma);
    scored_.push_back({"fhe_aware_encrypted", "FHE-aware, encrypted", gamma, true,
                       LabelledScores{result_.run.scores, plain.identities}});
    return absl::OkStatus();
  }

  // The last two systems are the same one, plain and encrypted.
  absl::Status MeasureGap() {
    const LabelledScores& plain = scored_[scored_.size() - 2].scores;
    const LabelledScores& encrypted = scored_.back().scores;
    const FeatureMatrix difference = encrypted.scores - plain.scores;
    result_.gap.max_score = difference.cwiseAbs().maxCoeff();
    result_.gap.rms_score = std::sqrt(difference.squaredNorm() / difference.size());
    HEFT_ASSIGN_OR_RETURN(result_.plain, PairScores(plain.scores, plain.identities));
    HEFT_ASSIGN_OR_RETURN(result_.encrypted, PairScores(encrypted.scores, encrypted.identities));
    HEFT_ASSIGN_OR_RETURN(const double plain_auroc, Auroc(result_.plain));
    HEFT_ASSIGN_OR_RETURN(const double encrypted_auroc, Auroc(result_.encrypted));
    result_.gap.auroc = encrypted_auroc - plain_auroc;
    result_.genuine_pairs = result_.plain.genuine.size();
    result_.impostor_pairs = result_.plain.impostor.size();
    for (const DecisionThreshold& t : model().thresholds) {
      auto accepted = [&](const std::vector<double>& scores) {
        const auto count = std::count_if(scores.begin(), scores.end(),
                                         [&](double score) { return score >= t.score; });
        return static_cast<double>(count) / static_cast<double>(scores.size());
      };
      result_.decisions.push_back({t.fmr, t.score, accepted(result_.encrypted.impostor),
                                   1 - accepted(result_.encrypted.genuine)});
    }
    return absl::OkStatus();
  }

  absl::Status MeasureSystems() {
    BootstrapOptions bootstrap;
    bootstrap.replicates = result_.options.replicates;
    bootstrap.seed = result_.options.seed.value_or(1);
    Progress progress(common_, "bootstrap");
    for (std::size_t i = 0; i < scored_.size(); ++i) {
      if (!progress.Update(i, scored_.size(), scored_[i].label)) {
        return absl::CancelledError("interrupted");
      }
      Scored& scored = scored_[i];
      SystemResult row;
      row.id = scored.id;
      row.label = scored.label;
      row.dimension = scored.dimension;
      row.encrypted = scored.encrypted;
      HEFT_ASSIGN_OR_RETURN(row.estimate, EstimateVerification(scored.scores, bootstrap));
      if (!scored.encrypted) {
        HEFT_ASSIGN_OR_RETURN(
            row.encrypted_minus_this,
            EstimateAurocDifference(scored_.back().scores, scored.scores, bootstrap));
      }
      HEFT_ASSIGN_OR_RETURN(const ScoreSet pairs,
                            PairScores(scored.scores.scores, scored.scores.identities));
      HEFT_ASSIGN_OR_RETURN(const std::vector<RocPoint> roc, Roc(pairs));
      row.roc = ThinForDrawing(roc);
      result_.systems.push_back(std::move(row));
      if (!scored.encrypted) scored.scores = {};  // n x n numbers a system add up
    }
    progress.Update(scored_.size(), scored_.size());
    return absl::OkStatus();
  }

  absl::Status Warn() {
    std::vector<std::string>& warnings = result_.warnings;
    HEFT_ASSIGN_OR_RETURN(const ThresholdTable table,
                          CalibrateThresholds(result_.encrypted, kReportedFmrs));
    for (const Threshold& t : table.thresholds) {
      if (t.supported) continue;
      warnings.push_back(absl::StrFormat(
          "TAR at FAR %g rests on %d impostor comparisons; %.0f are needed to trust it", t.fmr,
          result_.impostor_pairs, std::ceil(30 / t.fmr)));
    }
    constexpr int kFewIdentities = 30;
    if (result_.identities < kFewIdentities) {
      warnings.push_back(
          absl::StrFormat("only %d identities: the intervals are rough", result_.identities));
    }
    if (result_.options.split == Split::kTrain) {
      warnings.push_back("this split was trained on: it says nothing about new people");
    } else if (result_.options.split == Split::kValidation) {
      warnings.push_back("this split chose the model: expect less of new people");
    }
    if (result_.outside > 0) {
      warnings.push_back(absl::StrFormat(
          "%d of %d samples lie outside the approximation's interval; their scores are not "
          "cosines",
          result_.outside, result_.samples));
    }
    if (!result_.KeepsPromise().value_or(true)) {
      warnings.push_back(absl::StrFormat(
          "encrypted and plain differ by more than promised: AUROC %+.5f (at "
          "most %g), a score by %.5f (at most %g)",
          result_.gap.auroc, kPromisedAurocGap, result_.gap.max_score, kPromisedScoreGap));
    }
    return absl::OkStatus();
  }

  const Common& common_;
  Dataset dataset_;
  std::vector<int> rows_;
  std::vector<Scored> scored_;
  Evaluation result_;
};

}  // namespace

std::optional<bool> Evaluation::KeepsPromise() const {
  if (model.profile != kPromisedProfile) return std::nullopt;
  return std::abs(gap.auroc) <= kPromisedAurocGap && gap.max_score <= kPromisedScoreGap;
}

const SystemResult* Evaluation::Find(std::string_view id) const {
  for (const SystemResult& system : systems) {
    if (system.id == id) return &system;
  }
  return nullptr;
}

std::string DescribeData(const std::string& directory) {
  const std::filesystem::path path = FolderPath(directory);
  if (path.filename() == "lfw-speech") {
    return "20-pixel faces (LFW) and one-second speech (Speech Commands), real data in chimeric "
           "pairs: faces and voices of different people, paired by identity at random";
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

absl::StatusOr<Evaluation> Evaluate(const Common& common, const EvaluationOptions& options) {
  return Evaluator(common, options).Run();
}

}  // namespace heft::cli
