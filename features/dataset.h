// SPDX-License-Identifier: Apache-2.0
// Dataset: feature vectors of one or more modalities with identities and a split, and the folder
// form that it is read from and written to:
//
//   NAME.npy or NAME.txt    one modality each, in alphabetical order of NAME; row i of all of them
//                           belongs to the same identity. A NAME.txt that does not begin with a
//                           number or a bracket is none (notes, a licence) and is left out
//   labels.txt              identity of each row; names.txt, for protocols: a name of each
//   split.txt               train, val or test for each row, by identity; optional
//   unpaired/NAME.npy, NAME_labels.txt    optional: more samples of single modalities
//
// A folder without labels.txt may hold the paper's published text files instead (LoadPublished).
#ifndef HEFT_FEATURES_DATASET_H_
#define HEFT_FEATURES_DATASET_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "features/matrix.h"
#include "features/split.h"
#include "heft/dataset.h"

namespace heft {

// Modality: one source of feature vectors ("face"), n rows of its own dimension.
struct Modality {
  std::string name;
  FeatureMatrix features;
};

// UnpairedModality: samples of one modality with labels of their own.
struct UnpairedModality {
  Modality modality;
  std::vector<std::string> labels;
};

struct Dataset {
  std::string folder;                // that it was read from; empty for none
  std::vector<Modality> modalities;  // at least one, all with labels.size() rows
  std::vector<std::string> labels;
  std::vector<Split> split;                // one entry a row
  std::vector<UnpairedModality> unpaired;  // may be empty; names among those of `modalities`
  std::vector<std::string> left_out;  // names of text files that LoadDataset took for no modality
  bool labelled = true;               // false: each row has a label of its own, for want of others
  bool split_was_derived = false;     // by DeriveIdentitySplit, for want of a split.txt
  VectorNorm norm = VectorNorm::kL2;  // by which each vector is scaled before fusion

  int Rows() const { return static_cast<int>(labels.size()); }
  std::vector<int> Dimensions() const;
  int TotalDimension() const;
};

// kInvalidArgument unless row counts agree, every number is finite and the split is by identity.
absl::Status CheckDataset(const Dataset& dataset);

// LoadDataset: reads and checks the folder. `split_seed` is used only where split.txt is missing.
// kNotFound if the folder has no labels.txt or no modality, nor published files; the readers'
// errors; CheckDataset's.
absl::StatusOr<Dataset> LoadDataset(const std::string& directory, uint64_t split_seed = 1);

// LoadUnlabelled: a folder that may lack labels.txt: then each row has a label of its own and
// all train; unpaired/ is not read. LoadDataset's errors.
absl::StatusOr<Dataset> LoadUnlabelled(const std::string& directory, uint64_t split_seed = 1);

// OwnLabels: a label of its own for each of `rows` rows.
std::vector<std::string> OwnLabels(size_t rows);

// WriteDataset: the same form, float32 .npy, the folder made if need be.
absl::Status WriteDataset(const std::string& directory, const Dataset& dataset);

// The given rows of all modalities (unpaired samples are dropped), in the order given.
Dataset SelectRows(const Dataset& dataset, std::span<const int> rows);

// SynthesiseDataset: made up, for demonstrations without real data, as TrainingData::Synthesise.
absl::StatusOr<Dataset> SynthesiseDataset(const SyntheticOptions& options);

// TrainingData::Impl: the private half of heft/dataset.h.
class TrainingData::Impl {
 public:
  Dataset dataset;
};

// ---- The text files that the paper's authors published, in the two forms in which they exist.
// Rows of numbers may be in brackets or not, label lists a label a line or one list in brackets.
//
// As extracted: two modalities NAME.txt; one of them has NAME_labels.txt. The other has no labels,
// but two rows an identity, in the order of the first one's sorted labels. Every sample is paired
// with both rows of its identity (paper, section "Evaluation Datasets"). The first fifth of the
// identities is the validation split, the second the test split, and the rest trains.
//
// As paired: A_values_SPLIT.txt, B_values_SPLIT.txt and L_values_SPLIT.txt for the SPLITs (train,
// val, test) that are there. The published cut between splits is by row: rows of an identity that
// has been seen in an earlier file are left out (val before test before train), because an identity
// is in one split only.

// Whether the folder has no labels.txt and holds files of one of these forms.
bool HoldsPublishedFiles(const std::string& directory);

// The readers' errors; kInvalidArgument where rows, labels and identities do not fit together.
absl::StatusOr<Dataset> LoadPublished(const std::string& directory);

// ReadPublishedProjection: a projection matrix as published ("..best_P_value_transpose..": gamma
// rows of `dimension` numbers); also its transpose. gamma x dimension. kInvalidArgument, naming
// both sizes, if neither fits.
absl::StatusOr<FeatureMatrix> ReadPublishedProjection(const std::string& path, int dimension);

}  // namespace heft

#endif  // HEFT_FEATURES_DATASET_H_
