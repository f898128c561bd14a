// SPDX-License-Identifier: Apache-2.0
// TrainingData: feature vectors of one or more modalities with identities, from which a model is
// learned (heft/train.h), and the folder form that it is read from and written to:
//
//   NAME.npy or NAME.txt    one modality each, in alphabetical order of NAME; row i of all of them
//                           belongs to the same identity
//   labels.txt              identity of each row; names.txt, for protocols: a name of each
//   split.txt               train, val or test for each row, by identity; optional
//   unpaired/NAME.npy, NAME_labels.txt    optional: more samples of single modalities
//
// A folder without labels.txt may hold the paper's published text files instead. No cryptography:
// link heft::features.
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
#include "heft/export.h"

namespace heft {

// FactorModel: a law of few directions, for studies of what a projection can learn. A sample of a
// modality is
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

// SyntheticOptions: the size of a synthetic data set, and the law that it is drawn by. Without
// `factors` vectors have the statistics of real deep embeddings of faces (first modality) and of
// voices (all further ones); docs/evaluation.md ("Synthetic people") has law, fit and accuracy.
struct SyntheticOptions {
  int identities = 190;
  int samples_per_identity = 6;
  std::vector<int> dimensions = {512, 128};
  std::optional<FactorModel> factors;
  // Samples of each modality in all, spread evenly over the identities. If not empty, an identity's
  // rows are all combinations of its samples (the paper pairs 2 faces with each voice), and the
  // samples themselves are in `unpaired`; samples_per_identity counts for nothing.
  std::vector<int> all_pairs_of;
  uint64_t seed = 1;
};

// PaperSize: 188 identities with 376 faces and 5,380 voices in 10,760 pairs (paper, section
// "Evaluation Datasets"), and statistics that give, over identity folds, AUROCs near those of its
// table 2.
HEFT_EXPORT SyntheticOptions PaperSize();

// ModalityRows: vectors of one modality in memory. A view: the caller keeps the values.
struct ModalityRows {
  std::string name;               // as ModalitySpec's (heft/model.h)
  size_t dimension = 0;           // from 1 on
  std::span<const float> values;  // row by row
};

// TrainingData: rows of all modalities with labels and a split by identity. Const: any thread.
class HEFT_EXPORT TrainingData {
 public:
  class HEFT_HIDDEN Impl;

  // Reads and checks the folder. `split_seed` deals identities where split.txt is missing.
  // kNotFound without labels or a modality; kDataLoss; kInvalidArgument for rows that do not agree,
  // numbers that are not finite, or a split that parts an identity.
  static absl::StatusOr<TrainingData> Load(const std::string& folder, uint64_t split_seed = 1);
  // The same of a folder that may lack labels.txt, for LearnOptions::method "pca" and "none": then
  // each row has a label of its own, and no decision can be learned.
  static absl::StatusOr<TrainingData> LoadUnlabelled(const std::string& folder,
                                                     uint64_t split_seed = 1);
  // Copies rows from memory; row i of every modality belongs to `labels[i]`. No labels at all: as
  // LoadUnlabelled. `split`: "train",
  // "val" or "test" for each row; empty: dealt by `split_seed`. kInvalidArgument as Load, and for
  // what cannot be the name of a modality, an identity or a split.
  static absl::StatusOr<TrainingData> FromRows(std::span<const ModalityRows> modalities,
                                               std::vector<std::string> labels,
                                               std::span<const std::string> split = {},
                                               uint64_t split_seed = 1);
  // Modalities are named face, voice, then modality3, ...; identities are numbered; the split is
  // 60/20/20 by identity. kInvalidArgument for counts below 1 (identities below 3), negative or
  // non-finite noise, or no dimension; for all_pairs_of also unless it has an entry a modality,
  // each at least `identities`.
  static absl::StatusOr<TrainingData> Synthesise(const SyntheticOptions& options);

  TrainingData(TrainingData&&) noexcept;
  TrainingData& operator=(TrainingData&&) noexcept;
  ~TrainingData();

  // Writes the folder form, float32, and makes the folder if need be.
  absl::Status Write(const std::string& folder) const;

  size_t size() const;                             // rows
  const std::vector<std::string>& labels() const;  // identity of each row
  std::vector<std::string> modalities() const;     // their names
  std::vector<int> dimensions() const;             // of each modality
  // Text files of the folder that were taken for no modality, because they do not begin with a
  // number (notes, a licence): to be shown to whoever asked to read it.
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
