// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/bytes.h"
#include "experiment/figure.h"
#include "experiment/page.h"
#include "experiment/reports.h"
#include "heft/inspect.h"

namespace heft::experiment {
namespace {

// Standard deviation over the folds of the difference of two rows.
double DifferenceSpread(const FoldRow& a, const FoldRow& b) {
  const std::vector<double>&x = a.estimate.auroc_by_set, &y = b.estimate.auroc_by_set;
  const double mean = a.estimate.auroc.value - b.estimate.auroc.value;
  double squares = 0;
  for (size_t i = 0; i < x.size(); ++i) squares += std::pow(x[i] - y[i] - mean, 2);
  return std::sqrt(squares / std::max<double>(1, x.size() - 1.0));
}

Json RowsJson(const CrossValidation& c) {
  Json rows = Json::array();
  for (const FoldRow& row : c.table.rows) {
    Json entry = RowJson(row);
    entry["auroc"]["spread"] = row.estimate.auroc_spread;
    entry["auroc"]["by_fold"] = row.estimate.auroc_by_set;
    rows.push_back(std::move(entry));
  }
  return rows;
}

Json DifferencesJson(const CrossValidation& c) {
  Json differences = Json::array();
  for (size_t a = 0; a < c.table.rows.size(); ++a) {
    for (size_t b = 0; b < c.table.rows.size(); ++b) {
      if (a == b) continue;
      Json entry = {{"of", c.table.rows[a].system.id}, {"minus", c.table.rows[b].system.id}};
      entry.update(EstimateJson(c.table.differences[a][b]));
      entry["spread"] = DifferenceSpread(c.table.rows[a], c.table.rows[b]);
      differences.push_back(std::move(entry));
    }
  }
  return differences;
}

const FoldCost* CostOf(const CrossValidation& c, const std::string& id) {
  for (const FoldCost& cost : c.costs) {
    if (cost.id == id) return &cost;
  }
  return nullptr;
}

std::string Difference(const Estimate& e) {
  return absl::StrFormat("%+.4f [%+.4f, %+.4f]", e.value, e.lo, e.hi);
}

// A difference that the choice of people does not explain.
bool IsReal(const Estimate& e) { return e.lo > 0 || e.hi < 0; }

std::string GapText(const FoldGap& gap, const FoldRow& row) {
  return absl::StrFormat(
      "%s minus the same without encryption: AUROC %+.6f, a score by at most %.1e; %.2f%% of the "
      "test samples outside the interval",
      row.system.label, gap.auroc, gap.max_score, 100 * gap.outside_share);
}

// Everything that is said in a sentence.
std::vector<std::string> Sentences(const CrossValidation& c) {
  std::vector<std::string> sentences;
  auto row = [&](const std::string& id) { return c.table.rows[c.table.Find(id)]; };
  for (const FoldGap& gap : c.gaps) sentences.push_back(GapText(gap, row(gap.id)));
  for (const FoldOutside& o : c.partial_outside) {
    sentences.push_back(absl::StrFormat("%s: %.1f%% of the probes outside the interval",
                                        row(o.id).system.label, 100 * o.share));
  }
  sentences.insert(sentences.end(), c.notes.begin(), c.notes.end());
  return sentences;
}

std::string Summary(const CrossValidation& c) {
  return absl::StrFormat(
      "%d folds by identity (fold seed %d): %d samples of %d identities, each tested once; %d "
      "genuine and %d impostor pairs",
      c.options.folds, c.options.fold_seed, c.samples, c.identities, c.genuine_pairs,
      c.impostor_pairs);
}

std::string FoldsCell(const Estimate& e) {
  return WithInterval(Fixed(e.value, 4), Fixed(e.lo, 4), Fixed(e.hi, 4));
}

std::string DifferenceCell(const Estimate& e) {
  const std::string cell = WithInterval(Signed(e.value, 4), Signed(e.lo, 4), Signed(e.hi, 4));
  return IsReal(e) ? absl::StrCat("<b>", cell, "</b>") : cell;
}

PageTable ResultsTable(const CrossValidation& c) {
  const int reference = c.Reference();
  PageTable table{{{"System"},
                   {"Dim."},
                   {"Computed"},
                   {"AUROC"},
                   {"Spread"},
                   {"EER"},
                   {"TMR at FMR 10⁻²"},
                   {"TMR at FMR 10⁻³"},
                   {absl::StrCat("Minus ", c.table.rows[reference].system.label)},
                   {"Template, fusion"}}};
  for (int i = 0; i < static_cast<int>(c.table.rows.size()); ++i) {
    const FoldRow& row = c.table.rows[i];
    const VerificationEstimate& e = row.estimate;
    const FoldCost* cost = CostOf(c, row.system.id);
    table.rows.push_back(
        {{EscapeHtml(row.system.label), absl::StrCat(row.system.dimension),
          row.system.encrypted ? "encrypted" : "plain", FoldsCell(e.auroc),
          Fixed(e.auroc_spread, 4), FoldsCell(e.eer), FoldsCell(e.tmr_1e2), FoldsCell(e.tmr_1e3),
          i == reference ? "" : DifferenceCell(c.table.differences[i][reference]),
          cost == nullptr ? ""
                          : absl::StrFormat("%s<small>%.1f ms</small>",
                                            HumanBytes(cost->template_bytes), cost->fuse_ms)},
         i == reference});
  }
  table.caption = absl::StrFormat(
      "Means over the folds; spread is the standard deviation over them. Small: 95%% intervals "
      "from %d bootstrap replicates over identities, each fold resampled separately. A difference "
      "is bold if its interval excludes 0. The intervals apply to the projections as trained; they "
      "do not include the variation of another training.",
      c.options.replicates);
  return table;
}

PageTable DifferencesTable(const CrossValidation& c) {
  PageTable table{{{"AUROC of row minus column"}}};
  const size_t count = c.table.rows.size();
  for (size_t a = 0; a < count; ++a) {
    table.columns.push_back({absl::StrCat(a + 1)});
    PageTable::Row row{{absl::StrCat(a + 1, ". ", EscapeHtml(c.table.rows[a].system.label))}};
    for (size_t b = 0; b < count; ++b) {
      row.cells.push_back(a == b ? "" : DifferenceCell(c.table.differences[a][b]));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

Json ToJson(const CrossValidation& c) {
  Json json = {{"folds", c.options.folds},
               {"fold_seed", c.options.fold_seed},
               {"samples", c.samples},
               {"identities", c.identities},
               {"genuine_pairs", c.genuine_pairs},
               {"impostor_pairs", c.impostor_pairs},
               {"replicates", c.options.replicates},
               {"reference", c.table.rows[c.Reference()].system.id},
               {"systems", RowsJson(c)},
               {"differences", DifferencesJson(c)}};
  json["gaps"] = Json::array();
  for (const FoldGap& gap : c.gaps) {
    json["gaps"].push_back({{"id", gap.id},
                            {"auroc", gap.auroc},
                            {"max_score", gap.max_score},
                            {"outside_share", gap.outside_share}});
  }
  json["partial_outside"] = Json::array();
  for (const FoldOutside& o : c.partial_outside) {
    json["partial_outside"].push_back({{"id", o.id}, {"share", o.share}});
  }
  json["decisions"] = Json::array();
  for (const FoldJudgement& judged : c.judgements) {
    Json entry = {{"id", judged.id}};
    entry.update(JudgementJson(judged.judgement));
    json["decisions"].push_back(std::move(entry));
  }
  json["fusion"] = FusionJson(c.fusion);
  json["costs"] = Json::array();
  for (const FoldCost& cost : c.costs) {
    json["costs"].push_back({{"id", cost.id},
                             {"fuse_ms", cost.fuse_ms},
                             {"match_block_ms", cost.match_block_ms},
                             {"template_bytes", cost.template_bytes},
                             {"sample_bytes", cost.sample_bytes},
                             {"evaluation_keys_bytes", cost.evaluation_keys_bytes}});
  }
  json["notes"] = c.notes;
  return json;
}

std::string ToText(const CrossValidation& c) {
  const int reference = c.Reference();
  size_t width = 6;
  for (const FoldRow& row : c.table.rows) width = std::max(width, row.system.label.size());
  std::string text = absl::StrCat(Summary(c), "\n\n");
  absl::StrAppendFormat(&text, "%-*s %4s  %-24s %-6s  %-6s  %-6s  %-6s  %s\n",
                        static_cast<int>(width), "system", "dim", "AUROC [95% interval]", "spread",
                        "EER", "TMR1e2", "TMR1e3",
                        absl::StrCat("minus ", c.table.rows[reference].system.label));
  for (size_t i = 0; i < c.table.rows.size(); ++i) {
    const FoldRow& row = c.table.rows[i];
    const VerificationEstimate& e = row.estimate;
    absl::StrAppendFormat(
        &text, "%-*s %4d  %-24s %.4f  %.4f  %.4f  %.4f  %s\n", static_cast<int>(width),
        row.system.label, row.system.dimension, EstimateText(e.auroc), e.auroc_spread, e.eer.value,
        e.tmr_1e2.value, e.tmr_1e3.value,
        static_cast<int>(i) == reference ? "" : Difference(c.table.differences[i][reference]));
  }
  absl::StrAppend(&text, "\n");
  for (const FoldCost& cost : c.costs) {
    absl::StrAppendFormat(&text, "%s: template %s, fusion %.1f ms\n",
                          c.table.rows[c.table.Find(cost.id)].system.label,
                          HumanBytes(cost.template_bytes), cost.fuse_ms);
  }
  for (const std::string& sentence : Sentences(c)) absl::StrAppend(&text, sentence, "\n");
  for (const FoldJudgement& judged : c.judgements) {
    absl::StrAppend(&text, "\n", c.table.rows[c.table.Find(judged.id)].system.label,
                    ", each fold's model on its test people:\n", JudgementText(judged.judgement));
  }
  return text;
}

absl::StatusOr<std::string> MakeFoldReport(
    const CrossValidation& c, const std::string& data_name, const std::string& data_description,
    const std::string& command, std::vector<std::pair<std::string, std::string>>* pictures) {
  std::vector<IntervalBar> bars;
  for (const FoldRow& row : c.table.rows) {
    bars.push_back(
        {row.system.label, row.estimate.auroc, row.estimate.auroc_by_set, row.system.encrypted});
  }
  HEFT_ASSIGN_OR_RETURN(const std::string picture, DrawIntervals(bars));
  pictures->emplace_back("intervals.svg", SvgFile(picture));
  Page page(absl::StrCat("HEFT on ", data_name));
  page.Title(absl::StrCat("HEFT: cross-validation on ", data_name));
  if (!data_description.empty()) page.Paragraph(absl::StrCat("Data: ", data_description, "."));
  page.Note(Summary(c) + ".");
  page.List(c.fusion.Losses(), "losses");
  for (const FoldJudgement& judged : c.judgements) {
    page.List(BrokenPromises(judged.judgement), "losses");
  }
  page.Heading("Results");
  page.Table(ResultsTable(c));
  page.Heading("Picture");
  page.Figures(
      {{picture, "AUROC.",
        "Bars: mean and 95% interval; points: the folds. Encrypted rows have their own colour."}});
  for (const FoldJudgement& judged : c.judgements) {
    std::vector<std::string> names;
    HEFT_ASSIGN_OR_RETURN(const std::vector<PageFigure> figures,
                          DrawJudgement(judged.judgement, &names));
    // Several sets of models are told apart by the folders of their rows' ids.
    const std::string folder = judged.id.substr(0, judged.id.rfind('/') + 1);
    for (size_t k = 0; k < figures.size(); ++k) {
      pictures->emplace_back(absl::StrReplaceAll(folder + names[k], {{"/", "-"}}),
                             SvgFile(figures[k].svg));
    }
    if (c.judgements.size() > 1) page.Note(c.table.rows[c.table.Find(judged.id)].system.label);
    AddJudgement(judged.judgement, figures, page);
  }
  page.Heading("Every row against every other");
  page.Table(DifferencesTable(c));
  page.Heading("Notes");
  page.List(Sentences(c));
  page.Reproduce(command);
  return page.Finish();
}

}  // namespace heft::experiment
