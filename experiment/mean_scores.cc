// SPDX-License-Identifier: Apache-2.0
#include "experiment/mean_scores.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "experiment/encrypted_scores.h"
#include "experiment/stopwatch.h"
#include "fusion/mean.h"
#include "fusion/profile.h"
#include "fusion/samples.h"
#include "learning/model_scores.h"
#include "learning/projection.h"

namespace heft::experiment {
namespace {

using ckks::Ciphertext;

absl::Status CheckLists(const Model& model, const RowLists& references, const RowLists& probes) {
  for (const RowLists* lists : {&references, &probes}) {
    for (const std::vector<int>& rows : *lists) {
      HEFT_RETURN_IF_ERROR(CheckMean(model, rows.size()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FeatureMatrix> MeanScorer::Score(const RowLists& references,
                                                const RowLists& probes) {
  HEFT_RETURN_IF_ERROR(CheckLists(model_, references, probes));
  HEFT_RETURN_IF_ERROR(Prepare(references, probes));
  if (keep_) {
    HEFT_RETURN_IF_ERROR(Keep(references, false));
    HEFT_RETURN_IF_ERROR(Keep(probes, roles_->rings().thin()));
  }
  HEFT_RETURN_IF_ERROR(Enrol(references));
  FeatureMatrix scores(static_cast<Eigen::Index>(probes.size()),
                       static_cast<Eigen::Index>(references.size()));
  const Progress progress(monitor_, "matching");
  HEFT_RETURN_IF_ERROR(ForAll(progress, probes.size(), [&](size_t i) {
    return Ask(probes[i], scores.row(static_cast<Eigen::Index>(i)));
  }));
  return scores;
}

absl::Status MeanScorer::Prepare(const RowLists& references, const RowLists& probes) {
  if (roles_ == nullptr) {
    const Progress progress(monitor_, "making evaluation keys");
    HEFT_ASSIGN_OR_RETURN(roles_, Roles::Create(model_, progress.Callback()));
  }
  for (const RowLists* lists : {&references, &probes}) {
    for (const std::vector<int>& rows : *lists) {
      if (fusers_.contains(rows.size())) continue;
      HEFT_ASSIGN_OR_RETURN(Fuser fuser, Fuser::Create(roles_->rings().enrolment, model_,
                                                       &roles_->enrolment().keys(), rows.size()));
      fusers_.emplace(rows.size(), std::make_unique<Fuser>(std::move(fuser)));
      HEFT_ASSIGN_OR_RETURN(ProbeFuser prober, ProbeFuser::Create(roles_->rings(), model_,
                                                                  roles_->keys(), rows.size()));
      probers_.emplace(rows.size(), std::make_unique<ProbeFuser>(std::move(prober)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Ciphertext>> MeanScorer::Encrypt(int row, bool probe) const {
  Vectors sample;
  for (const Modality& m : dataset_.modalities) {
    const auto values = m.features.row(row);
    sample.emplace_back(values.begin(), values.end());
  }
  return probe ? roles_->EncryptProbe(sample) : roles_->EncryptSample(sample);
}

absl::Status MeanScorer::Keep(const RowLists& lists, bool probe) {
  Samples& kept = probe ? asked_ : enrolled_;
  std::vector<std::pair<const int, std::vector<Ciphertext>>*> missing;
  for (const std::vector<int>& rows : lists) {
    for (const int row : rows) {
      const auto [entry, added] = kept.try_emplace(row);
      if (added) missing.push_back(&*entry);
    }
  }
  const Progress progress(monitor_, "encrypting samples");
  return ForAll(progress, missing.size(), [&](size_t i) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(missing[i]->second, Encrypt(missing[i]->first, probe));
    return absl::OkStatus();
  });
}

// The sum of the rows' samples, encrypted as for enrolment or as a probe; how long adding took.
absl::StatusOr<std::vector<Ciphertext>> MeanScorer::Sum(const std::vector<int>& rows, bool probe,
                                                        double* ms) const {
  const Samples& kept = probe ? asked_ : enrolled_;
  const ckks::Context& context = probe ? roles_->context() : roles_->enrolment().context();
  std::vector<Ciphertext> sum(dataset_.modalities.size());
  for (const int row : rows) {
    std::vector<Ciphertext> fresh;
    const auto found = kept.find(row);
    if (found == kept.end()) {
      HEFT_ASSIGN_OR_RETURN(fresh, Encrypt(row, probe));
    }
    const std::vector<Ciphertext>& sample = found == kept.end() ? fresh : found->second;
    const Stopwatch watch;
    for (size_t m = 0; m < sum.size(); ++m) {
      HEFT_RETURN_IF_ERROR(AddSample(context, sample[m], &sum[m]));
    }
    if (ms != nullptr) *ms += watch.Milliseconds();
  }
  return sum;
}

absl::StatusOr<Ciphertext> MeanScorer::Fused(const std::vector<Ciphertext>& sum,
                                             size_t samples) const {
  HEFT_ASSIGN_OR_RETURN(const Normalised fused, fusers_.at(samples)->Fuse(Pointers(sum)));
  return ToMatchingRing(roles_->rings(), roles_->ring_switch(), fused.z);
}

absl::Status MeanScorer::Enrol(const RowLists& references) {
  std::vector<Ciphertext> fused(references.size());
  std::vector<double> ms(references.size(), 0.0);
  const Progress progress(monitor_, "enrolling");
  HEFT_RETURN_IF_ERROR(ForAll(progress, fused.size(), [&](size_t i) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> sum, Sum(references[i], false, &ms[i]));
    const Stopwatch watch;
    HEFT_ASSIGN_OR_RETURN(fused[i], Fused(sum, references[i].size()));
    ms[i] += watch.Milliseconds();
    return absl::OkStatus();
  }));
  for (size_t i = 0; i < ms.size(); ++i) fuse_ms_[references[i].size()].push_back(ms[i]);
  blocks_.clear();
  const size_t capacity = roles_->TemplatesPerBlock();
  for (size_t start = 0; start < fused.size(); start += capacity) {
    blocks_.push_back(EmptyBlock(roles_->context(), model_.gamma));
    std::vector<NewTemplate> batch;
    for (size_t i = start; i < std::min(fused.size(), start + capacity); ++i) {
      batch.push_back({&fused[i], At(i)});
    }
    HEFT_RETURN_IF_ERROR(roles_->Enrol(&blocks_.back(), batch));
  }
  return absl::OkStatus();
}

Position MeanScorer::At(size_t i) const {
  const auto index = static_cast<uint32_t>(i % roles_->TemplatesPerBlock());
  return {index / 2, index % 2};
}

absl::Status MeanScorer::Ask(const std::vector<int>& rows,
                             Eigen::Ref<Eigen::RowVectorXd> out) const {
  HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> sum, Sum(rows, roles_->rings().thin()));
  Ciphertext z;
  std::optional<Ciphertext> norm;
  if (roles_->rings().thin()) {
    HEFT_ASSIGN_OR_RETURN(ProvenProbe fused, probers_.at(rows.size())->Fuse(Pointers(sum)));
    z = std::move(fused.z);
    norm = std::move(fused.norm);
  } else {
    HEFT_ASSIGN_OR_RETURN(z, Fused(sum, rows.size()));
  }
  HEFT_ASSIGN_OR_RETURN(const TiledCiphertexts prepared,
                        PrepareProbe(roles_->instance(), z, roles_->keys()));
  const size_t capacity = roles_->TemplatesPerBlock(), count = static_cast<size_t>(out.size());
  for (size_t b = 0; b < blocks_.size(); ++b) {
    HEFT_ASSIGN_OR_RETURN(const Ciphertext matched,
                          MatchBlock(roles_->instance(), blocks_[b], prepared, roles_->keys()));
    HEFT_ASSIGN_OR_RETURN(const Ciphertext sent, roles_->Sent(matched));
    const std::vector<double> opened = roles_->OpenScores(sent, norm ? &*norm : nullptr);
    for (size_t i = b * capacity; i < std::min(count, (b + 1) * capacity); ++i) {
      const Position at = At(i);
      out[static_cast<Eigen::Index>(i)] =
          opened[size_t{at.lane} * roles_->params().slots() + at.slot];
    }
  }
  return absl::OkStatus();
}

double MeanScorer::FuseMs(size_t samples) const { return Median(fuse_ms_.at(samples)); }

absl::StatusOr<double> MeanScorer::SampleBytes() const {
  double bytes = 0;
  for (size_t m = 0; m < dataset_.modalities.size(); ++m) {
    const auto values = dataset_.modalities[m].features.row(0);
    const std::vector<double> row(values.begin(), values.end());
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> file,
                          EncryptSamples(roles_->rings().enrolment, model_, m,
                                         roles_->enrolment().public_key(), {&row, 1}, {}));
    bytes += static_cast<double>(file.size());
  }
  return bytes;
}

double MeanScorer::TemplateBytes() const {
  return static_cast<double>(blocks_.at(0).size() * sizeof(uint32_t)) /
         static_cast<double>(roles_->TemplatesPerBlock());
}

absl::StatusOr<FeatureMatrix> PlainMeans(const Model& model, const Dataset& dataset,
                                         const RowLists& references, const RowLists& probes) {
  HEFT_RETURN_IF_ERROR(CheckLists(model, references, probes));
  HEFT_ASSIGN_OR_RETURN(const Profile profile, FindProfile(model.profile));
  const auto unit = [&](const RowLists& lists, bool exactly) -> absl::StatusOr<FeatureMatrix> {
    FeatureMatrix out(static_cast<Eigen::Index>(lists.size()), model.gamma);
    for (size_t i = 0; i < lists.size(); ++i) {
      HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features, Concatenate(dataset, lists[i]));
      const Eigen::RowVectorXd z = MeanFactor(model, lists[i].size()) *
                                   ProjectAll(ProjectionOf(model), features).colwise().sum();
      const double factor = exactly ? 1 / z.norm() : model.approximation(z.squaredNorm());
      out.row(static_cast<Eigen::Index>(i)) = factor * z;
    }
    return out;
  };
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix enrolled, unit(references, false));
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix asked, unit(probes, profile.thin()));
  return FeatureMatrix(asked * enrolled.transpose());
}

absl::StatusOr<FeatureMatrix> EncryptedMeans(const Monitor& monitor, const Model& model,
                                             const Dataset& dataset, const RowLists& references,
                                             const RowLists& probes) {
  return MeanScorer(monitor, model, dataset, /*keep=*/false).Score(references, probes);
}

}  // namespace heft::experiment
