// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "experiment/gallery_search.h"
#include "experiment/page.h"

namespace heft::experiment {
namespace {

std::string Summary(const GallerySearch& search) {
  return absl::StrCat(
      search.people, " people are enrolled with one sample each; ", search.mated,
      " searches by enrolled people, ", search.strangers, " searches by strangers",
      search.left_out ? ", who are the distractors, each with its own template left out" : "");
}

double FoundFirst(const GalleryRow& row) { return row.judgement.curves[0].errors.match_rates[0]; }

}  // namespace

std::vector<std::string> GalleryWarnings(const GallerySearch& search) {
  return search.rows.empty() ? std::vector<std::string>()
                             : BrokenPromises(search.rows[0].judgement);
}

Json ToJson(const GallerySearch& search) {
  Json rows = Json::array();
  for (const GalleryRow& row : search.rows) {
    const Json judged = JudgementJson(row.judgement);
    rows.push_back({{"id", row.system.id},
                    {"label", row.system.label},
                    {"dimension", row.system.dimension},
                    {"encrypted", row.system.encrypted},
                    {"calibrated_on", row.calibrated_on},
                    {"found_first", FoundFirst(row)},
                    {"searches", judged["searches"]},
                    {"curve", judged["search_curves"][0]}});
  }
  Json json = {{"split", search.options.split},
               {"people", search.people},
               {"searches_of_enrolled", search.mated},
               {"searches_of_strangers", search.strangers},
               {"strangers_are_distractors", search.left_out},
               {"systems", rows},
               {"warnings", GalleryWarnings(search)}};
  if (search.options.encrypted) json["largest_gap"] = search.largest_gap;
  return json;
}

std::string ToText(const GallerySearch& search) {
  std::string text = Summary(search) + "\n";
  for (const GalleryRow& row : search.rows) {
    absl::StrAppend(&text, "\n", row.system.label, " (", row.system.dimension, "-D), thresholds ",
                    row.calibrated_on, "\n", JudgementText(row.judgement));
  }
  return text;
}

std::string MakeGalleryReport(const GallerySearch& search) {
  Page page(absl::StrCat("HEFT: searches on ", search.data_name));
  page.Title(absl::StrCat("HEFT: searches of a large gallery on ", search.data_name));
  if (!search.data_description.empty()) {
    page.Paragraph(absl::StrCat("Data: ", search.data_description, "."));
  }
  page.Note(Summary(search) + ".");
  page.List(GalleryWarnings(search), "losses");
  for (const GalleryRow& row : search.rows) {
    page.Heading(row.system.label);
    page.Note(absl::StrCat(row.system.dimension, "-D. Thresholds were fitted ", row.calibrated_on,
                           ". At any score, ", Percent(FoundFirst(row)),
                           " of enrolled people are found first."));
    AddSearches(row.judgement, page);
  }
  page.Reproduce(search.options.command);
  return page.Finish();
}

}  // namespace heft::experiment
