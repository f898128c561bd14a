// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "absl/strings/str_cat.h"
#include "cli/gallery_commands.h"
#include "program/metadata_options.h"

namespace heft::cli {
namespace {

struct Options {
  std::string gallery;
  size_t from = 0, count = 0;
  std::vector<std::string> where;
};

Json TemplateJson(const ListedTemplate& t) {
  Json metadata = Json::array();
  for (const MetadataPair& pair : t.metadata) metadata.push_back(pair.key + "=" + pair.value);
  return {{"position", t.position},     {"identity", t.identity}, {"person", t.person},
          {"generation", t.generation}, {"enrolled", t.enrolled}, {"expires", t.expires},
          {"metadata", metadata}};
}

std::string TemplateText(const ListedTemplate& t) {
  std::string text = absl::StrCat(t.position, "\t", t.identity, "\t", t.person, "\t",
                                  TimeText(t.enrolled, "unknown"), "\t", TimeText(t.expires));
  for (const MetadataPair& pair : t.metadata)
    absl::StrAppend(&text, "\t", pair.key, "=", pair.value);
  return text;
}

// Written as it is read: a gallery may be larger than memory.
absl::Status Run(const Common& common, const Options& options) {
  ListOptions list;
  list.from = options.from;
  list.count = options.count;
  HEFT_ASSIGN_OR_RETURN(list.where, ParseWhere(options.where));
  const char* before = common.json ? "{\"templates\": [\n" : "";
  const auto next = ListTemplates(options.gallery, list, [&](const ListedTemplate& t) {
    std::cout << before << (common.json ? TemplateJson(t).dump(-1) : TemplateText(t) + "\n");
    before = common.json ? ",\n" : "";
    if (Interrupted()) return absl::CancelledError("interrupted");
    return std::cout ? absl::OkStatus() : absl::UnavailableError("cannot write to stdout");
  });
  HEFT_RETURN_IF_ERROR(next.status());
  if (common.json) {
    std::cout << (*before == ',' ? "" : before)
              << "\n], \"next\": " << (*next ? absl::StrCat(**next) : "null") << "}\n";
  } else if (*next) {
    std::cerr << "heft: there are more: --from " << **next << "\n";
  }
  return absl::OkStatus();
}

}  // namespace

void AddGalleryList(Command group) {
  const auto [command, options] = AddCommand(
      group, "list", "list who stands in a gallery, page by page",
      "heft-server gallery list --gallery gallery --from 0 --count 100 --where site=berlin", Run);
  command.Add("-g,--gallery", &options->gallery, kGalleryHelp).Required();
  command.Add("--from", &options->from, "position to begin at").ShowDefault();
  command.Add("--count", &options->count, "so many at most; 0: all").ShowDefault();
  AddWhere(command, &options->where);
}

}  // namespace heft::cli
