// SPDX-License-Identifier: Apache-2.0
#include "paper/recognition.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "evaluation/folds.h"
#include "evaluation/metrics.h"
#include "experiment/encrypted_scores.h"
#include "experiment/systems.h"
#include "experiment/training.h"
#include "features/published.h"
#include "inverse_sqrt/fit.h"
#include "inverse_sqrt/goldschmidt.h"
#include "learning/baselines.h"
#include "learning/projection.h"
#include "paper/engine.h"

namespace heft::paper {
using namespace experiment;  // NOLINT

namespace {

constexpr int kGamma = 32;
// From our linear start on [0.05, 3].
constexpr int kGoldschmidtIterations = 4;

// The normalisations of the paper's table, on its interval.
struct Normalisations {
  NormalisationSpec degree2, degree6, goldschmidt;
};

absl::StatusOr<Normalisations> PaperNormalisations() {
  HEFT_ASSIGN_OR_RETURN(const Approximation two, FitLeastSquares(2, kPaperInterval));
  const int cubics[] = {3, 3};
  HEFT_ASSIGN_OR_RETURN(const Approximation six,
                        FitComposite(cubics, kPaperInterval, FitKind::kLeastSquares));
  HEFT_ASSIGN_OR_RETURN(const Goldschmidt iteration,
                        FitGoldschmidt(kGoldschmidtIterations, kPaperInterval));
  return Normalisations{NormalisationSpec::Polynomials(two), NormalisationSpec::Polynomials(six),
                        NormalisationSpec::Iteration(iteration)};
}

// What a row of the paper's table says besides its number.
struct RowWords {
  const char* inference;
  const char* learning;
};
RowWords Words(const std::string& id) {
  if (absl::StartsWith(id, "ours")) {
    return {absl::EndsWith(id, "_exact") ? "exact" : "cubic, minimax", "cubic, minimax"};
  }
  const char* learning = absl::StartsWith(id, "heft") ? "HEFT (degree 2)"
                         : id == "learned_exact" || absl::StartsWith(id, "exact") ? "exact"
                                                                                  : "–";
  if (absl::StrContains(id, "degree6")) return {"“degree 6”", learning};
  if (absl::StrContains(id, "degree2")) return {"degree 2", learning};
  if (absl::StrContains(id, "goldschmidt")) return {"Goldschmidt", learning};
  return {"exact", learning};
}

// What encryption changed for a system, over all folds.
struct Gap {
  double score = 0, predicted = 0;
  std::string parameters, security;
};

class Comparison {
 public:
  explicit Comparison(const Study& study) : study_(study) {}

  absl::Status Run(const Dataset& data) {
    if (study_.exact_projection.empty()) {
      return ForEachFold(
          data, study_.effort.folds, study_.seed, [&](int fold, const Dataset& split) {
            return Fold(absl::StrCat("fold ", fold + 1, " of ", study_.effort.folds), split);
          });
    }
    return Fold("published matrices", data);
  }

  absl::StatusOr<FoldComparison> Compare() const {
    BootstrapOptions bootstrap;
    bootstrap.replicates = study_.effort.replicates;
    bootstrap.seed = study_.seed;
    Progress progress(study_.monitor, "bootstrap");
    return table_.Compare(bootstrap, [&](std::size_t done, std::size_t total) {
      return progress.Update(done, total);
    });
  }

  const std::map<std::string, Gap>& gaps() const { return gaps_; }
  // Of all folds together.
  const std::map<std::string, ScoreSet>& pairs() const { return pairs_; }
  double mean_outside() const { return samples_ == 0 ? 0 : double(outside_) / samples_; }

