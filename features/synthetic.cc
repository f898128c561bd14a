// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "features/dataset.h"
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

// Sample i of the modality belongs to identity owners[i].
Modality SynthesiseModality(const SyntheticOptions& options, int index,
                            const std::vector<int>& owners) {
  Random random(options.seed, index);
  const int dimension = options.dimensions[index];
  const auto setting = [index](const std::vector<double>& values) {
    return values[std::min<std::size_t>(index, values.size() - 1)];
  };
  const FeatureMatrix identity_directions =
      RandomDirections(random, options.rank_identity, dimension);
  const FeatureMatrix within_directions = RandomDirections(random, options.rank_within, dimension);
  const int rows = static_cast<int>(owners.size());

  const FeatureMatrix identities =
      GaussianMatrix(random, options.identities, options.rank_identity);
  FeatureMatrix seen =
      setting(options.jitter) * GaussianMatrix(random, rows, options.rank_identity);
  for (int row = 0; row < rows; ++row) {
    seen.row(row) += identities.row(owners[row]);
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

// `samples` of them, spread evenly, in order of identity.
std::vector<int> Owners(int identities, int samples) {
  std::vector<int> owners(samples);
  for (int i = 0; i < samples; ++i) {
    owners[i] = static_cast<int>(int64_t{i} * identities / samples);
  }
  return owners;
}

std::vector<std::string> NamesOf(const std::vector<int>& identities) {
  std::vector<std::string> names;
  for (int identity : identities) names.push_back(absl::StrCat(identity));
  return names;
}

// Rows of all combinations of the samples of each identity, the last modality's changing fastest:
// [modality][row] is a sample of that modality. Owners are in rising order.
std::vector<std::vector<int>> AllCombinations(const std::vector<std::vector<int>>& owners,
                                              int identities, std::vector<int>* labels) {
  std::vector<std::vector<int>> rows(owners.size());
  for (int identity = 0; identity < identities; ++identity) {
    std::vector<int> first, count;
    int combinations = 1;
    for (const std::vector<int>& own : owners) {
      const auto [begin, end] = std::equal_range(own.begin(), own.end(), identity);
      first.push_back(static_cast<int>(begin - own.begin()));
      count.push_back(static_cast<int>(end - begin));
      combinations *= count.back();
    }
    for (int c = 0; c < combinations; ++c) {
      labels->push_back(identity);
      int rest = c;
      for (std::size_t m = owners.size(); m-- > 0; rest /= count[m]) {
        rows[m].push_back(first[m] + rest % count[m]);
      }
    }
  }
  return rows;
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
  if (!options.all_pairs_of.empty() &&
      (options.all_pairs_of.size() != options.dimensions.size() ||
       *std::min_element(options.all_pairs_of.begin(), options.all_pairs_of.end()) <
           options.identities)) {
    return absl::InvalidArgumentError(
        "synthetic data: all pairs need a number of samples for each modality, an identity one at "
        "least");
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

absl::StatusOr<Dataset> SynthesiseDataset(const SyntheticOptions& options) {
  HEFT_RETURN_IF_ERROR(CheckOptions(options));
  const int modalities = static_cast<int>(options.dimensions.size());
  std::vector<std::vector<int>> owners;
  for (int m = 0; m < modalities; ++m) {
    owners.push_back(
        Owners(options.identities, options.all_pairs_of.empty()
                                       ? options.identities * options.samples_per_identity
                                       : options.all_pairs_of[m]));
  }
  Dataset dataset;
  for (int m = 0; m < modalities; ++m) {
    dataset.modalities.push_back(SynthesiseModality(options, m, owners[m]));
  }
  if (options.all_pairs_of.empty()) {
    dataset.labels = NamesOf(owners[0]);
  } else {
    std::vector<int> labels;
    const auto rows = AllCombinations(owners, options.identities, &labels);
    for (int m = 0; m < modalities; ++m) {
      Modality& modality = dataset.modalities[m];
      dataset.unpaired.push_back({modality, NamesOf(owners[m])});
      modality.features = FeatureMatrix(modality.features(rows[m], Eigen::all));
    }
    dataset.labels = NamesOf(labels);
  }
  dataset.split = DeriveIdentitySplit(dataset.labels, options.seed);
  return dataset;
}

SyntheticOptions PaperSize() {
  SyntheticOptions options;
  options.all_pairs_of = {376, 5380};
  // A few strong directions of variation within an identity: a projection learned from the 226
  // faces of a training split can find them, even from a random start.
  options.rank_within = 4;
  options.jitter = {1.0, 0.7};
  options.within = {3.7, 2.15};
  options.noise = {0.6, 0.6};
  return options;
}

}  // namespace heft
