// SPDX-License-Identifier: Apache-2.0
// The measured protection of templates, as JSON, text, pictures and a page.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/inside.h"
#include "experiment/evaluation.h"
#include "experiment/figure.h"
#include "experiment/page.h"
#include "experiment/protection.h"
#include "features/dataset.h"

namespace heft {
namespace experiment {
namespace {

const char* Name(Stolen stolen) {
  switch (stolen) {
    case Stolen::kNone:
      return "no secret key";
    case Stolen::kOne:
      return "one secret key";
    case Stolen::kBoth:
      break;
  }
  return "both secret keys";
}

// The function that links best, of those with so many keys.
const LinkRow& Strongest(const ProtectionStudy& study, Stolen stolen) {
  const LinkRow* best = nullptr;
  for (const LinkRow& row : study.links) {
    if (row.stolen != stolen) continue;
    const double above = row.linkage.found.d_sys - row.linkage.chance;
    if (best == nullptr || above > best->linkage.found.d_sys - best->linkage.chance) best = &row;
  }
  return *best;
}

Json LinkageJson(const Linkage& l) {
  Json curve = Json::array();
  for (const LinkPoint& p : l.found.curve) {
    curve.push_back({p.score, p.mated, p.non_mated, p.linkability});
  }
  return {{"d_sys", l.found.d_sys},
          {"by_chance", l.chance},
          {"by_chance_97.5", l.chance_hi},
          {"curve", std::move(curve)}};
}

Json RecoveryJson(const std::vector<Recovery>& rows) {
  Json out = Json::array();
  for (const Recovery& row : rows) {
    out.push_back(
        {{"answers", row.answers}, {"cosine", row.cosine}, {"accepted", row.accepted[0]}});
  }
  return out;
}

// A curve of the model's figures as one line: "1: 1.7%, 4: 12%".
std::string CurveText(const std::vector<RecoveryFigures::Point>& points) {
  std::string text;
  for (const RecoveryFigures::Point& point : points) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", point.answers, ": ", Percent(point.accepted));
  }
  return text;
}

std::string Scope(const ProtectionStudy& study) {
  return absl::StrFormat(
      "%d samples of %d people, each enrolled under two keys; profile %s, %d "
      "dimensions",
      study.samples, study.people, study.profile, study.gamma);
}

constexpr char kNotRenewed[] =
    "A new key renews the encryption, not the template. A template that was decrypted once stays "
    "known, because it is the same under every key (D_sys 1 for the same sample, above for another "
    "one). Only another model, or other fingers, faces and voices, make another template.";
constexpr char kNames[] =
    "Identities are not encrypted in a gallery, so they link two galleries whatever their keys "
    "are: use different pseudonyms in each gallery.";

PageTable LinkTable(const ProtectionStudy& study) {
  PageTable table;
  table.caption = absl::StrCat(
      "D_sys 0: pairs of one person cannot be distinguished from others; 1: all of them can "
      "(Gomez-Barrero et al., 2018, omega 1). By chance: the same estimate for shuffled pairs, "
      "mean and 97.5th percentile. It is above 0 because histograms of few pairs always differ, "
      "and in one run of four, one of ten functions is above that percentile by chance. D_sys of "
      "the recognition itself, under one key: ",
      Fixed(study.matcher.d_sys, 3), ".");
  table.columns = {{"stolen", true}, {"compared data", true}, {"D_sys"}, {"by chance"}};
  for (const LinkRow& row : study.links) {
    table.rows.push_back(
        {{Name(row.stolen), EscapeHtml(row.what), Fixed(row.linkage.found.d_sys, 3),
          absl::StrCat(Fixed(row.linkage.chance, 3), " (", Fixed(row.linkage.chance_hi, 3), ")")}});
  }
  return table;
}

PageTable InvertTable(const ProtectionStudy& study) {
  PageTable table;
  table.caption =
      "The attacker has a template that was decrypted with a stolen key. The table gives the "
      "cosine of the reconstructed feature vector with the true one. Learned: by linear regression "
      "on other people; without a template: the mean of other people; least squares: from the "
      "model alone.";
  table.columns = {{"modality", true}, {"learned"}, {"without a template"}, {"least squares"}};
  for (const InvertRow& row : study.inversions) {
    table.rows.push_back({{EscapeHtml(row.modality), Fixed(row.learned.cosine, 2),
                           Fixed(row.learned.blind, 2), Fixed(row.least_squares, 2)}});
  }
  return table;
}

PageTable LeakTable(const ProtectionStudy& study) {
  PageTable table;
  table.caption = absl::StrFormat(
      "No key is stolen: the attacker chooses probes and sees the key owner's answers. The table "
      "gives the cosine of the best guess with the template, and how often it is accepted at FMR "
      "1e-3. The default budget of this model publishes %d scores of an identity, ever, and lets a "
      "client be rejected %d times before it is accepted.",
      study.limits.scores, study.limits.rejections);
  table.columns = {{"answers", true}, {"cosine"}, {"accepted"}};
  const auto add = [&](const std::vector<Recovery>& rows, const char* what) {
    for (const Recovery& row : rows) {
      table.rows.push_back(
          {{absl::StrCat(row.answers, " ", what), Fixed(row.cosine, 2), Percent(row.accepted[0])}});
    }
  };
  add(study.from_scores, "scores");
  add(study.from_decisions, "decisions");
  return table;
}

PageTable FiguresTable(const RecoveryFigures& figures) {
  PageTable table;
  table.caption = absl::StrFormat(
      "The same as the model's training measured it, on %d people whom the attacked models had not "
      "seen: the share of their templates that accept the best guess, or a wolf, at FMR %g. Below "
      "%s, so a budget: %d scores, %d decisions.",
      figures.people, kRecoveryFmr, Percent(kMaxRecovered), figures.AllowedScores(),
      figures.AllowedDecisions());
  table.columns = {{"answers", true}, {"accepted"}};
  for (const auto& [points, what] :
       {std::pair(&figures.scores, "scores"), std::pair(&figures.decisions, "decisions")}) {
    for (const RecoveryFigures::Point& point : *points) {
      table.rows.push_back({{absl::StrCat(point.answers, " ", what), Percent(point.accepted)}});
    }
  }
  return table;
}

std::string RenewalText(const ProtectionStudy& study) {
  const Renewal& r = study.renewal;
  return absl::StrFormat(
      "A gallery that moved to another key (heft rekey): AUROC %.5f before, %.5f after; a score "
      "differs by %.1e (rms), %.1e at most; old and new gallery without keys: D_sys %.3f, by "
      "chance %.3f (%.3f). There are 2^%.0f secret keys; their strength is that of the encryption "
      "parameters (SECURITY.md).",
      r.auroc_before, r.auroc_after, r.rms_gap, r.largest_gap, r.blocks.found.d_sys,
      r.blocks.chance, r.blocks.chance_hi, r.key_bits);
}

void Draw(GnuplotJob* job, const std::string& name, const LinkRow& row) {
  Figure figure(job, name);
  const std::vector<LinkPoint>& curve = row.linkage.found.curve;
  std::string mated, other, linkability;
  double most = 0;
  for (const LinkPoint& p : curve) most = std::max({most, p.mated, p.non_mated});
  for (const LinkPoint& p : curve) {
    absl::StrAppendFormat(&mated, "%.9g %.9g\n", p.score, 100 * p.mated);
    absl::StrAppendFormat(&other, "%.9g %.9g\n", p.score, 100 * p.non_mated);
    absl::StrAppendFormat(&linkability, "%.9g %.9g\n", p.score, 100 * most * p.linkability);
  }
  figure.Line("set yrange [0:*]");
  figure.Label("x", "linkage score");
  figure.Label("y", "share of pairs, %");
  figure.Curve(other, "with boxes", Fill(kSecond), "different people");
  figure.Curve(mated, "with histeps", Style(kPlain, 2), "the same person");
  figure.Curve(linkability, "with lines", Style(kInk, 1.5, 2), "D(s), to the top: 1");
  figure.Finish();
}

}  // namespace

Json ToJson(const ProtectionStudy& study) {
  Json links = Json::array(), inversions = Json::array();
  for (const LinkRow& row : study.links) {
    Json entry = {{"stolen", Name(row.stolen)}, {"compared", row.what}};
    entry.update(LinkageJson(row.linkage));
    links.push_back(std::move(entry));
  }
  for (const InvertRow& row : study.inversions) {
    inversions.push_back({{"modality", row.modality},
                          {"learned", row.learned.cosine},
                          {"without_template", row.learned.blind},
                          {"least_squares", row.least_squares}});
  }
  const Renewal& r = study.renewal;
  Json json = {
      {"samples", study.samples},
      {"people", study.people},
      {"unlinkability", {{"links", std::move(links)}, {"recognition", study.matcher.d_sys}}},
      {"irreversibility",
       {{"stolen_key", std::move(inversions)},
        {"scores", RecoveryJson(study.from_scores)},
        {"decisions", RecoveryJson(study.from_decisions)},
        {"published", {{"scores", study.limits.scores}, {"rejections", study.limits.rejections}}}}},
      {"renewability",
       {{"key_bits", r.key_bits},
        {"auroc_before", r.auroc_before},
        {"auroc_after", r.auroc_after},
        {"score_rms", r.rms_gap},
        {"score_largest", r.largest_gap},
        {"galleries", LinkageJson(r.blocks)}}}};
  if (study.figures) json["irreversibility"]["training"] = study.figures->ToJson();
  return json;
}

std::string ToText(const ProtectionStudy& study) {
  std::string text = absl::StrCat(Scope(study), "\nunlinkability, D_sys (by chance, 97.5%):\n");
  for (const LinkRow& row : study.links) {
    absl::StrAppendFormat(&text, "  %-17s %-58s %.3f (%.3f, %.3f)\n", Name(row.stolen), row.what,
                          row.linkage.found.d_sys, row.linkage.chance, row.linkage.chance_hi);
  }
  absl::StrAppendFormat(&text, "  %-17s %-58s %.3f\n", "", "recognition itself, under one key",
                        study.matcher.d_sys);
  absl::StrAppend(&text, "irreversibility, cosine with the true vector or template:\n");
  for (const InvertRow& row : study.inversions) {
    absl::StrAppendFormat(&text,
                          "  stolen key, %s: %.2f learned (%.2f without a template), %.2f by least "
                          "squares\n",
                          row.modality, row.learned.cosine, row.learned.blind, row.least_squares);
  }
  absl::StrAppendFormat(
      &text, "the default budget: %d scores of an identity, ever; %d decisions at once\n",
      study.limits.scores, study.limits.decisions);
  for (const Recovery& row : study.from_scores) {
    absl::StrAppendFormat(&text, "  %d scores: %.2f, accepted at FMR 1e-3: %s\n", row.answers,
                          row.cosine, Percent(row.accepted[0]));
  }
  for (const Recovery& row : study.from_decisions) {
    absl::StrAppendFormat(&text, "  %d decisions: %.2f, accepted at FMR 1e-3: %s\n", row.answers,
                          row.cosine, Percent(row.accepted[0]));
  }
  if (study.figures) {
    const RecoveryFigures& figures = *study.figures;
    absl::StrAppendFormat(&text,
                          "recovery as the model's training measured it, on %d people: share of "
                          "templates that accept "
                          "the guess at FMR %g after so many\n  scores: %s\n  decisions: %s\n",
                          figures.people, kRecoveryFmr, CurveText(figures.scores),
                          CurveText(figures.decisions));
  }
  absl::StrAppend(&text, "renewability: ", RenewalText(study), "\n", kNotRenewed, "\n", kNames,
                  "\n");
  return text;
}

absl::StatusOr<std::vector<std::string>> DrawLinkability(const ProtectionStudy& study) {
  GnuplotJob job;
  Draw(&job, "without-keys", Strongest(study, Stolen::kNone));
  Draw(&job, "both-keys", Strongest(study, Stolen::kBoth));
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> drawn, RunGnuplot(job));
  std::vector<std::string> out;
  const char* const descriptions[] = {"Linkage scores without secret keys",
                                      "Linkage scores with both secret keys"};
  for (size_t i = 0; i < drawn.size(); ++i) {
    HEFT_ASSIGN_OR_RETURN(std::string svg, InlineSvg(drawn[i], descriptions[i]));
    out.push_back(std::move(svg));
  }
  return out;
}

