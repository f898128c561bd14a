// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "features/dataset.h"
#include "features/readers.h"

namespace heft {
namespace {

namespace fs = std::filesystem;

constexpr int kRowsAnIdentity = 2;  // of the modality without labels
constexpr Split kSplitOrder[] = {Split::kValidation, Split::kTest, Split::kTrain};

// The folder's text files as extracted: stems of the two modalities, if that is what they are.
struct Extracted {
  std::string unlabelled, labelled;
  bool Found() const { return !unlabelled.empty() && !labelled.empty(); }
};

Extracted FindExtracted(const std::string& directory) {
  std::set<std::string> stems;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const fs::path& path = it->path();
    if (path.extension() != ".txt") continue;
    const std::string stem = path.stem().string();
    if (absl::EndsWith(stem, "_labels") || BeginsAsRows(path.string())) stems.insert(stem);
  }
  Extracted found;
  for (const std::string& stem : stems) {
    if (absl::EndsWith(stem, "_labels")) continue;
    std::string& name = stems.count(stem + "_labels") ? found.labelled : found.unlabelled;
    if (!name.empty()) return {};  // more than two modalities: some other form
    name = stem;
  }
  return found;
}

std::string PairedFile(const std::string& directory, const char* what, Split split) {
  return absl::StrCat(directory, "/", what, "_values_", SplitName(split), ".txt");
}

absl::StatusOr<Dataset> LoadExtracted(const std::string& directory, const Extracted& names) {
  const auto path = [&](const std::string& name) {
    return absl::StrCat(directory, "/", name, ".txt");
  };
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix faces, ReadTextRows(path(names.unlabelled)));
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix voices, ReadTextRows(path(names.labelled)));
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> labels,
                        ReadLabels(path(names.labelled + "_labels")));
  if (static_cast<Eigen::Index>(labels.size()) != voices.rows()) {
    return absl::InvalidArgumentError(absl::StrCat(path(names.labelled), " has ", voices.rows(),
                                                   " rows, ", labels.size(), " labels are given"));
  }
  std::map<std::string, std::vector<int>> samples;  // by label, in order
  for (std::size_t i = 0; i < labels.size(); ++i) samples[labels[i]].push_back(static_cast<int>(i));
  const int identities = static_cast<int>(samples.size());
  if (faces.rows() < kRowsAnIdentity * identities) {
    return absl::InvalidArgumentError(
        absl::StrCat(path(names.unlabelled), " has ", faces.rows(), " rows, need ", kRowsAnIdentity,
                     " for each of the ", identities, " labels of the other modality"));
  }
  Dataset dataset;
  std::vector<int> face_rows, voice_rows;
  std::vector<std::string> face_labels;
  int identity = 0;
  for (const auto& [label, rows] : samples) {
    const Split split = 5 * identity < identities       ? Split::kValidation
                        : 5 * identity < 2 * identities ? Split::kTest
                                                        : Split::kTrain;
    face_labels.insert(face_labels.end(), kRowsAnIdentity, label);
    for (int voice : rows) {
      for (int face = 0; face < kRowsAnIdentity; ++face) {
        face_rows.push_back(kRowsAnIdentity * identity + face);
        voice_rows.push_back(voice);
        dataset.labels.push_back(label);
        dataset.split.push_back(split);
      }
    }
    ++identity;
  }
  const FeatureMatrix used = faces.topRows(kRowsAnIdentity * identities);
  dataset.modalities = {{names.unlabelled, faces(face_rows, Eigen::all)},
                        {names.labelled, voices(voice_rows, Eigen::all)}};
  dataset.unpaired = {{{names.unlabelled, used}, face_labels}, {{names.labelled, voices}, labels}};
  return dataset;
}

// Rows of one split's files whose identity is not in `seen`, appended to `dataset`.
absl::Status AppendPaired(const std::string& directory, Split split,
                          const std::set<std::string>& seen, Dataset& dataset) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> labels,
                        ReadLabels(PairedFile(directory, "L", split)));
  std::vector<int> kept;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (seen.count(labels[i])) continue;
    kept.push_back(static_cast<int>(i));
    dataset.labels.push_back(labels[i]);
    dataset.split.push_back(split);
  }
  for (const char* name : {"A", "B"}) {
    const std::string path = PairedFile(directory, name, split);
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix rows, ReadTextRows(path));
    if (rows.rows() != static_cast<Eigen::Index>(labels.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " has ", rows.rows(), " rows, ", labels.size(), " labels are given"));
    }
    auto modality = std::find_if(dataset.modalities.begin(), dataset.modalities.end(),
                                 [&](const Modality& m) { return m.name == name; });
    if (modality == dataset.modalities.end()) {
      modality = dataset.modalities.insert(modality, {name, FeatureMatrix(0, rows.cols())});
    }
    FeatureMatrix& features = modality->features;
    if (features.cols() != rows.cols()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " has ", rows.cols(), " columns, the other splits ", features.cols()));
    }
    FeatureMatrix joined(features.rows() + kept.size(), rows.cols());
    joined.topRows(features.rows()) = features;
    joined.bottomRows(kept.size()) = rows(kept, Eigen::all);
    features = std::move(joined);
  }
  return absl::OkStatus();
}

absl::StatusOr<Dataset> LoadPaired(const std::string& directory) {
  Dataset dataset;
  for (Split split : kSplitOrder) {
    if (!FileExists(PairedFile(directory, "L", split))) continue;
    const std::set<std::string> seen(dataset.labels.begin(), dataset.labels.end());
    HEFT_RETURN_IF_ERROR(AppendPaired(directory, split, seen, dataset));
  }
  return dataset;
}

bool HoldsPaired(const std::string& directory) {
  return std::any_of(std::begin(kSplitOrder), std::end(kSplitOrder),
                     [&](Split split) { return FileExists(PairedFile(directory, "L", split)); });
}

}  // namespace

bool HoldsPublishedFiles(const std::string& directory) {
  return !FileExists(directory + "/labels.txt") &&
         (HoldsPaired(directory) || FindExtracted(directory).Found());
}

absl::StatusOr<Dataset> LoadPublished(const std::string& directory) {
  absl::StatusOr<Dataset> dataset = HoldsPaired(directory)
                                        ? LoadPaired(directory)
                                        : LoadExtracted(directory, FindExtracted(directory));
  if (dataset.ok()) HEFT_RETURN_IF_ERROR(CheckDataset(*dataset));
  return dataset;
}

absl::StatusOr<FeatureMatrix> ReadPublishedProjection(const std::string& path, int dimension) {
  HEFT_ASSIGN_OR_RETURN(FeatureMatrix matrix, ReadFeatures(path));
  if (matrix.cols() == dimension) return matrix;
  if (matrix.rows() == dimension) return FeatureMatrix(matrix.transpose());
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", matrix.rows(), " x ", matrix.cols(),
                                                 ", the data have ", dimension,
                                                 " dimensions in all"));
}

}  // namespace heft
