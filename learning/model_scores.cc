// SPDX-License-Identifier: Apache-2.0
#include "learning/model_scores.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fusion/profile.h"
#include "learning/baselines.h"

namespace heft {

absl::StatusOr<Dataset> SelectModalities(Dataset dataset, const Model& model,
                                         const std::string& directory) {
  std::vector<Modality> selected;
  for (const ModalitySpec& spec : model.modalities) {
    const auto found = std::find_if(dataset.modalities.begin(), dataset.modalities.end(),
                                    [&](const Modality& m) { return m.name == spec.name; });
    if (found == dataset.modalities.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(directory, ": no modality \"", spec.name, "\", which the model fuses"));
    }
    if (found->features.cols() != spec.dimension) {
      return absl::InvalidArgumentError(absl::StrCat(directory, ": \"", spec.name,
                                                     "\" has dimension ", found->features.cols(),
                                                     ", the model takes ", spec.dimension));
    }
    selected.push_back(*found);
  }
  dataset.modalities = std::move(selected);
  dataset.unpaired.clear();
  return dataset;
}

FeatureMatrix ProjectionOf(const Model& model) {
  return Eigen::Map<const FeatureMatrix>(
      model.projection.data(), model.gamma,
      static_cast<Eigen::Index>(model.projection.size() / model.gamma));
}

absl::StatusOr<LabelledScores> PlainScores(const Dataset& dataset, Split split, const Model& model,
                                           std::span<const int> missing, int* outside) {
  HEFT_ASSIGN_OR_RETURN(const Profile profile, FindProfile(model.profile));
  const Normaliser approximate{model.approximation};
  return PartialProbeScores(dataset, split, ProjectionOf(model),
                            profile.thin() ? Normaliser{} : approximate, missing, outside,
                            profile.thin() ? &approximate : nullptr);
}

}  // namespace heft
