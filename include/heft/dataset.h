// SPDX-License-Identifier: Apache-2.0
// TrainingData: feature vectors of one or more modalities with identities, for training a model
// (heft/train.h). It is read from and written to a folder:
//
//   NAME.npy or NAME.txt    one modality each, in alphabetical order of NAME; row i of all of them
//                           belongs to the same identity
//   labels.txt              identity of each row; names.txt, for protocols: a name of each
//   split.txt               train, val or test for each row, by identity; optional
//   unpaired/NAME.npy, NAME_labels.txt    optional: more samples of single modalities
//
// Instead of labels.txt, a folder may hold the paper's published text files. No cryptography: link
// heft::features.
#ifndef HEFT_DATASET_H_
#define HEFT_DATASET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/base.h"

namespace heft {

// Reads feature vectors and labels from files: numpy's .npy and rows of text (docs/data.md). Link
// heft::heft.

// FeatureRows: vectors of one modality, one row each.
struct FeatureRows {
  size_t dimension = 0;
  std::vector<float> values;  // row by row

  size_t size() const { return dimension == 0 ? 0 : values.size() / dimension; }
  std::span<const float> row(size_t i) const {
    return std::span(values).subspan(i * dimension, dimension);
  }
};

// ReadVectors: .npy by its magic bytes (float32 or float64), otherwise text: numbers separated by
// white space or commas, with a row on each line or in each pair of brackets. kDataLoss for damaged
// bytes and an empty file; kInvalidArgument, with row and column, for NaN, infinity, values beyond
// float's range and rows of unequal length; kNotFound, kUnavailable.
HEFT_EXPORT absl::StatusOr<FeatureRows> ReadVectors(const std::string& path);

// ReadLabels: one label on each line without surrounding white space; blank lines only at the end.
// Or one list in brackets, separated by commas, as Python prints it: quotes around labels are
// removed. kInvalidArgument, with file and row, for an invalid identity.
HEFT_EXPORT absl::StatusOr<std::vector<std::string>> ReadLabels(const std::string& path);

// FactorModel: a distribution with few directions, for studies of the limits of a projection. A
// sample of a modality is
//
//   x = A (u + jitter * w) + within * B v + noise * e,
//
// u ~ N(0, I) of the identity, w, v ~ N(0, I) of the sample, A and B random dimension x rank
// matrices of unit columns (rank_identity and rank_within of them), e ~ N(0, I / dimension).
// A learned projection can remove variation within an identity that is of low rank (within); a
// fixed concatenation cannot. No projection can remove jitter. The defaults give cosine AUROCs near
// those of the paper's table 2 on 512 + 512 dimensions: about 0.84 and 0.855 alone, 0.92
// concatenated, 0.98 learned.
struct FactorModel {
  // Per modality; the last entry is used for further modalities.
  std::vector<double> jitter = {1.0, 1.0};
  std::vector<double> within = {1.15, 1.07};
  std::vector<double> noise = {1.5, 1.5};
  int rank_identity = 16;
  int rank_within = 32;
};

// SyntheticOptions: the size and distribution of a synthetic data set. Without `factors`, vectors
// have the statistics of real deep embeddings of faces (first modality) and of voices (all others);
// docs/evaluation.md ("Synthetic people") gives distribution, fit and accuracy.
struct SyntheticOptions {
  int identities = 190;
  int samples_per_identity = 6;
  std::vector<int> dimensions = {512, 128};
  std::optional<FactorModel> factors;
  // Number of samples of each modality, spread evenly over the identities. If not empty, an
  // identity's rows are all combinations of its samples (the paper pairs 2 faces with each voice),
  // the samples themselves are in `unpaired`, and samples_per_identity is ignored.
  std::vector<int> all_pairs_of;
  uint64_t seed = 1;
};

// PaperSize: 188 identities with 376 faces and 5,380 voices in 10,760 pairs (paper, section
// "Evaluation Datasets"). Its statistics give AUROCs over identity folds near those of the paper's
// table 2.
HEFT_EXPORT SyntheticOptions PaperSize();

// ModalityRows: vectors of one modality in memory. A view: the caller keeps the values.
struct ModalityRows {
  std::string name;               // as ModalitySpec's (heft/model.h)
  size_t dimension = 0;           // from 1 on
  std::span<const float> values;  // row by row
};

// TrainingData: rows of all modalities with labels and a split by identity. Const calls are safe
// from any thread.
class HEFT_EXPORT TrainingData {
 public:
  class HEFT_HIDDEN Impl;

  // Reads and checks the folder. `split_seed` assigns identities to splits if there is no
  // split.txt. kNotFound without labels or a modality; kDataLoss; kInvalidArgument for different
  // numbers of rows, numbers that are not finite, or a split that divides an identity.
  static absl::StatusOr<TrainingData> Load(const std::string& folder, uint64_t split_seed = 1);
  // The same for a folder that may lack labels.txt, for LearnOptions::method "pca" and "none".
  // Without labels each row gets its own label, and no decisions can be learned.
  static absl::StatusOr<TrainingData> LoadUnlabelled(const std::string& folder,
                                                     uint64_t split_seed = 1);
  // Copies rows from memory; row i of every modality belongs to `labels[i]`. Without labels: as
  // LoadUnlabelled. `split`: "train", "val" or "test" for each row; if empty, `split_seed` assigns
  // them. kInvalidArgument as Load, and for invalid names of a modality, identity or split.
  static absl::StatusOr<TrainingData> FromRows(std::span<const ModalityRows> modalities,
                                               std::vector<std::string> labels,
                                               std::span<const std::string> split = {},
                                               uint64_t split_seed = 1);
  // Names modalities face, voice, modality3, ...; numbers the identities; splits 60/20/20 by
  // identity. kInvalidArgument for counts below 1 (identities below 3), negative or non-finite
  // noise, or no dimension; for all_pairs_of also unless it has one entry for each modality, each
  // at least `identities`.
  static absl::StatusOr<TrainingData> Synthesise(const SyntheticOptions& options);

  TrainingData(TrainingData&&) noexcept;
  TrainingData& operator=(TrainingData&&) noexcept;
  ~TrainingData();

  // Writes the folder as float32; creates it if necessary.
  absl::Status Write(const std::string& folder) const;

  size_t size() const;                             // rows
  const std::vector<std::string>& labels() const;  // identity of each row
  std::vector<std::string> modalities() const;     // their names
  std::vector<int> dimensions() const;             // of each modality
  // Text files of the folder that were not read as modalities because they do not begin with a
  // number, such as notes or a licence. Programs should list them for the user.
  const std::vector<std::string>& left_out() const;
  // Row `row` of modality `modality`, both from 0 and in range.
  std::vector<float> Vector(size_t modality, size_t row) const;

 private:
  friend struct Inside;
  explicit TrainingData(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace heft

#endif  // HEFT_DATASET_H_
