// SPDX-License-Identifier: Apache-2.0
#include "experiment/report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/hash.h"
#include "experiment/report_plots.h"

namespace heft::experiment {
namespace {

constexpr char kStyle[] = R"(
:root { color-scheme: light dark;
  --page: #fff; --ink: #1d232b; --muted: #5d6773; --grid: #e3e7ec; --shade: #f4f6f8;
  --plain: #4a90d9; --encrypted: #c2410c; --first: #7a8794; --second: #b98a2e; --third: #4d8f6a; }
@media (prefers-color-scheme: dark) { :root {
  --page: #14181d; --ink: #e4e8ec; --muted: #98a3af; --grid: #2c333b; --shade: #1c2229;
  --plain: #4f8fd0; --encrypted: #ff9a5c; --first: #8c99a6; --second: #c99f4a; --third: #6bb58c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem 3rem; background: var(--page);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .4rem; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; }
p { margin: .4rem 0; max-width: 46rem; }
small, .muted, figcaption { color: var(--muted); }
.key { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .8rem;
  margin: 1.4rem 0; }
.key div { background: var(--shade); border-radius: .4rem; padding: .7rem .9rem; }
.key b { display: block; font-size: 1.45rem; font-weight: 600; }
.key span { display: block; font-size: .85rem; color: var(--muted); }
.warnings { border-left: 3px solid var(--encrypted); margin: 1rem 0; padding: .1rem 0 .1rem 2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { text-align: right; vertical-align: top; padding: .35rem .7rem;
  border-bottom: 1px solid var(--grid); white-space: nowrap; }
th { font-weight: 600; border-bottom-color: var(--muted); }
th:first-child, td:first-child { text-align: left; padding-left: 0; white-space: normal;
  min-width: 9rem; }
td small { display: block; font-size: .8rem; }
tr.main td { font-weight: 600; background: var(--shade); }
tr.main td:first-child { padding-left: .4rem; }
tr.main small { font-weight: 400; }
.facts td { white-space: normal; text-align: left; }
.facts td:first-child { color: var(--muted); width: 15rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr));
  gap: 1.6rem 2rem; }
figure { margin: 0; min-width: 0; }
figure svg { display: block; width: 100%; height: auto; }
figcaption { font-size: .88rem; margin-top: .3rem; }
figcaption b { color: var(--ink); }
pre { background: var(--shade); border-radius: .4rem; padding: .8rem; overflow-x: auto;
  font-size: .85rem; }
@media print { body { max-width: none; } figure, tr { break-inside: avoid; } }
)";

// A minus sign as printers set it.
std::string Minus(const std::string& number) { return absl::StrReplaceAll(number, {{"-", "−"}}); }

// A number that rounds to nothing has no sign.
std::string Rounded(double value, int digits) {
  const double unit = std::pow(10.0, -digits);
  return Minus(absl::StrFormat("%.*f", digits, std::abs(value) < unit / 2 ? 0.0 : value));
}
std::string Signed(double value, int digits) {
  const std::string number = Rounded(value, digits);
  return value > 0 && number != Rounded(0, digits) ? absl::StrCat("+", number) : number;
}

std::string Cell(const Estimate& e, bool with_sign = false) {
  const std::string value = with_sign ? Signed(e.value, 4) : absl::StrFormat("%.4f", e.value);
  return absl::StrCat("<td>", value, "<small>", Rounded(e.lo, 4), " to ", Rounded(e.hi, 4),
                      "</small></td>");
}

// A small number as 0.00012 with two significant digits.
std::string Small(double value) {
  if (value == 0) return "0";
  const int digits =
      std::clamp(1 - static_cast<int>(std::floor(std::log10(std::abs(value)))), 0, 12);
  return Minus(absl::StrFormat("%.*f", digits, value));
}

std::string Percent(double share) {
  return absl::StrFormat("%.*f%%", std::abs(share) < 0.1 ? 2 : 1, 100 * share);
}

// 35,599.
std::string Count(int64_t value) {
  std::string digits = absl::StrCat(value);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, 1, ',');
  return digits;
}

std::string Seconds(double seconds) {
  return absl::StrFormat(seconds < 10 ? "%.1f s" : "%.0f s", seconds);
}

std::string Milliseconds(double ms) { return absl::StrFormat(ms < 10 ? "%.1f ms" : "%.0f ms", ms); }

// A table of names and values. Values are HTML.
class Facts {
 public:
  void Add(const std::string& name, const std::string& value) {
    absl::StrAppend(&rows_, "<tr><td>", name, "</td><td>", value, "</td></tr>\n");
  }
  std::string Html() const {
    return absl::StrCat("<div class=\"scroll\"><table class=\"facts\">\n", rows_,
                        "</table></div>\n");
  }

