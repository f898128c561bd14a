// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "experiment/judgement.h"
#include "experiment/page.h"
#include "experiment/reports.h"

namespace heft::experiment {
namespace {

Json CheckJson(const RateCheck& check, const char* rate, const char* missed) {
  Json json = {{"asked", check.asked}};
  if (!check.refused.empty()) {
    json["refused"] = check.refused;
    json[absl::StrCat(missed, "_allowed")] = check.allowed_missed;
    return json;
  }
  json["threshold"] = check.threshold;
  json["predicted"] = {check.predicted.lo, check.predicted.hi};
  json[rate] = EstimateJson(check.measured);
  json["ratio"] = EstimateJson(check.ratio);
  json["verdict"] = VerdictName(check.verdict());
  json[missed] = EstimateJson(check.missed);
  json[absl::StrCat(missed, "_allowed")] = check.allowed_missed;
  if (check.wolf) json["wolf"] = *check.wolf;
  const double over = check.MissedOverAllowed();
  json[absl::StrCat(missed, "_over_allowed")] = std::isfinite(over) ? Json(over) : Json();
  return json;
}

Json EvidenceJson(const EvidenceQuality& evidence) {
  Json bins = Json::array();
  for (const EvidenceBin& bin : evidence.reliability) {
    Json entry = {{"stated", bin.stated}, {"genuine", bin.genuine}, {"impostor", bin.impostor}};
    if (std::isfinite(bin.observed)) entry["observed"] = bin.observed;
    if (std::isfinite(bin.lo)) entry["lo"] = bin.lo;
    if (std::isfinite(bin.hi)) entry["hi"] = bin.hi;
    bins.push_back(std::move(entry));
  }
  return {{"cllr", EstimateJson(evidence.cllr)},
          {"minimum", EstimateJson(evidence.minimum)},
          {"loss", EstimateJson(evidence.loss)},
          {"reliability", bins}};
}

// FNIR at the thresholds where FPIR is the powers of ten, and match rates at some ranks.
Json CurveJson(const SearchCurve& curve) {
  const SearchErrors& e = curve.errors;
  Json points = Json::array();
  double last = 2;
  for (size_t k = 0; k < e.thresholds.size(); ++k) {
    if (e.fpir[k] > last / 1.1 && k + 1 < e.thresholds.size()) continue;  // a tenth apart
    points.push_back({{"threshold", e.thresholds[k]}, {"fpir", e.fpir[k]}, {"fnir", e.fnir[k]}});
    last = e.fpir[k];
  }
  Json ranks = Json::array();
  for (size_t k = 0; k < std::min<size_t>(e.match_rates.size(), 20); ++k) {
    ranks.push_back(e.match_rates[k]);
  }
  return {{"templates", curve.templates},
          {"searches_of_strangers", e.strangers},
          {"searches_of_enrolled", e.mated},
          {"points", points},
          {"match_rate_by_rank", ranks}};
}

std::string Rate(double rate) { return absl::StrFormat("%.3g", rate); }
std::string RateText(const Estimate& e) {
  return absl::StrFormat("%.3g [%.2g, %.2g]", e.value, e.lo, e.hi);
}
std::string RateCell(const Estimate& e) {
  return WithInterval(Rate(e.value), Rate(e.lo), Rate(e.hi));
}
const char* VerdictText(const RateCheck& check) {
  switch (check.verdict()) {
    case Verdict::kHolds:
      return "holds";
    case Verdict::kDoesNotHold:
      return "DOES NOT HOLD";
    case Verdict::kTooFewPeople:
      return "too few people to tell";
  }
  return "";
}
// What the threshold costs over what the ROC of these people allows.
std::string OverAllowed(const RateCheck& check) {
  const double over = check.MissedOverAllowed();
  return std::isfinite(over) ? absl::StrFormat("%.2f", over) : "infinite";
}

std::string CheckText(const RateCheck& check, const char* rate, const char* missed) {
  if (!check.refused.empty()) {
    return absl::StrFormat("requested %s %g: refused: %s; the ROC allows %s %.3g\n", rate,
                           check.asked, check.refused, missed, check.allowed_missed);
  }
  return absl::StrFormat(
      "requested %s %g: %s, divided by the requested rate %s: %s; %s %s, the ROC allows %.3g "
      "(times %s)\n",
      rate, check.asked, RateText(check.measured), RateText(check.ratio), VerdictText(check),
      missed, RateText(check.missed), check.allowed_missed, OverAllowed(check));
}

// A wolf's rate beside the asked one; empty if no wolf was learned.
std::string WolfText(const RateCheck& check) {
  if (!check.wolf) return "";
  return absl::StrFormat("%.3g, %.1f times the rate", *check.wolf, *check.wolf / check.asked);
}

std::vector<std::string> CheckCells(const RateCheck& check) {
  std::vector<std::string> cells = {Rate(check.asked)};
  if (!check.refused.empty()) {
    cells.push_back(absl::StrCat("refused: ", EscapeHtml(check.refused)));
    cells.resize(5);
    cells.push_back(absl::StrCat("the ROC allows ", Rate(check.allowed_missed)));
    cells.resize(7);
    return cells;
  }
  cells.push_back(Fixed(check.threshold, 3));
  cells.push_back(RateCell(check.measured));
  cells.push_back(RateCell(check.ratio));
  const bool broken = check.verdict() == Verdict::kDoesNotHold;
  cells.push_back(broken ? "<span class=\"loss\">does not hold</span>" : VerdictText(check));
  cells.push_back(RateCell(check.missed));
  cells.push_back(OverAllowed(check));
  return cells;
}

// CheckColumns: of the cells of CheckCells.
std::vector<PageTable::Column> CheckColumns() {
  return {{"Requested FMR"},         {"Threshold", true}, {"FMR here"},
          {"Relative to requested"}, {"Verdict"},         {"FNMR here"},
          {"Relative to the ROC’s"}};
}

void AddComparisons(const Judgement& judgement, Page& page) {
  PageTable table{CheckColumns()};
  const bool wolves = judgement.wolf_people > 0;
  if (wolves) table.columns.push_back({"A wolf"});
  for (const RateCheck& check : judgement.comparisons) {
    table.rows.push_back({CheckCells(check)});
    if (wolves) table.rows.back().cells.push_back(WolfText(check));
  }
  table.caption = absl::StrCat(
      judgement.thresholds,
      " on people who did not train the model, with 95% intervals by resampling people. “Relative "
      "to requested” also includes the uncertainty of the threshold's fit. A threshold holds if "
      "that interval contains 1 and is narrower than a factor of ",
      kWidest,
      " in both directions. It does not hold if the interval excludes 1. Otherwise there are too "
      "few people to tell. “Relative to the ROC’s”: FNMR at the threshold, divided by the least "
      "FNMR of any threshold that keeps the requested FMR on these people.");
  if (wolves) {
    absl::StrAppend(&table.caption,
                    " “A wolf”: the wolf attack probability (Une, Otsuka and Imai, ",
                    "2007), the share of the templates of ", judgement.wolf_people,
                    " people that accept one probe, which an attacker learned from the model's ",
                    "training people.");
  }
  page.Table(table);
}

void AddPartial(const Judgement& judgement, Page& page) {
  if (judgement.partial.empty()) return;
  PageTable table{CheckColumns()};
  table.columns.insert(table.columns.begin(), {"Probes of"});
  for (const PartialCheck& partial : judgement.partial) {
    for (const RateCheck& check : partial.comparisons) {
      std::vector<std::string> cells = {EscapeHtml(absl::StrJoin(partial.modalities, ", "))};
      for (std::string& cell : CheckCells(check)) cells.push_back(std::move(cell));
      table.rows.push_back({std::move(cells)});
    }
  }
  table.caption =
      "Probes with these modalities alone against templates with all of them, computed in the "
      "clear. The model has thresholds of its own for each set of modalities.";
  page.Subheading("Probes that lack modalities");
  page.Table(table);
}

void AddEvidence(const EvidenceQuality& evidence, Page& page) {
  page.Facts({{"Cllr of the log-likelihood ratios, bits", EstimateText(evidence.cllr)},
              {"Its minimum, with the best map from scores", EstimateText(evidence.minimum)},
              {"Lost in calibration", EstimateText(evidence.loss)}});
}

}  // namespace

std::vector<std::string> BrokenPromises(const Judgement& judgement) {
  std::vector<std::string> sentences;
  // `strict`: what a threshold does that is stricter than it need be.
  const auto add = [&](const RateCheck& check, const std::string& rate, const std::string& strict) {
    if (!check.refused.empty() || check.verdict() != Verdict::kDoesNotHold) return;
    const std::string harm = check.ratio.lo > 1 ? "Do not decide by it"
                             : check.missed.value > check.allowed_missed
                                 ? absl::StrFormat("%s %.3g, although %.3g is possible", strict,
                                                   check.missed.value, check.allowed_missed)
                                 : "It is stricter than requested, at no cost for these people";
    sentences.push_back(
        absl::StrFormat("THE THRESHOLD FOR %s DOES NOT HOLD: on these people the rate is %s, %s "
                        "times the requested one. %s. Fit thresholds on people like these (heft "
                        "calibrate --data), or train with more of them",
                        rate, RateText(check.measured), RateText(check.ratio), harm));
  };
  for (const RateCheck& check : judgement.comparisons) {
    add(check, absl::StrFormat("FMR %g", check.asked),
        "It rejects genuine claims unnecessarily: FNMR");
  }
  for (const PartialCheck& partial : judgement.partial) {
    for (const RateCheck& check : partial.comparisons) {
      add(check,
          absl::StrFormat("FMR %g OF PROBES WITH %s ALONE", check.asked,
                          absl::StrJoin(partial.modalities, ", ")),
          "It rejects genuine claims unnecessarily: FNMR");
    }
  }
  for (const SearchCheck& search : judgement.searches) {
    add(search.rate,
        absl::StrFormat("FPIR %g (%d people, templates of each: %d)", search.rate.asked,
                        search.people, search.templates),
        "It misses enrolled people unnecessarily: FNIR");
  }
  return sentences;
}

Json JudgementJson(const Judgement& judgement) {
  Json json = {{"comparisons", Json::array()},
               {"partial_probes", Json::array()},
               {"searches", Json::array()}};
  for (const RateCheck& check : judgement.comparisons) {
    json["comparisons"].push_back(CheckJson(check, "fmr", "fnmr"));
  }
  for (const PartialCheck& partial : judgement.partial) {
    Json checks = Json::array();
    for (const RateCheck& check : partial.comparisons) {
      checks.push_back(CheckJson(check, "fmr", "fnmr"));
    }
    json["partial_probes"].push_back(
        {{"modalities", partial.modalities}, {"comparisons", std::move(checks)}});
  }
  for (const SearchCheck& search : judgement.searches) {
    Json entry = {{"templates", search.templates}, {"people", search.people}};
    entry.update(CheckJson(search.rate, "fpir", "fnir"));
    json["searches"].push_back(std::move(entry));
  }
  if (judgement.wolf_people > 0) json["wolf_people"] = judgement.wolf_people;
  if (!judgement.no_searches.empty()) json["no_searches"] = judgement.no_searches;
  json["search_curves"] = Json::array();
  for (const SearchCurve& curve : judgement.curves) {
    json["search_curves"].push_back(CurveJson(curve));
  }
  if (judgement.evidence) json["evidence"] = EvidenceJson(*judgement.evidence);
  return json;
}

std::string JudgementText(const Judgement& judgement) {
  std::string text;
  for (const RateCheck& check : judgement.comparisons) {
    absl::StrAppend(&text, CheckText(check, "FMR", "FNMR"));
    if (!check.wolf) continue;
    absl::StrAppend(&text, "  wolf attack probability there: ", WolfText(check), " (",
                    judgement.wolf_people, " people)\n");
  }
  if (judgement.evidence) {
    const EvidenceQuality& e = *judgement.evidence;
    absl::StrAppend(&text, "Cllr ", EstimateText(e.cllr), ", minimum ", EstimateText(e.minimum),
                    ", lost in calibration ", EstimateText(e.loss), "\n");
  }
  for (const PartialCheck& partial : judgement.partial) {
    for (const RateCheck& check : partial.comparisons) {
      absl::StrAppend(&text, "probes with ", absl::StrJoin(partial.modalities, ", "), " alone, ",
                      CheckText(check, "FMR", "FNMR"));
    }
  }
  for (const SearchCheck& search : judgement.searches) {
    absl::StrAppendFormat(&text, "search among %d people with %d: %s", search.people,
                          search.templates, CheckText(search.rate, "FPIR", "FNIR"));
  }
  for (const SearchCurve& curve : judgement.curves) {
    absl::StrAppendFormat(&text, "found first, with %d enrolled, at any score: %.4f\n",
                          curve.templates, curve.errors.match_rates[0]);
  }
  if (!judgement.no_searches.empty()) absl::StrAppend(&text, judgement.no_searches, "\n");
  return text;
}

void AddSearches(const Judgement& judgement, Page& page) {
  if (judgement.searches.empty() && judgement.no_searches.empty()) return;
  page.Subheading("Searches by strangers");
  if (!judgement.no_searches.empty()) return page.Note(judgement.no_searches + ".");
  PageTable table{{{"Templates per person"},
                   {"People enrolled"},
                   {"Requested FPIR"},
                   {"Threshold", true},
                   {"FPIR here"},
                   {"Relative to requested"},
                   {"Verdict"},
                   {"FNIR here"},
                   {"Relative to the ROC’s"}}};
  for (const SearchCheck& search : judgement.searches) {
    std::vector<std::string> cells = {absl::StrCat(search.templates), absl::StrCat(search.people)};
    for (std::string& cell : CheckCells(search.rate)) cells.push_back(std::move(cell));
    table.rows.push_back({std::move(cells)});
  }
  table.caption =
      judgement.searches_of +
      " FPIR: the share of strangers' searches that return a name. FNIR: the share of enrolled "
      "people's searches that do not return the right name (ISO/IEC 19795-1). Intervals are from "
      "leaving out one person at a time. “Relative to the ROC’s”: FNIR divided by the least FNIR "
      "of any threshold that keeps the requested FPIR in these searches.";
  page.Table(table);
}

void AddJudgement(const Judgement& judgement, const std::vector<PageFigure>& figures, Page& page,
                  const std::string& heading) {
  page.Heading(heading);
  AddComparisons(judgement, page);
  if (judgement.evidence) AddEvidence(*judgement.evidence, page);
  AddPartial(judgement, page);
  AddSearches(judgement, page);
  page.Figures(figures);
}

}  // namespace heft::experiment
