// SPDX-License-Identifier: Apache-2.0
#include "features/dataset.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "features/readers.h"

namespace heft {
namespace {

namespace fs = std::filesystem;

// IsFeatureFile: by its name; a text file may still hold something else.
bool IsFeatureFile(const fs::path& path) {
  const std::string extension = path.extension().string(), name = path.stem().string();
  if (name.empty() || name[0] == '.') return false;
  if (extension == ".npy") return true;
  return extension == ".txt" && name != "labels" && name != "split" && name != "names" &&
         !absl::EndsWith(name, "_labels");
}

// Feature files of a folder as (name, path), in alphabetical order of name, and the names of text
// files that are none.
struct FolderFiles {
  std::vector<std::pair<std::string, std::string>> features;
  std::vector<std::string> left_out;
};

absl::StatusOr<FolderFiles> ListFolder(const std::string& directory) {
  FolderFiles found;
  auto& files = found.features;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const fs::path& path = it->path();
    if (!IsFeatureFile(path)) continue;
    std::error_code ignored;
    if (path.extension() == ".txt" && it->is_regular_file(ignored) &&
        !BeginsAsRows(path.string())) {
      found.left_out.push_back(path.filename().string());
      continue;
    }
    files.emplace_back(path.stem().string(), path.string());
  }
  if (error) {
    return absl::NotFoundError(
        absl::StrCat("cannot list folder ", directory, ": ", error.message()));
  }
  std::sort(files.begin(), files.end());
  std::sort(found.left_out.begin(), found.left_out.end());
  for (std::size_t i = 1; i < files.size(); ++i) {
    if (files[i].first != files[i - 1].first) continue;
    return absl::InvalidArgumentError(absl::StrCat(files[i - 1].second, " and ", files[i].second,
                                                   ": one modality, two files; remove one"));
  }
  return found;
}

absl::Status LoadModalities(const std::string& directory, Dataset& dataset) {
  HEFT_ASSIGN_OR_RETURN(FolderFiles files, ListFolder(directory));
  if (files.features.empty()) {
    return absl::NotFoundError(
        absl::StrCat(directory, ": no modality in this folder (a file NAME.npy, or NAME.txt that ",
                     "begins with a number)"));
  }
  dataset.left_out = std::move(files.left_out);
  dataset.folder = directory;
  for (const auto& [name, path] : files.features) {
    HEFT_ASSIGN_OR_RETURN(FeatureMatrix features, ReadFeatures(path));
    dataset.modalities.push_back({name, std::move(features)});
  }
  return absl::OkStatus();
}

absl::Status LoadUnpaired(const std::string& directory, Dataset& dataset) {
  if (!FileExists(directory)) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(const FolderFiles files, ListFolder(directory));
  for (const std::string& name : files.left_out) dataset.left_out.push_back("unpaired/" + name);
  for (const auto& [name, path] : files.features) {
    UnpairedModality unpaired;
    unpaired.modality.name = name;
    HEFT_ASSIGN_OR_RETURN(unpaired.modality.features, ReadFeatures(path));
    HEFT_ASSIGN_OR_RETURN(unpaired.labels,
                          ReadLabels(absl::StrCat(directory, "/", name, "_labels.txt")));
    dataset.unpaired.push_back(std::move(unpaired));
  }
  return absl::OkStatus();
}

absl::Status LoadSplit(const std::string& path, uint64_t split_seed, Dataset& dataset) {
  if (!FileExists(path)) {
    dataset.split = DeriveIdentitySplit(dataset.labels, split_seed);
    dataset.split_was_derived = true;
    return absl::OkStatus();
  }
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> names, ReadLabels(path));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const absl::StatusOr<Split> split = ParseSplit(names[i]);
    if (!split.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ", row ", i, " (from 0): ", split.status().message()));
    }
    dataset.split.push_back(*split);
  }
  return absl::OkStatus();
}

absl::Status CheckUnpaired(const UnpairedModality& unpaired, const Dataset& dataset) {
  const Modality& extra = unpaired.modality;
  for (const Modality& modality : dataset.modalities) {
    if (modality.name != extra.name) continue;
    if (modality.features.cols() != extra.features.cols()) break;
    if (extra.features.rows() != static_cast<Eigen::Index>(unpaired.labels.size())) break;
    return CheckFinite(extra.features, absl::StrCat("unpaired ", extra.name));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unpaired ", extra.name, " (", extra.features.rows(), " x ",
                   extra.features.cols(), ", ", unpaired.labels.size(),
                   " labels) needs a modality of its name and dimension, and a label per row"));
}

}  // namespace

std::vector<int> Dataset::Dimensions() const {
  std::vector<int> dimensions;
  for (const Modality& modality : modalities) dimensions.push_back(modality.features.cols());
  return dimensions;
}

int Dataset::TotalDimension() const {
  int total = 0;
  for (const Modality& modality : modalities) total += modality.features.cols();
  return total;
}