 private:
  absl::Status Fold(const std::string& name, const Dataset& whole) {
    name_ = name;
    const Dataset data = ThinSplit(whole, Split::kTest, study_.effort.test_rows, study_.seed);
    HEFT_ASSIGN_OR_RETURN(auto fixed, FixedSystems(data));
    for (auto& [system, scores] : fixed) HEFT_RETURN_IF_ERROR(Add(system, std::move(scores)));
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix exact, Projection(data, false));
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix aware, Projection(data, true));
    HEFT_ASSIGN_OR_RETURN(const Normalisations n, PaperNormalisations());
    const bool slow = study_.effort.slow_methods;
    HEFT_RETURN_IF_ERROR(Plain(data, exact, {"learned_exact", "Learned", kGamma}));
    HEFT_RETURN_IF_ERROR(Both(data, exact, n.degree6, slow, "exact_degree6"));
    HEFT_RETURN_IF_ERROR(Both(data, exact, n.degree2, true, "exact_degree2"));
    HEFT_RETURN_IF_ERROR(Both(data, exact, n.goldschmidt, slow, "exact_goldschmidt"));
    HEFT_RETURN_IF_ERROR(Plain(data, aware, {"heft_exact", "Learned", kGamma}));
    HEFT_RETURN_IF_ERROR(Both(data, aware, n.degree2, true, "heft_degree2"));
    HEFT_RETURN_IF_ERROR(CountOutside(data, aware));
    if (study_.exact_projection.empty()) HEFT_RETURN_IF_ERROR(Ours(data));
    return absl::OkStatus();
  }

  // Learned by the paper's recipe, or published.
  absl::StatusOr<FeatureMatrix> Projection(const Dataset& data, bool aware) {
    const std::string& file = aware ? study_.aware_projection : study_.exact_projection;
    if (!file.empty()) return ReadPublishedProjection(file, data.TotalDimension());
    TrainOptions options = PaperTraining(study_);
    options.fhe_aware = aware;
    HEFT_ASSIGN_OR_RETURN(
        TrainResult result,
        TrainWithProgress(study_.monitor, ForTraining(study_, data, options.recipe), options,
                          absl::StrCat(name_, aware ? ", HEFT degree 2" : ", exact")));
    return std::move(result.projection);
  }

  absl::Status Add(const ScoredSystem& system, LabelledScores scores) {
    HEFT_ASSIGN_OR_RETURN(const ScoreSet own, PairScores(scores.scores, scores.identities));
    ScoreSet& all = pairs_[system.id];
    all.genuine.insert(all.genuine.end(), own.genuine.begin(), own.genuine.end());
    all.impostor.insert(all.impostor.end(), own.impostor.begin(), own.impostor.end());
    table_.Add(system, std::move(scores));
    return absl::OkStatus();
  }

  absl::Status Plain(const Dataset& data, const FeatureMatrix& projection,
                     const ScoredSystem& system) {
    HEFT_ASSIGN_OR_RETURN(LabelledScores scores, ScoresOf(data, projection, std::nullopt));
    return Add(system, std::move(scores));
  }

  // Plain, and the same computed by the paper's route.
  absl::Status Both(const Dataset& data, const FeatureMatrix& projection,
                    const NormalisationSpec& normalisation, bool encrypt, const std::string& id) {
    HEFT_ASSIGN_OR_RETURN(const LabelledScores plain, ScoresOf(data, projection, normalisation));
    HEFT_RETURN_IF_ERROR(Add({id + "_plain", "Learned", kGamma}, plain));
    if (!encrypt) return absl::OkStatus();
    Approximation range;  // a model needs a polynomial; only its interval is looked at
    range.interval = normalisation.Range();
    range.stages = {Polynomial{{1.0, 0.0}}};
    HEFT_ASSIGN_OR_RETURN(const PaperScores encrypted,
                          ScoreByPaperRoute(study_.monitor, absl::StrCat(name_, ", ", id),
                                            ModelOf(data, projection, range, "paper"),
                                            normalisation, ModalityRows(data, Split::kTest)));
    Note(id, encrypted.scores - plain.scores, encrypted.predicted_error, encrypted.parameters,
         encrypted.security);
    return Add({id + "_encrypted", "Learned", kGamma, true}, {encrypted.scores, plain.identities});
  }

  void Note(const std::string& id, FeatureMatrix difference, double predicted,
            const std::string& parameters, const std::string& security) {
    difference.diagonal().setZero();  // nobody is compared with himself
    Gap& gap = gaps_[id];
    gap.score = std::max(gap.score, difference.cwiseAbs().maxCoeff());
    gap.predicted = std::max(gap.predicted, predicted);
    gap.parameters = parameters;
    gap.security = security;
  }