std::string MakeProtectionPage(const ProtectionStudy& study,
                               const std::vector<std::string>& pictures,
                               const std::string& data_name, const std::string& data_description,
                               const std::string& command) {
  Page page(absl::StrCat("Template protection: ", data_name));
  page.Title("Template protection");
  if (!data_description.empty()) page.Paragraph(absl::StrCat(data_description, "."));
  page.Note(absl::StrCat(Scope(study), "."));
  page.Heading("Unlinkability");
  page.Table(LinkTable(study));
  if (pictures.size() == 2) {
    page.Figures({{pictures[0], "Without secret keys",
                   absl::StrCat("The strongest linkage among all tested functions: ",
                                Strongest(study, Stolen::kNone).what, ".")},
                  {pictures[1], "With both secret keys",
                   "Both templates decrypted: the recognition itself."}});
  }
  page.Paragraph(kNames);
  page.Heading("Irreversibility");
  page.Table(InvertTable(study));
  page.Table(LeakTable(study));
  if (study.figures) page.Table(FiguresTable(*study.figures));
  page.Heading("Renewability");
  page.Paragraph(RenewalText(study));
  page.Paragraph(kNotRenewed);
  page.Reproduce(command);
  return page.Finish();
}

}  // namespace experiment

absl::StatusOr<Report> EvaluateProtection(const TrainingData& data, const Model& model,
                                          const ProtectionOptions& options,
                                          const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const Split split, ParseSplit(options.split));
  if (options.page || options.pictures) HEFT_RETURN_IF_ERROR(CheckDrawing());
  const Dataset& dataset = Inside::Of(data).dataset;
  HEFT_ASSIGN_OR_RETURN(const experiment::ProtectionStudy found,
                        experiment::StudyProtection(monitor, dataset, model, split, options));
  Report report{experiment::ToJson(found), experiment::ToText(found)};
  if (!options.page && !options.pictures) return report;
  HEFT_ASSIGN_OR_RETURN(const auto drawn, experiment::DrawLinkability(found));
  if (options.page) {
    report.page =
        experiment::MakeProtectionPage(found, drawn, experiment::FolderName(dataset.folder),
                                       experiment::DescribeData(dataset.folder), options.command);
  }
  if (options.pictures) {
    report.pictures = {{"without-keys.svg", experiment::SvgFile(drawn[0])},
                       {"both-keys.svg", experiment::SvgFile(drawn[1])}};
  }
  return report;
}

}  // namespace heft
