// SPDX-License-Identifier: Apache-2.0
// Scores of lists of references and probes, each of one sample or the mean of several
// (fusion/mean.h), in the clear and computed under encryption by the library's roles.
#ifndef HEFT_EXPERIMENT_MEAN_SCORES_H_
#define HEFT_EXPERIMENT_MEAN_SCORES_H_

#include <map>
#include <memory>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "experiment/roles.h"
#include "features/dataset.h"
#include "features/matrix.h"
#include "heft/model.h"

namespace heft::experiment {

// RowLists: rows of the data set, of each reference or probe.
using RowLists = std::vector<std::vector<int>>;

// PlainMeans, EncryptedMeans: scores[probe][reference]. CheckMean's errors; kCancelled.
absl::StatusOr<FeatureMatrix> PlainMeans(const Model& model, const Dataset& dataset,
                                         const RowLists& references, const RowLists& probes);
absl::StatusOr<FeatureMatrix> EncryptedMeans(const Monitor& monitor, const Model& model,
                                             const Dataset& dataset, const RowLists& references,
                                             const RowLists& probes);

// MeanScorer: the roles behind EncryptedMeans, with keys of their own, for several calls.
class MeanScorer {
 public:
  // `keep`: each sample is encrypted once, and kept; some 1 MB a sample of two modalities.
  MeanScorer(const Monitor& monitor, const Model& model, const Dataset& dataset, bool keep)
      : monitor_(monitor), model_(model), dataset_(dataset), keep_(keep) {}

  // Score: as EncryptedMeans, in a gallery of its own.
  absl::StatusOr<FeatureMatrix> Score(const RowLists& references, const RowLists& probes);

  // The costs, after Score. FuseMs: the server's median time to add up and fuse so many samples for
  // enrolment, as one thread saw it. SampleBytes: bytes of one sample of all modalities, to enrol.
  // TemplateBytes: bytes of one template in a full block.
  double FuseMs(size_t samples) const;
  absl::StatusOr<double> SampleBytes() const;
  double TemplateBytes() const;

 private:
  using Samples = std::map<int, std::vector<ckks::Ciphertext>>;  // by row

  absl::Status Prepare(const RowLists& references, const RowLists& probes);
  absl::StatusOr<std::vector<ckks::Ciphertext>> Encrypt(int row, bool probe) const;
  absl::Status Keep(const RowLists& lists, bool probe);
  absl::StatusOr<std::vector<ckks::Ciphertext>> Sum(const std::vector<int>& rows, bool probe,
                                                    double* ms = nullptr) const;
  absl::StatusOr<ckks::Ciphertext> Fused(const std::vector<ckks::Ciphertext>& sum,
                                         size_t samples) const;
  absl::Status Enrol(const RowLists& references);
  Position At(size_t i) const;
  absl::Status Ask(const std::vector<int>& rows, Eigen::Ref<Eigen::RowVectorXd> out) const;

  const Monitor& monitor_;
  const Model& model_;
  const Dataset& dataset_;
  const bool keep_;
  std::unique_ptr<Roles> roles_;
  std::map<size_t, std::unique_ptr<Fuser>> fusers_;  // by number of samples
  std::map<size_t, std::unique_ptr<ProbeFuser>> probers_;
  Samples enrolled_, asked_;  // kept
  std::map<size_t, std::vector<double>> fuse_ms_;
  std::vector<TiledCiphertexts> blocks_;
};

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_MEAN_SCORES_H_
