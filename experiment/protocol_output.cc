// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiment/page.h"
#include "experiment/protocol_run.h"
#include "experiment/reports.h"

namespace heft::experiment {
namespace {

std::string Summary(const GroupResult& g) {
  return absl::StrFormat(
      "%s: %d references of %d subjects (of at most %d samples), %d probes, %d of them by people "
      "who are not enrolled; %d genuine and %d impostor comparisons",
      g.name, g.references, g.subjects, g.most_samples, g.probes, g.strangers, g.genuine,
      g.impostor);
}

Json GroupJson(const GroupResult& g, bool encrypted) {
  Json json = {{"group", g.name},
               {"references", g.references},
               {"subjects", g.subjects},
               {"most_samples", g.most_samples},
               {"probes", g.probes},
               {"probes_of_strangers", g.strangers},
               {"genuine", g.genuine},
               {"impostor", g.impostor},
               {"eer", EstimateJson(g.rates.eer)},
               {"fnmr_at_fmr_1e-2", EstimateJson(g.rates.fnmr_1e2)},
               {"fnmr_at_fmr_1e-3", EstimateJson(g.rates.fnmr_1e3)},
               {"by_model", JudgementJson(g.by_model)}};
  if (g.by_dev) {
    json["by_dev"] = JudgementJson(*g.by_dev);
    json["half_total_error_rate"] = g.half_total_error;
  }
  if (encrypted) json["largest_gap"] = g.largest_gap;
  return json;
}

}  // namespace

Json ToJson(const ProtocolResult& result) {
  Json groups = Json::array();
  for (const GroupResult& g : result.groups) {
    groups.push_back(GroupJson(g, result.options.encrypted));
  }
  return {
      {"encrypted", result.options.encrypted}, {"groups", groups}, {"warnings", result.warnings}};
}

std::string ToText(const ProtocolResult& result) {
  std::string text;
  for (const GroupResult& g : result.groups) {
    absl::StrAppend(&text, Summary(g), "\nEER ", EstimateText(g.rates.eer), ", FNMR at FMR 1e-2 ",
                    EstimateText(g.rates.fnmr_1e2), ", at 1e-3 ", EstimateText(g.rates.fnmr_1e3),
                    "\n");
    if (result.options.encrypted) {
      absl::StrAppendFormat(&text, "encrypted scores differ from plain ones by at most %.1e\n",
                            g.largest_gap);
    }
    if (g.by_dev) {
      absl::StrAppendFormat(&text, "half total error rate at dev's EER threshold: %.4f\n",
                            g.half_total_error);
      absl::StrAppend(&text, "thresholds and calibration fitted on dev:\n",
                      JudgementText(*g.by_dev));
    }
    absl::StrAppend(&text, "the model's own:\n", JudgementText(g.by_model), "\n");
  }
  return text;
}

absl::StatusOr<std::string> MakeProtocolReport(const ProtocolResult& result,
                                               const std::string& data_name) {
  Page page(absl::StrCat("HEFT: protocol, ", data_name));
  page.Title(absl::StrCat("HEFT: a protocol on ", data_name));
  page.Note(result.options.encrypted ? "Scores were computed under encryption." : "Plain scores.");
  if (!result.warnings.empty()) page.List(result.warnings, "warnings");
  for (const GroupResult& g : result.groups) {
    page.Heading(absl::StrCat("Group ", g.name));
    page.Paragraph(Summary(g) + ".");
    PageFacts facts = {{"EER", EstimateText(g.rates.eer)},
                       {"FNMR at FMR 1e-2 of the group itself", EstimateText(g.rates.fnmr_1e2)},
                       {"FNMR at FMR 1e-3 of the group itself", EstimateText(g.rates.fnmr_1e3)}};
    if (g.by_dev) {
      facts.emplace_back("Half total error rate at dev's EER threshold",
                         Fixed(g.half_total_error, 4));
    }
    if (result.options.encrypted) {
      facts.emplace_back("Encrypted minus plain score, largest", Significant(g.largest_gap));
    }
    page.Facts(facts);
    if (g.by_dev) {
      HEFT_ASSIGN_OR_RETURN(const std::vector<PageFigure> figures, DrawJudgement(*g.by_dev));
      AddJudgement(*g.by_dev, figures, page, absl::StrCat("Decided by dev, on ", g.name));
    }
    HEFT_ASSIGN_OR_RETURN(const std::vector<PageFigure> figures, DrawJudgement(g.by_model));
    AddJudgement(g.by_model, figures, page, absl::StrCat("Decided by the model, on ", g.name));
  }
  page.Reproduce(result.options.command);
  return page.Finish();
}

}  // namespace heft::experiment