  absl::Status CountOutside(const Dataset& data, const FeatureMatrix& projection) {
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features,
                          Concatenate(data, RowsOf(data.split, Split::kTest)));
    for (double s : SquaredNorms(projection, features)) outside_ += !kPaperInterval.Contains(s);
    samples_ += static_cast<int>(features.rows());
    return absl::OkStatus();
  }

  // Our default: re-paired samples from a discriminant start, cubic minimax on the data's interval,
  // compact encoding, diagonal blocks.
  absl::Status Ours(const Dataset& data) {
    HEFT_ASSIGN_OR_RETURN(
        const TrainResult ours,
        TrainWithProgress(study_.monitor, ForTraining(study_, data, Recipe::kGeneralising),
                          OurTraining(study_), absl::StrCat(name_, ", our recipe")));
    HEFT_RETURN_IF_ERROR(Plain(data, ours.projection, {"ours_exact", "Our recipe", kGamma}));
    HEFT_ASSIGN_OR_RETURN(
        const LabelledScores plain,
        ScoresOf(data, ours.projection, NormalisationSpec::Polynomials(ours.approximation)));
    HEFT_RETURN_IF_ERROR(Add({"ours_plain", "Our recipe", kGamma}, plain));
    HEFT_ASSIGN_OR_RETURN(
        const EncryptedRun run,
        ScoreEncrypted(study_.monitor,
                       ModelOf(data, ours.projection, ours.approximation, "compact"),
                       ModalityRows(data, Split::kTest)));
    Note("ours", run.scores - plain.scores, run.predicted_error, run.parameters, run.security);
    return Add({"ours_encrypted", "Our recipe", kGamma, true}, {run.scores, plain.identities});
  }

  const Study& study_;
  std::string name_;
  FoldTable table_;
  std::map<std::string, Gap> gaps_;
  std::map<std::string, ScoreSet> pairs_;
  int outside_ = 0, samples_ = 0;
};

Table SystemsTable(const FoldComparison& c, const std::map<std::string, Gap>& gaps,
                   const PaperAurocs& paper, int replicates) {
  Table table{
      .id = "systems",
      .caption = absl::StrCat(
          "Means over the folds; small: 95% intervals from ", replicates,
          " bootstrap replicates over identities. Error of a score: the largest difference between "
          "an encrypted score and the same in plain, over all pairs of all folds, beside the bound "
          "that the noise estimator predicts for it."),
      .columns = {{"id", ""},
                  {"system", "Data"},
                  {"domain", "Domain"},
                  {"inference", "Inference"},
                  {"learning", "Learning"},
                  {"dimension", "Dim.", Format::kCount},
                  {"paper", "Paper’s AUROC", Format::kScore, true},
                  {"auroc", "AUROC", Format::kScore},
                  {"spread", "Spread over folds", Format::kScore},
                  {"score_error", "Error of a score", Format::kSmall},
                  {"predicted", "predicted", Format::kSmall}}};
  for (const FoldRow& row : c.rows) {
    const std::string& id = row.system.id;
    const auto published = paper.find(id);
    const auto gap = row.system.encrypted ? gaps.find(id.substr(0, id.rfind('_'))) : gaps.end();
    if (absl::StartsWith(id, "ours")) table.main_rows.push_back(table.rows.size());
    const RowWords words = Words(id);
    table.rows.push_back({id, row.system.label, row.system.encrypted ? "encrypted" : "plain",
                          words.inference, words.learning, row.system.dimension,
                          published == paper.end() ? Json() : Json(published->second),
                          Cell(row.estimate.auroc), row.estimate.auroc_spread,
                          gap == gaps.end() ? Json() : Json(gap->second.score),
                          gap == gaps.end() ? Json() : Json(gap->second.predicted)});
  }
  return table;
}

