// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "paper/sections/comparison.h"

namespace heft::paper {
namespace {

// RowWords: what a row of the paper's table says besides its number.
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

// RocCurve: thinned for drawing, (FMR, TMR).
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
              .y_range = {{0, 1}}};
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

// AddVerdict: the loss by degree 2, the gain by FHE-aware learning, and the share outside.
void AddVerdict(const FoldComparison& c, const PaperAurocs& paper, double outside,
                Section* section) {
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
        "3] lets the loss fall by way of the lengths of z. The paper’s grid of lambda and margin "
        "and its 1,000 epochs were not tried here.");
  }
  section->text.push_back(absl::StrFormat(
      "%.2f%% of the test samples fall out of [0.05, 3] under the FHE-aware projection.",
      100 * outside));
  const int ours = c.Find("ours_encrypted"), ours_exact = c.Find("ours_exact");
  if (ours >= 0) {
    section->text.push_back(absl::StrFormat(
        "Our default (re-paired training, cubic minimax on the data’s interval, compact encoding) "
        "differs from exact normalisation by %+.5f encrypted.",
        c.differences[ours][ours_exact].value));
  }
}

}  // namespace

absl::Status AddComparison(const Study& study, const Dataset& data, const PaperAurocs& paper,
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
  AddVerdict(c, paper, comparison.mean_outside(), section);
  return absl::OkStatus();
}

}  // namespace heft::paper