absl::Status CheckDataset(const Dataset& dataset) {
  if (dataset.modalities.empty()) {
    return absl::InvalidArgumentError("the data set has no modality");
  }
  std::set<std::string> names;
  for (const Modality& modality : dataset.modalities) {
    if (modality.features.rows() != dataset.Rows()) {
      return absl::InvalidArgumentError(absl::StrCat("modality ", modality.name, " has ",
                                                     modality.features.rows(), " rows, ",
                                                     dataset.Rows(), " labels are given"));
    }
    if (!names.insert(modality.name).second) {
      return absl::InvalidArgumentError(absl::StrCat("two modalities named ", modality.name));
    }
    HEFT_RETURN_IF_ERROR(CheckFinite(modality.features, modality.name));
  }
  for (const UnpairedModality& unpaired : dataset.unpaired) {
    HEFT_RETURN_IF_ERROR(CheckUnpaired(unpaired, dataset));
  }
  return CheckIdentitySplit(dataset.labels, dataset.split);
}

absl::StatusOr<Dataset> LoadDataset(const std::string& directory, uint64_t split_seed) {
  Dataset dataset;
  if (HoldsPublishedFiles(directory)) {
    HEFT_ASSIGN_OR_RETURN(dataset, LoadPublished(directory));
    dataset.folder = directory;
    return dataset;
  }
  HEFT_RETURN_IF_ERROR(LoadModalities(directory, dataset));
  HEFT_ASSIGN_OR_RETURN(dataset.labels, ReadLabels(absl::StrCat(directory, "/labels.txt")));
  HEFT_RETURN_IF_ERROR(LoadSplit(absl::StrCat(directory, "/split.txt"), split_seed, dataset));
  HEFT_RETURN_IF_ERROR(LoadUnpaired(absl::StrCat(directory, "/unpaired"), dataset));
  HEFT_RETURN_IF_ERROR(CheckDataset(dataset));
  return dataset;
}

std::vector<std::string> OwnLabels(std::size_t rows) {
  std::vector<std::string> labels;
  for (std::size_t row = 0; row < rows; ++row) labels.push_back(absl::StrCat("row-", row));
  return labels;
}

absl::StatusOr<Dataset> LoadUnlabelled(const std::string& directory, uint64_t split_seed) {
  if (FileExists(absl::StrCat(directory, "/labels.txt")) || HoldsPublishedFiles(directory)) {
    return LoadDataset(directory, split_seed);
  }
  Dataset dataset;
  HEFT_RETURN_IF_ERROR(LoadModalities(directory, dataset));
  dataset.labelled = false;
  dataset.labels = OwnLabels(static_cast<std::size_t>(dataset.modalities[0].features.rows()));
  dataset.split.assign(dataset.labels.size(), Split::kTrain);
  HEFT_RETURN_IF_ERROR(CheckDataset(dataset));
  return dataset;
}

absl::Status WriteDataset(const std::string& directory, const Dataset& dataset) {
  HEFT_RETURN_IF_ERROR(CheckDataset(dataset));
  HEFT_RETURN_IF_ERROR(MakeDirectories(directory));
  auto write_labels = [](const std::string& path, const std::vector<std::string>& labels) {
    std::string text;
    for (const std::string& label : labels) absl::StrAppend(&text, label, "\n");
    return WriteFileAtomic(path, std::string_view(text));
  };
  for (const Modality& modality : dataset.modalities) {
    HEFT_RETURN_IF_ERROR(
        WriteNpy(absl::StrCat(directory, "/", modality.name, ".npy"), modality.features));
  }
  HEFT_RETURN_IF_ERROR(write_labels(absl::StrCat(directory, "/labels.txt"), dataset.labels));
  std::vector<std::string> splits;
  for (Split split : dataset.split) splits.push_back(SplitName(split));
  HEFT_RETURN_IF_ERROR(write_labels(absl::StrCat(directory, "/split.txt"), splits));
  if (dataset.unpaired.empty()) return absl::OkStatus();
  HEFT_RETURN_IF_ERROR(MakeDirectories(absl::StrCat(directory, "/unpaired")));
  for (const UnpairedModality& unpaired : dataset.unpaired) {
    const std::string stem = absl::StrCat(directory, "/unpaired/", unpaired.modality.name);
    HEFT_RETURN_IF_ERROR(WriteNpy(absl::StrCat(stem, ".npy"), unpaired.modality.features));
    HEFT_RETURN_IF_ERROR(write_labels(absl::StrCat(stem, "_labels.txt"), unpaired.labels));
  }
  return absl::OkStatus();
}

Dataset SelectRows(const Dataset& dataset, std::span<const int> rows) {
  Dataset selected;
  selected.split_was_derived = dataset.split_was_derived;
  selected.norm = dataset.norm;
  selected.labelled = dataset.labelled;
  selected.folder = dataset.folder;
  for (const Modality& modality : dataset.modalities) {
    FeatureMatrix features(rows.size(), modality.features.cols());
    for (std::size_t i = 0; i < rows.size(); ++i) features.row(i) = modality.features.row(rows[i]);
    selected.modalities.push_back({modality.name, std::move(features)});
  }
  for (int row : rows) {
    selected.labels.push_back(dataset.labels[row]);
    selected.split.push_back(dataset.split[row]);
  }
  return selected;
}

}  // namespace heft
