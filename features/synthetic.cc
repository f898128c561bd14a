// SPDX-License-Identifier: Apache-2.0
#include "features/synthetic.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "features/random.h"

namespace heft {
namespace {

FeatureMatrix GaussianMatrix(Random& random, int rows, int columns) {
  FeatureMatrix matrix(rows, columns);
  for (Eigen::Index i = 0; i < matrix.size(); ++i) matrix.data()[i] = random.Normal();
  return matrix;
}

// rank x dimension, rows of unit length.
FeatureMatrix RandomDirections(Random& random, int rank, int dimension) {
  FeatureMatrix directions = GaussianMatrix(random, rank, dimension);
  directions.rowwise().normalize();
  return directions;
}

Modality SynthesizeModality(const SyntheticOptions& options, int index) {
  Random random(options.seed, index);
  const int dimension = options.dimensions[index];
  const auto setting = [index](const std::vector<double>& values) {
    return values[std::min<std::size_t>(index, values.size() - 1)];
  };
  const FeatureMatrix identity_directions =
      RandomDirections(random, options.rank_identity, dimension);
  const FeatureMatrix within_directions = RandomDirections(random, options.rank_within, dimension);
  const int rows = options.identities * options.samples_per_identity;

  const FeatureMatrix identities =
      GaussianMatrix(random, options.identities, options.rank_identity);
  FeatureMatrix seen =
      setting(options.jitter) * GaussianMatrix(random, rows, options.rank_identity);
  for (int row = 0; row < rows; ++row) {
    seen.row(row) += identities.row(row / options.samples_per_identity);
  }
  FeatureMatrix features = seen * identity_directions;
  features += setting(options.within) *
              (GaussianMatrix(random, rows, options.rank_within) * within_directions);
  features +=
      setting(options.noise) / std::sqrt(dimension) * GaussianMatrix(random, rows, dimension);
  const std::string name = index == 0   ? "face"
                           : index == 1 ? "voice"
                                        : absl::StrCat("modality", index + 1);
  return {name, std::move(features)};
}

absl::Status CheckOptions(const SyntheticOptions& options) {
  const bool counts_good = options.identities >= 3 && options.samples_per_identity >= 1 &&
                           options.rank_identity >= 1 && options.rank_within >= 1 &&
                           !options.dimensions.empty() && !options.jitter.empty() &&
                           !options.within.empty() && !options.noise.empty();
  if (!counts_good) {
    return absl::InvalidArgumentError(
        "synthetic data: need 3 identities, 1 sample of each, 1 dimension and ranks of at least 1");
  }
  for (int dimension : options.dimensions) {
    if (dimension < 1 || dimension > 1 << 16) {
      return absl::InvalidArgumentError(
          absl::StrCat("synthetic data: dimension ", dimension, ", choose 1 to 65536"));
    }
  }
  for (const auto* values : {&options.jitter, &options.within, &options.noise}) {
    for (double value : *values) {
      if (std::isfinite(value) && value >= 0) continue;
      return absl::InvalidArgumentError(absl::StrCat("synthetic data: jitter, within or noise ",
                                                     value, " must be finite, 0 or more"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Dataset> SynthesizeDataset(const SyntheticOptions& options) {
  HEFT_RETURN_IF_ERROR(CheckOptions(options));
  Dataset dataset;
  for (std::size_t i = 0; i < options.dimensions.size(); ++i) {
    dataset.modalities.push_back(SynthesizeModality(options, static_cast<int>(i)));
  }
  for (int identity = 0; identity < options.identities; ++identity) {
    for (int sample = 0; sample < options.samples_per_identity; ++sample) {
      dataset.labels.push_back(absl::StrCat(identity));
    }
  }
  dataset.split = DeriveIdentitySplit(dataset.labels, options.seed);
  return dataset;
}

}  // namespace heft
