// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/bytes.h"
#include "experiment/gamma_section.h"
#include "experiment/page.h"
#include "experiment/reports.h"
#include "heft/inspect.h"

namespace heft::experiment {
namespace {

Json DataJson(const Evaluation& e) {
  Json modalities = Json::array();
  for (const ModalitySpec& m : e.model.modalities) {
    modalities.push_back({{"name", m.name}, {"dimension", m.dimension}});
  }
  Json data = {{"folder", e.data_folder}, {"split", e.SplitLabel()}};
  if (!e.data_description.empty()) data["description"] = e.data_description;
  data.update({{"split_was_derived", e.split_was_derived},
               {"samples", e.samples},
               {"identities", e.identities},
               {"genuine_pairs", e.genuine_pairs},
               {"impostor_pairs", e.impostor_pairs},
               {"modalities", modalities}});
  return data;
}

Json ModelJson(const Evaluation& e) {
  const Approximation& f = e.model.approximation;
  return {{"id", HexString(e.model.Id())},
          {"gamma", e.model.gamma},
          {"effective_dimension", e.effective_dimension ? Json(*e.effective_dimension) : Json()},
          {"profile", e.model.profile},
          {"parameters", e.run.parameters},
          {"security", e.run.security},
          {"approximation",
           {{"fit", f.name},
            {"degree", f.Degree()},
            {"interval", {f.interval.lo, f.interval.hi}},
            {"max_relative_error", f.MaxRelativeError()}}},
          {"samples_outside_interval", e.outside},
          {"samples_refused", e.run.refused}};
}

Json SystemsJson(const Evaluation& e) {
  Json systems = Json::array();
  for (const SystemResult& s : e.systems) {
    Json row = RowJson(s);
    if (s.encrypted_minus_this) row["encrypted_minus_this"] = EstimateJson(*s.encrypted_minus_this);
    if (s.encrypted_fnmr_minus_this) {
      row["encrypted_fnmr_1e3_minus_this"] = EstimateJson(*s.encrypted_fnmr_minus_this);
    }
    systems.push_back(std::move(row));
  }
  return systems;
}

Json UnavailableJson(const Evaluation& e) {
  Json systems = Json::array();
  for (const auto& [system, reason] : e.unavailable) {
    systems.push_back({{"id", system.id}, {"label", system.label}, {"reason", reason}});
  }
  return systems;
}

Json RunJson(const EncryptedRun& run) {
  return {{"threads", run.threads},
          {"keys_seconds", run.keys_seconds},
          {"encrypt_and_fuse_seconds", run.fuse_seconds},
          {"enrol_seconds", run.enrol_seconds},
          {"match_and_decrypt_seconds", run.match_seconds},
          {"encrypt_ms", run.encrypt_ms},
          {"fuse_ms", run.fuse_ms},
          {"prepare_probe_ms", run.prepare_ms},
          {"match_block_ms", run.match_block_ms},
          {"decrypt_block_ms", run.decrypt_ms},
          {"blocks", run.blocks},
          {"evaluation_keys_bytes", run.evaluation_keys_bytes},
          {"sample_bytes", run.sample_bytes},
          {"template_bytes", run.template_bytes}};
}

}  // namespace

Json RowJson(const FoldRow& row) {
  const VerificationEstimate& e = row.estimate;
  return {{"id", row.system.id},
          {"label", row.system.label},
          {"dimension", row.system.dimension},
          {"encrypted", row.system.encrypted},
          {"auroc", EstimateJson(e.auroc)},
          {"eer", EstimateJson(e.eer)},
          {"tmr_at_fmr_1e-2", EstimateJson(e.tmr_1e2)},
          {"tmr_at_fmr_1e-3", EstimateJson(e.tmr_1e3)}};
}

Json EstimateJson(const Estimate& e) { return {{"value", e.value}, {"lo", e.lo}, {"hi", e.hi}}; }

std::string EstimateText(const Estimate& e) {
  return absl::StrFormat("%.4f [%.4f, %.4f]", e.value, e.lo, e.hi);
}

Json ToJson(const Evaluation& e) {
  Json gap = {{"auroc", e.gap.auroc},
              {"max_score", e.gap.max_score},
              {"rms_score", e.gap.rms_score},
              {"predicted_bound", e.run.predicted_error}};
  if (e.KeepsPromise()) gap["within_promise"] = *e.KeepsPromise();
  return {{"data", DataJson(e)},
          {"model", ModelJson(e)},
          {"systems", SystemsJson(e)},
          {"unavailable", UnavailableJson(e)},
          {"gap", gap},
          {"decisions", JudgementJson(e.judgement)},
          {"fusion", FusionJson(e.fusion)},
          {"encrypted_run", RunJson(e.run)},
          {"warnings", e.warnings},
          {"notes", e.notes},
          {"seconds", e.seconds}};
}

std::string ToText(const Evaluation& e) {
  std::string text = absl::StrFormat(
      "%s, split %s: %d samples of %d identities, %d genuine and %d impostor pairs\n", e.data_name,
      e.SplitLabel(), e.samples, e.identities, e.genuine_pairs, e.impostor_pairs);
  if (!e.data_description.empty()) absl::StrAppend(&text, e.data_description, "\n");
  absl::StrAppendFormat(&text, "\n%-42s %4s  %-24s %-6s  %-24s %s\n", "system", "dim",
                        "AUROC [95% interval]", "EER", "TMR at FMR 1e-2", "TMR at FMR 1e-3");
  for (const SystemResult& s : e.systems) {
    absl::StrAppendFormat(&text, "%-42s %4d  %-24s %.4f  %-24s %s\n", s.system.label,
                          s.system.dimension, EstimateText(s.estimate.auroc), s.estimate.eer.value,
                          EstimateText(s.estimate.tmr_1e2), EstimateText(s.estimate.tmr_1e3));
  }
  for (const auto& [system, reason] : e.unavailable) {
    absl::StrAppendFormat(&text, "%-42s %4d  not available: %s\n", system.label, system.dimension,
                          reason);
  }
  const Interval& interval = e.model.approximation.interval;
  absl::StrAppendFormat(
      &text,
      "\nencrypted minus plain: AUROC %+.6f, scores rms %.1e, at most %.1e (predicted bound "
      "%.1e)\n%d of %d samples outside the interval [%.3f, %.3f]\n%s; %s\n",
      e.gap.auroc, e.gap.rms_score, e.gap.max_score, e.run.predicted_error, e.outside, e.samples,
      interval.lo, interval.hi, e.run.parameters, e.run.security);
  if (e.effective_dimension) {
    absl::StrAppendFormat(&text, "templates use %.1f of %d dimensions (participation ratio)\n",
                          *e.effective_dimension, e.model.gamma);
  }
  absl::StrAppendFormat(
      &text,
      "%.1f s on %d threads; a sample: encrypt %.1f ms, fuse %.1f ms, prepare %.1f ms, match a "
      "block %.1f ms\n",
      e.seconds, e.run.threads, e.run.encrypt_ms, e.run.fuse_ms, e.run.prepare_ms,
      e.run.match_block_ms);
  for (const std::string& note : e.notes) absl::StrAppend(&text, note, "\n");
  absl::StrAppend(&text, "\n", JudgementText(e.judgement));
  return text;
}

namespace {

std::string Cell(const Estimate& e, bool with_sign = false) {
  return WithInterval(with_sign ? Signed(e.value, 4) : Fixed(e.value, 4), Fixed(e.lo, 4),
                      Fixed(e.hi, 4));
}

void AddHeader(const Evaluation& e, Page& page) {
  page.Title(absl::StrCat("HEFT: plain against encrypted on ", e.data_name));
  if (!e.data_description.empty()) {
    page.Paragraph(absl::StrCat("Data: ", e.data_description, "."));
  }
  std::vector<std::string> modalities;
  for (const ModalitySpec& m : e.model.modalities) {
    modalities.push_back(absl::StrCat(m.name, " (", m.dimension, "-D)"));
  }
  page.Note(absl::StrCat(
      absl::StrJoin(modalities, " and "), ", fused into ", e.model.gamma, " dimensions. Split “",
      e.SplitLabel(), "”, ",
      e.split_was_derived ? "assigned by identity because there is no split.txt, " : "",
      Count(e.samples), " samples of ", Count(e.identities), " identities: ",
      Count(e.genuine_pairs), " genuine and ", Count(e.impostor_pairs), " impostor pairs."));
}

void AddKeyFigures(const Evaluation& e, Page& page) {
  const VerificationEstimate& encrypted = e.Find("fhe_aware_encrypted")->estimate;
  page.Html("<div class=\"key\">\n");
  const auto add = [&](const std::string& value, const std::string& text) {
    page.Html(absl::StrCat("<div><b>", value, "</b><span>", text, "</span></div>\n"));
  };
  add(Fixed(encrypted.auroc.value, 4),
      absl::StrCat("AUROC, encrypted; 95% interval ", Fixed(encrypted.auroc.lo, 4), " to ",
                   Fixed(encrypted.auroc.hi, 4)));
  add(Signed(e.gap.auroc, 6), "AUROC, encrypted minus plain");
  add(Significant(e.gap.max_score),
      absl::StrCat("largest error of a score; rms ", Significant(e.gap.rms_score)));
  add(Fixed(1 - encrypted.tmr_1e2.value, 3),
      absl::StrCat("FNMR at FMR 0.01, encrypted; ", Fixed(1 - encrypted.tmr_1e2.hi, 3), " to ",
                   Fixed(1 - encrypted.tmr_1e2.lo, 3)));
  if (!e.judgement.curves.empty()) {
    const SearchCurve& curve = e.judgement.curves[0];
    add(Fixed(curve.errors.match_rates[0], 3),
        "of searches by enrolled people return the right name first (rank 1)");
  }
  if (e.effective_dimension) {
    add(Fixed(*e.effective_dimension, 1),
        absl::StrCat("effective dimension of templates, of ", e.model.gamma));
  }
  add(Milliseconds(e.run.fuse_ms), "to fuse one encrypted probe, one thread");
  page.Html("</div>\n");
}

void AddResults(const Evaluation& e, Page& page) {
  PageTable table{{{"System"},
                   {"Dim."},
                   {"AUROC"},
                   {"EER"},
                   {"TMR at FMR 10⁻²"},
                   {"TMR at FMR 10⁻³"},
                   {"AUROC, encrypted minus this"},
                   {"FNMR at FMR 10⁻³, encrypted minus this"}}};
  for (const SystemResult& s : e.systems) {
    table.rows.push_back(
        {{EscapeHtml(s.system.label), absl::StrCat(s.system.dimension), Cell(s.estimate.auroc),
          Cell(s.estimate.eer), Cell(s.estimate.tmr_1e2), Cell(s.estimate.tmr_1e3),
          s.encrypted_minus_this ? Cell(*s.encrypted_minus_this, true) : "",
          s.encrypted_fnmr_minus_this ? Cell(*s.encrypted_fnmr_minus_this, true) : ""},
         s.system.id == "fhe_aware_plain" || s.system.id == "fhe_aware_encrypted"});
  }
  for (const auto& [system, reason] : e.unavailable) {
    std::vector<std::string> cells = {EscapeHtml(system.label), absl::StrCat(system.dimension),
                                      absl::StrCat("not available: ", EscapeHtml(reason))};
    cells.resize(table.columns.size());
    table.rows.push_back({std::move(cells), false});
  }
  table.caption = absl::StrCat(
      "95% intervals from ", Count(e.options.replicates),
      " bootstrap replicates over identities. “Encrypted minus this” is a difference on the same "
      "replicates; if its interval excludes 0, it is more than a random effect of the chosen "
      "people. FMR and TMR: shares of impostor and genuine pairs that are accepted.");
  page.Heading("Results");
  page.Table(table);
  for (const std::string& note : e.notes) page.Note(note + ".");
}

// Named: the pictures of the judgement that have these names, or all the others.
std::vector<PageFigure> Named(const Plots& plots, bool inside) {
  std::vector<PageFigure> figures;
  for (size_t k = 0; k < plots.judgement.size(); ++k) {
    const std::string& file = plots.judgement_files[k];
    if ((file == "det.svg" || file == "scores.svg") == inside)
      figures.push_back(plots.judgement[k]);
  }
  return figures;
}

void AddGap(const Evaluation& e, const Plots& plots, Page& page) {
  // The promised bound, if there is one.
  const auto promised = [&](const std::string& sign, double value) {
    return e.KeepsPromise() ? absl::StrCat(" (promised: ", sign, value, ")") : std::string();
  };
  page.Heading("Plain against encrypted");
  page.Paragraph(
      "Every sample was encrypted under a public key, fused, normalised, enrolled and matched "
      "against all others without decryption. The reference is the same projection and "
      "approximation computed without encryption.");
  std::vector<PageFigure> figures = Named(plots, true);
  figures.push_back(
      {plots.roc, "ROC.",
       "The encrypted curve (dashed) lies on the plain one. The FMR axis is logarithmic; below the "
       "inverse of the number of impostor comparisons the curve has no data."});
  figures.push_back({plots.score_error, "The effect of encryption on a score.",
                     absl::StrCat("rms ", Significant(e.gap.rms_score), ", at most ",
                                  Significant(e.gap.max_score), " over all ",
                                  Count(int64_t{e.samples} * e.samples), " scores.")});
  page.Figures(figures);
  page.Facts(
      {{"AUROC, encrypted minus plain",
        absl::StrCat(Signed(e.gap.auroc, 6), promised("±", kPromisedAurocGap))},
       {"Score, largest difference",
        absl::StrCat(Significant(e.gap.max_score), promised("", kPromisedScoreGap))},
       {"Score, rms difference", Significant(e.gap.rms_score)},
       {"Score, bound predicted by the noise estimator",
        absl::StrFormat("%s (%.1f times the largest error)", Significant(e.run.predicted_error),
                        e.run.predicted_error / std::max(e.gap.max_score, 1e-12))}});
}

void AddNormalisation(const Evaluation& e, const Plots& plots, Page& page) {
  const Approximation& f = e.model.approximation;
  page.Heading("Normalisation without a root");
  std::vector<PageFigure> figures = {
      {plots.approximation, "Approximation.",
       absl::StrFormat(
           "The polynomial that approximates 1/√s. Dashed verticals: its interval, [%.3f, %.3f].",
           f.interval.lo, f.interval.hi)},
      {plots.relative_error, "Its error over the data.",
       absl::StrCat("At most ", Percent(f.MaxRelativeError()), " inside the interval; ",
                    Count(e.outside), " of ", Count(e.samples), " samples lie outside.")}};
  if (!plots.norms.empty()) {
    figures.push_back(
        {plots.norms, "Samples that lack modalities.",
         "Their squared norms, compared with those of whole samples, and the interval."});
  }
  page.Figures(figures);
}

void AddParameters(const Evaluation& e, Page& page) {
  const Approximation& f = e.model.approximation;
  const EncryptedRun& run = e.run;
  page.Heading("Parameters");
  page.Facts(
      {{"Profile", e.model.profile},
       {"Effective dimension of templates",
        e.effective_dimension
            ? absl::StrFormat("%.1f of %d (participation ratio of the variances about the mean)",
                              *e.effective_dimension, e.model.gamma)
            : "too few templates"},
       {"Parameters", run.parameters},
       {"Security", run.security},
       {"Normalisation",
        absl::StrFormat("%s, degree %d on [%.4f, %.4f], relative error at most %s", f.name,
                        f.Degree(), f.interval.lo, f.interval.hi, Percent(f.MaxRelativeError()))},
       {"Evaluation keys", HumanBytes(run.evaluation_keys_bytes)},
       {"One encrypted sample, all modalities", HumanBytes(run.sample_bytes)},
       {"One enrolled template, in a full block", HumanBytes(run.template_bytes)},
       {"Model", HexString(e.model.Id())}});
}

void AddTimes(const Evaluation& e, Page& page) {
  const EncryptedRun& run = e.run;
  const std::string n = Count(e.samples);
  page.Heading("Time");
  page.Note(absl::StrCat("Single operations: medians on one thread while ", run.threads,
                         run.threads == 1 ? " thread works" : " threads work",
                         "; the rest is wall-clock time."));
  page.Facts({{"Encrypt one sample, all modalities", Milliseconds(run.encrypt_ms)},
              {"Fuse and normalise one sample", Milliseconds(run.fuse_ms)},
              {"Prepare a probe for a gallery", Milliseconds(run.prepare_ms)},
              {"Match one block", Milliseconds(run.match_block_ms)},
              {"Decrypt one block's scores", Milliseconds(run.decrypt_ms)},
              {"Make keys", Seconds(run.keys_seconds)},
              {absl::StrCat("Encrypt and fuse ", n, " samples"), Seconds(run.fuse_seconds)},
              {absl::StrCat("Enrol ", n, " templates"), Seconds(run.enrol_seconds)},
              {absl::StrCat("Match ", n, " probes, decrypt"), Seconds(run.match_seconds)},
              {"Whole evaluation, bootstrap included", Seconds(e.seconds)}});
}

}  // namespace

std::string MakeReport(const Evaluation& e, const Plots& plots, const std::string& command) {
  Page page(absl::StrCat("HEFT on ", e.data_name));
  AddHeader(e, page);
  AddKeyFigures(e, page);
  std::vector<std::string> warnings;
  for (const std::string& warning : e.warnings) warnings.push_back(warning + ".");
  page.List(warnings, "warnings");
  page.List(e.fusion.Losses(), "losses");
  page.List(BrokenPromises(e.judgement), "losses");
  AddResults(e, page);
  AddGap(e, plots, page);
  AddJudgement(e.judgement, Named(plots, false), page);
  AddGamma(e.model, plots.gamma, e.run.template_bytes, page);
  AddNormalisation(e, plots, page);
  AddParameters(e, page);
  AddTimes(e, page);
  page.Reproduce(command);
  return page.Finish();
}

}  // namespace heft::experiment