// The differences that the paper's text speaks of, and our claim.
Table DifferencesTable(const FoldComparison& c, const PaperAurocs& paper) {
  Table table{.id = "differences",
              .caption =
                  "Paired: both rows see the same bootstrap replicates. Where an interval "
                  "excludes 0 the difference is more than the choice of people.",
              .columns = {{"what", "What"},
                          {"paper", "Paper", Format::kDifference, true},
                          {"difference", "AUROC", Format::kDifference}}};
  struct Pair {
    const char *what, *a, *b;
  };
  for (const Pair& p :
       {Pair{"What degree 2 loses without FHE-aware learning", "exact_degree2_encrypted",
             "learned_exact"},
        Pair{"What FHE-aware learning wins back", "heft_degree2_encrypted",
             "exact_degree2_encrypted"},
        Pair{"What is left: HEFT encrypted minus learned exact", "heft_degree2_encrypted",
             "learned_exact"},
        Pair{"“Degree 6” minus learned exact", "exact_degree6_encrypted", "learned_exact"},
        Pair{"Goldschmidt minus learned exact", "exact_goldschmidt_encrypted", "learned_exact"},
        Pair{"Our default encrypted minus exact normalisation", "ours_encrypted", "ours_exact"},
        Pair{"Our default minus the paper’s HEFT row, both encrypted", "ours_encrypted",
             "heft_degree2_encrypted"}}) {
    const int a = c.Find(p.a), b = c.Find(p.b);
    if (a < 0 || b < 0) continue;
    const auto pa = paper.find(p.a), pb = paper.find(p.b);
    const bool published = pa != paper.end() && pb != paper.end();
    table.rows.push_back(
        {p.what, published ? Json(pa->second - pb->second) : Json(), Cell(c.differences[a][b])});
  }
  return table;
}

Chart RocChart(const FoldComparison& c, const std::map<std::string, ScoreSet>& pairs,
               const std::string& id) {
  Chart chart{.id = id + "-roc",
              .title = "ROC.",
              .caption =
                  "Pairs of all folds together. Below the inverse of the number of impostor "
                  "pairs there is nothing to see.",
              .x_label = "FMR: share of impostor pairs accepted",
              .y_label = "TMR: share of genuine pairs accepted",
              .log_x = true,
              .x_range = {{1e-4, 1}},
              .y_range = {{0, 1}},
              .key_at = "bottom right"};
  int colour = 0;
  for (const char* shown : {"ours_encrypted", "heft_degree2_encrypted", "learned_exact",
                            "concatenation", "modality0", "modality1"}) {
    const int row = c.Find(shown);
    if (row < 0) continue;
    const ScoredSystem& system = c.rows[row].system;
    const RowWords words = Words(shown);
    const std::string label =
        absl::StartsWith(shown, "modality") || system.id == "concatenation"
            ? system.label
            : absl::StrCat(absl::StartsWith(shown, "heft") ? "HEFT" : system.label, ", ",
                           words.inference, system.encrypted ? ", encrypted" : "");
    chart.curves.push_back({.label = label,
                            .points = RocCurve(pairs.at(shown)),
                            .colour = colour++,
                            .dashed = system.encrypted,
                            .mark = Mark::kSteps});
  }
  return chart;
}

}  // namespace

absl::StatusOr<LabelledScores> ScoresOf(const Dataset& data, const FeatureMatrix& projection,
                                        const std::optional<NormalisationSpec>& normalisation) {
  HEFT_ASSIGN_OR_RETURN(LabelledScores scores, LearnedScores(data, Split::kTest, projection));
  if (!normalisation) return scores;
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features,
                        Concatenate(data, RowsOf(data.split, Split::kTest)));
  FeatureMatrix z = ProjectAll(projection, features);
  for (Eigen::Index i = 0; i < z.rows(); ++i) z.row(i) *= (*normalisation)(z.row(i).squaredNorm());
  scores.scores = CosineScores(z);
  return scores;
}

absl::StatusOr<std::vector<std::pair<ScoredSystem, LabelledScores>>> FixedSystems(
    const Dataset& data) {
  const std::vector<int> rows = RowsOf(data.split, Split::kTest);
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features, Concatenate(data, rows));
  std::vector<std::string> labels;
  for (int row : rows) labels.push_back(data.labels[row]);
  const std::vector<int> identities = IdentityNumbers(labels);
  std::vector<std::pair<ScoredSystem, LabelledScores>> systems;
  auto add = [&](const std::string& id, const std::string& label, FeatureMatrix own) {
    const int dimension = static_cast<int>(own.cols());
    own.rowwise().normalize();
    systems.push_back({{id, label, dimension}, {CosineScores(own), identities}});
  };
  const std::vector<int> dimensions = data.Dimensions();
  const bool equal = std::all_of(dimensions.begin(), dimensions.end(),
                                 [&](int dimension) { return dimension == dimensions[0]; });
  FeatureMatrix sum = FeatureMatrix::Zero(features.rows(), dimensions[0]);
  Eigen::Index column = 0;
  for (std::size_t m = 0; m < dimensions.size(); ++m) {
    const FeatureMatrix own = features.middleCols(column, dimensions[m]);
    add(absl::StrCat("modality", m), data.modalities[m].name, own);
    if (equal) sum += own;
    column += dimensions[m];
  }
  if (equal && dimensions.size() > 1) add("average", "Average", std::move(sum));
  add("concatenation", "Concatenation", features);
  return systems;
}

