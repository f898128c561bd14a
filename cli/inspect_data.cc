// SPDX-License-Identifier: Apache-2.0
// heft inspect for data: a data folder, vectors, labels.
#include <filesystem>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands.h"
#include "heft/dataset.h"
#include "heft/inspect.h"
#include "program/common.h"

namespace heft::cli {
namespace {

// A folder with labels.txt or with vectors, and no gallery.
bool IsData(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return false;
  if (std::filesystem::exists(path + "/labels.txt", ignored)) return true;
  for (const auto& entry : std::filesystem::directory_iterator(path, ignored)) {
    if (entry.path().extension() == ".npy") return true;
  }
  return false;
}

absl::StatusOr<Described> DescribeData(const std::string& path) {
  std::error_code ignored;
  const bool labelled = std::filesystem::exists(path + "/labels.txt", ignored);
  HEFT_ASSIGN_OR_RETURN(const TrainingData data,
                        labelled ? TrainingData::Load(path) : TrainingData::LoadUnlabelled(path));
  const std::set<std::string> people(data.labels().begin(), data.labels().end());
  Described told{{{"kind", "data folder"}, {"samples", data.size()}, {"labelled", labelled}}};
  std::vector<std::string> modalities;
  for (size_t i = 0; i < data.modalities().size(); ++i) {
    told.json["modalities"].push_back(
        {{"name", data.modalities()[i]}, {"dimension", data.dimensions()[i]}});
    modalities.push_back(absl::StrCat(data.modalities()[i], " (", data.dimensions()[i], ")"));
  }
  if (labelled) told.json["identities"] = people.size();
  told.text = absl::StrCat("data folder: ", data.size(), " samples of ",
                           labelled ? absl::StrCat(people.size(), " identities") : "unnamed people",
                           ", ", absl::StrJoin(modalities, ", "), "\n");
  return told;
}

absl::StatusOr<Described> DescribeVectors(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const FeatureRows rows, ReadVectors(path));
  return Described{
      {{"kind", "vectors"}, {"rows", rows.size()}, {"dimension", rows.dimension}},
      absl::StrCat("vectors: ", rows.size(), " rows of ", rows.dimension, " numbers\n")};
}

// Of a file that says which part of a data set each row belongs to.
absl::StatusOr<Described> DescribeSplit(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> rows, ReadLabels(path));
  std::map<std::string, size_t> parts;
  for (const std::string& part : rows) ++parts[part];
  Described told{{{"kind", "split"}, {"rows", rows.size()}},
                 absl::StrCat("split: ", rows.size(), " rows")};
  for (const auto& [part, count] : parts) {
    told.json["parts"][part] = count;
    absl::StrAppend(&told.text, ", ", count, " ", part);
  }
  told.text += "\n";
  return told;
}

absl::StatusOr<Described> DescribeLabels(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> labels, ReadLabels(path));
  const std::set<std::string> different(labels.begin(), labels.end());
  return Described{
      {{"kind", "labels"}, {"rows", labels.size()}, {"identities", different.size()}},
      absl::StrCat("labels: ", labels.size(), " rows, ", different.size(), " identities\n")};
}

}  // namespace

absl::StatusOr<Described> DescribeAnything(const std::string& path, bool with_plan,
                                           const Trust* trust) {
  if (trust == nullptr && IsData(path)) return DescribeData(path);
  auto described = DescribeFile(path, with_plan, trust);
  if (trust != nullptr || described.ok() || !absl::IsDataLoss(described.status())) return described;
  if (path.ends_with(".npy") || path.ends_with(".npz")) return DescribeVectors(path);
  const std::string name = std::filesystem::path(path).filename();
  if (!path.ends_with(".txt") || name == "workspace.txt") return described;
  if (name == "split.txt") return DescribeSplit(path);
  // Labels may be numbers. A data folder has them under this name.
  if (name == "labels.txt") return DescribeLabels(path);
  if (auto vectors = DescribeVectors(path); vectors.ok()) return vectors;
  return DescribeLabels(path);
}

}  // namespace heft::cli
