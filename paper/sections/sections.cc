// SPDX-License-Identifier: Apache-2.0
#include "paper/sections/sections.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace heft::paper {

std::span<const SectionSpec> AllSections() {
  static const auto& sections = *new std::vector<SectionSpec>{
      {{"encodings"}, Encodings},
      {{"projection"}, Projections},
      {{"fig5"}, Approximations},
      {{"fig9"}, ErrorAgainstDepth},
      {{"normalisation"}, Normalisations},
      {{"table1"}, OperationCounting},
      {{"fig6b", "fig6c"}, Scaling},
      {{"table2", "fig6a"}, Recognition},
      {{"fig6d"}, GammaAblation},
      {{"table4", "fig10"}, Appendix},
      {{"table3"}, Latency},
      {{"protocols", "matching"}, Protocols},
      {{"footnotes"}, Footnotes},
  };
  return sections;
}

absl::StatusOr<std::vector<SectionSpec>> ChooseSections(const std::string& only) {
  const std::span<const SectionSpec> all = AllSections();
  if (only.empty()) return std::vector<SectionSpec>(all.begin(), all.end());
  std::vector<std::string> names;
  for (const SectionSpec& spec : all) {
    names.insert(names.end(), spec.names.begin(), spec.names.end());
  }
  const std::vector<std::string> wanted = absl::StrSplit(only, ',');
  for (const std::string& name : wanted) {
    if (std::count(names.begin(), names.end(), name) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("no section \"", name, "\": choose of ", absl::StrJoin(names, ", ")));
    }
  }
  std::vector<SectionSpec> chosen;
  for (const SectionSpec& spec : all) {
    const bool is_wanted =
        std::any_of(spec.names.begin(), spec.names.end(), [&](const std::string& name) {
          return std::count(wanted.begin(), wanted.end(), name) > 0;
        });
    if (is_wanted) chosen.push_back(spec);
  }
  return chosen;
}

}  // namespace heft::paper