std::vector<std::pair<double, double>> RocCurve(const ScoreSet& scores) {
  constexpr double kStep = 1.0 / 400, kDecades = 4;
  std::vector<std::pair<double, double>> curve;
  const auto roc = Roc(scores);
  if (!roc.ok()) return curve;
  double last_x = -1e9, last_y = -1e9;
  for (const RocPoint& p : *roc) {
    const double x = std::log10(std::max(p.fmr, 1e-5)) / kDecades;
    if (x - last_x < kStep && p.tmr - last_y < kStep && p.fmr < 1) continue;
    curve.emplace_back(std::max(p.fmr, 1e-5), p.tmr);
    last_x = x;
    last_y = p.tmr;
  }
  return curve;
}

absl::Status CompareSystems(const Study& study, const Dataset& data, const PaperAurocs& paper,
                            const std::string& id, Section* section) {
  Comparison comparison(study);
  HEFT_RETURN_IF_ERROR(comparison.Run(data));
  HEFT_ASSIGN_OR_RETURN(const FoldComparison c, comparison.Compare());
  section->tables.push_back(SystemsTable(c, comparison.gaps(), paper, study.effort.replicates));
  section->tables.push_back(DifferencesTable(c, paper));
  section->charts.push_back(RocChart(c, comparison.pairs(), id));
  for (const auto& [system, gap] : comparison.gaps()) {
    section->parameters.emplace_back(system, absl::StrCat(gap.parameters, "; ", gap.security));
  }
  const int lost_a = c.Find("learned_exact"), lost_b = c.Find("exact_degree2_encrypted"),
            won = c.Find("heft_degree2_encrypted");
  const Estimate &lost = c.differences[lost_a][lost_b], &back = c.differences[won][lost_b];
  std::string verdict = absl::StrFormat(
      "Degree 2 without FHE-aware learning loses %.4f%s. With FHE-aware learning it is %.4f %s%s.",
      lost.value, lost.lo > 0 ? "" : ", no more than the choice of people explains",
      std::abs(back.value), back.value < 0 ? "worse" : "better",
      back.lo > 0 || back.hi < 0 ? "" : ", which the choice of people explains");
  if (lost.lo > 0 && back.lo > 0) {
    absl::StrAppendFormat(&verdict, " It wins back %.0f%% of what was lost.",
                          100 * back.value / lost.value);
  }
  section->text.push_back(
      absl::StrFormat("%s The paper’s rows: %.4f lost, %.4f better.", verdict,
                      paper.at("learned_exact") - paper.at("exact_degree2_encrypted"),
                      paper.at("heft_degree2_encrypted") - paper.at("exact_degree2_encrypted")));
  if (back.hi < 0) {
    section->notes.push_back(
        "FHE-aware learning does not help here. Its projection is worse with exact normalisation "
        "too (row “exact, HEFT”), so it is the training that suffers, not the normalisation at "
        "inference. We suppose, but have not measured, that the quadratic’s large error on [0.05, "
        "3] "
        "lets the loss fall by way of the lengths of z. The paper’s grid of lambda and margin and "
        "its 1,000 epochs were not tried here.");
  }
  section->text.push_back(absl::StrFormat(
      "%.2f%% of the test samples fall out of [0.05, 3] under the FHE-aware projection.",
      100 * comparison.mean_outside()));
  const int ours = c.Find("ours_encrypted"), ours_exact = c.Find("ours_exact");
  if (ours >= 0) {
    section->text.push_back(absl::StrFormat(
        "Our default (re-paired training, cubic minimax on the data’s interval, compact encoding) "
        "differs from exact normalisation by %+.5f encrypted.",
        c.differences[ours][ours_exact].value));
  }
  return absl::OkStatus();
}

}  // namespace heft::paper
