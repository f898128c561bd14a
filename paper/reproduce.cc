// SPDX-License-Identifier: Apache-2.0
#include "paper/reproduce.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "experiment/evaluation.h"
#include "experiment/figure.h"
#include "experiment/stopwatch.h"
#include "features/dataset.h"
#include "paper/sections/sections.h"

namespace heft::paper {
namespace {

// SyntheticPeople: of the paper's number, or fewer.
SyntheticOptions SyntheticPeople(const ReproductionOptions& options) {
  SyntheticOptions people = PaperSize();
  people.seed = options.seed;
  if (options.quick) {
    people.identities = 60;
    people.all_pairs_of = {120, 600};
  }
  return people;
}

absl::StatusOr<Study> LoadStudy(const Monitor& monitor, const ReproductionOptions& options) {
  Study study{.monitor = monitor};
  study.synthetic = options.data.empty();
  if (study.synthetic) {
    HEFT_ASSIGN_OR_RETURN(study.data, SynthesiseDataset(SyntheticPeople(options)));
    study.data_name = "synthetic data";
    study.data_description =
        "vectors made up with the paper’s number of people and samples and statistics tuned to its "
        "AUROCs; no real people";
    if (options.quick) study.data_description += "; --quick: fewer of them";
  } else {
    HEFT_ASSIGN_OR_RETURN(study.data, LoadDataset(options.data, options.seed));
    study.data_name = experiment::FolderName(options.data);
    study.data_description = experiment::DescribeData(options.data);
  }
  study.quick = options.quick;
  study.seed = options.seed;
  study.exact_projection = options.exact_projection;
  study.aware_projection = options.aware_projection;
  study.effort = options.quick ? QuickEffort() : FullEffort();
  return study;
}

}  // namespace

absl::Status CheckPagePath(const std::string& page) {
  if (!absl::EndsWith(page, ".html")) {
    return absl::InvalidArgumentError(
        absl::StrCat(page, ": the report is a page, give it a name that ends in .html"));
  }
  const std::filesystem::path folder = std::filesystem::absolute(page).parent_path();
  if (!std::filesystem::is_directory(folder)) {
    return absl::NotFoundError(absl::StrCat(folder.string(), ": no such folder for the report"));
  }
  return experiment::CheckGnuplot();
}

std::string JsonPath(const std::string& page) {
  return std::filesystem::path(page).replace_extension(".json").string();
}

absl::StatusOr<Reproduction> Reproduce(const Monitor& monitor, const ReproductionOptions& options) {
  const experiment::Stopwatch watch;
  HEFT_ASSIGN_OR_RETURN(const auto chosen, ChooseSections(options.only));
  if (options.exact_projection.empty() != options.aware_projection.empty()) {
    return absl::InvalidArgumentError(
        "give both published matrices, --exact-projection and --aware-projection, or none");
  }
  HEFT_ASSIGN_OR_RETURN(const Study study, LoadStudy(monitor, options));
  if (options.left_out) options.left_out(study.data.left_out);
  const std::set<std::string> people(study.data.labels.begin(), study.data.labels.end());
  Reproduction result{.data_name = study.data_name,
                      .data_description = study.data_description,
                      .samples = study.data.Rows(),
                      .identities = static_cast<int>(people.size()),
                      .quick = options.quick,
                      .machine = experiment::Machine()};
  for (const Modality& m : study.data.modalities) {
    result.modalities.emplace_back(m.name, static_cast<int>(m.features.cols()));
  }
  for (const SectionSpec& spec : chosen) {
    const experiment::Stopwatch own;
    HEFT_ASSIGN_OR_RETURN(Section section, spec.make(study));
    HEFT_RETURN_IF_ERROR(CheckNotStopped(monitor));
    section.seconds = own.Seconds();
    result.sections.push_back(std::move(section));
  }
  result.seconds = watch.Seconds();
  return result;
}

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