 private:
  std::string rows_;
};

std::string Header(const Evaluation& e) {
  std::string html =
      absl::StrCat("<h1>HEFT: plain against encrypted on ", EscapeHtml(e.data_name), "</h1>\n");
  if (!e.data_description.empty()) {
    absl::StrAppend(&html, "<p>Data: ", EscapeHtml(e.data_description), ".</p>\n");
  }
  std::string modalities;
  for (const ModalitySpec& m : e.model.modalities) {
    absl::StrAppend(&modalities, modalities.empty() ? "" : " and ", EscapeHtml(m.name), " (",
                    m.dimension, "-D)");
  }
  absl::StrAppend(&html, "<p class=\"muted\">", modalities, ", fused into ", e.model.gamma,
                  " dimensions. Split “", SplitName(e.options.split), "”, ",
                  e.split_was_derived ? "drawn by identity for want of a split.txt, " : "",
                  Count(e.samples), " samples of ", Count(e.identities),
                  " identities: ", Count(e.genuine_pairs), " genuine and ", Count(e.impostor_pairs),
                  " impostor pairs.</p>\n");
  return html;
}

std::string KeyFigures(const Evaluation& e) {
  const VerificationEstimate& encrypted = e.Find("fhe_aware_encrypted")->estimate;
  std::string html = "<div class=\"key\">\n";
  auto add = [&](const std::string& value, const std::string& text) {
    absl::StrAppend(&html, "<div><b>", value, "</b><span>", text, "</span></div>\n");
  };
  add(absl::StrFormat("%.4f", encrypted.auroc.value),
      absl::StrFormat("AUROC, encrypted; 95%% interval %.4f to %.4f", encrypted.auroc.lo,
                      encrypted.auroc.hi));
  add(Signed(e.gap.auroc, 6), "AUROC, encrypted minus plain");
  add(Small(e.gap.max_score),
      absl::StrCat("largest error of a score; rms ", Small(e.gap.rms_score)));
  add(Milliseconds(e.run.fuse_ms), "to fuse and normalise one encrypted sample, one thread");
  return html + "</div>\n";
}

std::string Warnings(const Evaluation& e) {
  if (e.warnings.empty()) return "";
  std::string html = "<ul class=\"warnings\">\n";
  for (const std::string& warning : e.warnings) {
    absl::StrAppend(&html, "<li>", EscapeHtml(warning), ".</li>\n");
  }
  return html + "</ul>\n";
}

std::string ResultsTable(const Evaluation& e) {
  std::string html =
      "<h2>Results</h2>\n<div class=\"scroll\"><table>\n"
      "<tr><th>System</th><th>Dim.</th><th>AUROC</th><th>EER</th><th>TAR at FAR 10⁻²</th>"
      "<th>TAR at FAR 10⁻³</th><th>Encrypted<br>minus this</th></tr>\n";
  for (const SystemResult& s : e.systems) {
    const bool main = s.id == "fhe_aware_plain" || s.id == "fhe_aware_encrypted";
    absl::StrAppend(&html, main ? "<tr class=\"main\">" : "<tr>", "<td>", EscapeHtml(s.label),
                    "</td><td>", s.dimension, "</td>", Cell(s.estimate.auroc), Cell(s.estimate.eer),
                    Cell(s.estimate.tar_1e2), Cell(s.estimate.tar_1e3),
                    s.encrypted_minus_this ? Cell(*s.encrypted_minus_this, true) : "<td></td>",
                    "</tr>\n");
  }
  absl::StrAppend(
      &html, "</table></div>\n<p class=\"muted\">95% intervals from ", Count(e.options.replicates),
      " bootstrap replicates over identities. “Encrypted minus this” is the difference in AUROC on "
      "the same replicates; where its interval excludes 0 the difference is more than the choice "
      "of people. FAR and TAR: shares of impostor and genuine pairs accepted.</p>\n");
  return html;
}

std::string Figures(const Evaluation& e, const Plots& plots) {
  std::string html = "<h2>Pictures</h2>\n<div class=\"figures\">\n";
  auto add = [&](const std::string& svg, const char* title, const std::string& text) {
    absl::StrAppend(&html, "<figure>", svg, "<figcaption><b>", title, "</b> ", text,
                    "</figcaption></figure>\n");
  };
  const Approximation& f = e.model.approximation;
  add(plots.roc, "ROC.",
      "The encrypted curve (dashed) lies on the plain one. The FMR axis is logarithmic; below the "
      "inverse of the number of impostor pairs there is nothing to see.");
  add(plots.scores, "Scores.",
      "Histograms of genuine and impostor pairs. Areas are plain, outlines encrypted.");
  add(plots.approximation, "Approximation.",
      absl::StrFormat("The polynomial that stands in for 1/√s. Dashed verticals: its interval, "
                      "[%.3f, %.3f].",
                      f.interval.lo, f.interval.hi));
  add(plots.relative_error, "Its error where the data are.",
      absl::StrCat("At most ", Percent(f.MaxRelativeError()), " inside the interval; ",
                   Count(e.outside), " of ", Count(e.samples), " samples lie outside."));
  add(plots.score_error, "What encryption adds to a score.",
      absl::StrCat("rms ", Small(e.gap.rms_score), ", at most ", Small(e.gap.max_score),
                   " over all ", Count(int64_t{e.samples} * e.samples), " scores."));
  return html + "</div>\n";
}

std::string GapSection(const Evaluation& e) {
  // What is promised, where anything is.
  auto promised = [&](const std::string& sign, double value) {
    return e.KeepsPromise() ? absl::StrCat(" (promised: ", sign, value, ")") : std::string();
  };
  Facts facts;
  facts.Add("AUROC, encrypted minus plain",
            absl::StrCat(Signed(e.gap.auroc, 6), promised("±", kPromisedAurocGap)));
  facts.Add("Score, largest difference",
            absl::StrCat(Small(e.gap.max_score), promised("", kPromisedScoreGap)));
  facts.Add("Score, rms difference", Small(e.gap.rms_score));
  facts.Add("Score, bound predicted by the noise estimator",
            absl::StrFormat("%s (%.1f times the largest seen)", Small(e.run.predicted_error),
                            e.run.predicted_error / std::max(e.gap.max_score, 1e-12)));
  return absl::StrCat(
      "<h2>What encryption changes</h2>\n<p>Every sample was encrypted under a public key, fused, "
      "normalised, enrolled and matched against all others without decryption. The same "
      "projection and the same approximation in the clear are the reference.</p>\n",
      facts.Html());
}

std::string DecisionSection(const Evaluation& e) {
  if (e.decisions.empty()) return "";
  std::string html =
      "<h2>The model's thresholds on these people</h2>\n<div class=\"scroll\"><table>\n"
      "<tr><th>Fitted for FMR</th><th>Threshold</th><th>FMR here</th><th>FNMR here</th></tr>\n";
  for (const DecisionResult& d : e.decisions) {
    absl::StrAppendFormat(&html, "<tr><td>%g</td><td>%.3f</td><td>%s</td><td>%s</td></tr>\n",
                          d.wanted_fmr, d.threshold, Percent(d.fmr), Percent(d.fnmr));
  }
  return html +
         "</table></div>\n<p class=\"muted\">Fitted on the validation people, applied to the "
         "encrypted scores of this split.</p>\n";
}

std::string ParameterSection(const Evaluation& e) {
  const Approximation& f = e.model.approximation;
  const EncryptedRun& run = e.run;
  Facts facts;
  facts.Add("Profile", EscapeHtml(e.model.profile));
  facts.Add("Parameters", EscapeHtml(run.parameters));
  facts.Add("Security", EscapeHtml(run.security));
  facts.Add("Normalisation",
            absl::StrFormat("%s, degree %d on [%.4f, %.4f], relative error at most %s",
                            EscapeHtml(f.name), f.Degree(), f.interval.lo, f.interval.hi,
                            Percent(f.MaxRelativeError())));
  facts.Add("Evaluation keys", HumanBytes(run.evaluation_keys_bytes));
  facts.Add("One encrypted sample, all modalities", HumanBytes(run.sample_bytes));
  facts.Add("One enrolled template, in a full block", HumanBytes(run.template_bytes));
  facts.Add("Model", absl::StrCat("<code>", HexString(e.model.Id()), "</code>"));
  return absl::StrCat("<h2>Parameters</h2>\n", facts.Html());
}

std::string TimingSection(const Evaluation& e) {
  const EncryptedRun& run = e.run;
  const std::string n = Count(e.samples);
  Facts facts;
  facts.Add("Encrypt one sample, all modalities", Milliseconds(run.encrypt_ms));
  facts.Add("Fuse and normalise one sample", Milliseconds(run.fuse_ms));
  facts.Add("Prepare a probe for a gallery", Milliseconds(run.prepare_ms));
  facts.Add("Match one block", Milliseconds(run.match_block_ms));
  facts.Add("Decrypt one block's scores", Milliseconds(run.decrypt_ms));
  facts.Add("Make keys", Seconds(run.keys_seconds));
  facts.Add(absl::StrCat("Encrypt and fuse ", n, " samples"), Seconds(run.fuse_seconds));
  facts.Add(absl::StrCat("Enrol ", n, " templates"), Seconds(run.enrol_seconds));
  facts.Add(absl::StrCat("Match ", n, " probes, decrypt"), Seconds(run.match_seconds));
  facts.Add("Whole evaluation, bootstrap included", Seconds(e.seconds));
  return absl::StrCat(
      "<h2>Time</h2>\n<p class=\"muted\">Single operations: medians on one thread "
      "while ",
      run.threads, run.threads == 1 ? " thread works" : " threads work",
      "; the rest is wall clock.</p>\n", facts.Html());
}

std::string ReproduceSection(const Evaluation& e) {
  std::string command = absl::StrCat(
      "heft evaluate --data ", ShellWord(e.options.data), " --model ", ShellWord(e.options.model),
      " --split ", SplitName(e.options.split), " --replicates ", e.options.replicates);
  if (e.options.seed) absl::StrAppend(&command, " --seed ", *e.options.seed);
  return ReproduceHtml(command + " --report report.html");
}

}  // namespace

std::string ReproduceHtml(const std::string& command) {
  return absl::StrCat("<h2>Reproduce</h2>\n<pre>", EscapeHtml(command),
                      "</pre>\n<p class=\"muted\">heft ", HEFT_VERSION,
                      ". Plain numbers and intervals come out the same; the encrypted ones within "
                      "their noise, as every run draws a fresh key.</p>\n");
}

std::string EscapeHtml(std::string_view text) {
  return absl::StrReplaceAll(
      std::string(text),
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string ShellWord(std::string_view text) {
  const auto plain = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("/._-+:,").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return std::string(text);
  return absl::StrCat("'", absl::StrReplaceAll(std::string(text), {{"'", "'\\''"}}), "'");
}

std::string HtmlPage(std::string_view title, std::string_view body) {
  return absl::StrCat(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
      EscapeHtml(title), "</title>\n<style>", kStyle, "</style>\n</head>\n<body>\n",
      std::string(body), "</body>\n</html>\n");
}

std::string MakeReport(const Evaluation& e, const Plots& plots) {
  return HtmlPage(absl::StrCat("HEFT on ", e.data_name),
                  absl::StrCat(Header(e), KeyFigures(e), Warnings(e), ResultsTable(e),
                               Figures(e, plots), GapSection(e), DecisionSection(e),
                               ParameterSection(e), TimingSection(e), ReproduceSection(e)));
}

}  // namespace heft::experiment
