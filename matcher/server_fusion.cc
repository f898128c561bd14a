// SPDX-License-Identifier: Apache-2.0
// Fusion at the server: the samples of a request, or their mean, for enrolment, verification and
// identification.
#include <memory>
#include <optional>
#include <utility>

#include "fusion/key_files.h"
#include "fusion/mean.h"
#include "fusion/norm_proof.h"
#include "matcher/combinations.h"
#include "matcher/server_impl.h"
#include "matcher/server_internal.h"

namespace heft {

using internal::Present;

absl::Status Server::Impl::CheckUse(const SampleSet& samples, SampleUse use) const {
  HEFT_RETURN_IF_ERROR(CheckKeyId(keys().key_id, samples.key_id(), "encrypted samples"));
  const bool identification = use == SampleUse::kIdentification;
  const Instance& ring = identification ? rings_.matching : rings_.enrolment;
  const bool projected = samples.fused() || samples.encoding() == SampleEncoding::kPartial;
  const bool right_ring = samples.fused() || samples.params_id() == ring.params().id();
  if (right_ring && (!projected || samples.use() == use)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      identification
          ? "samples encrypted for enrolment or verification: encrypt the probes of an "
            "identification with `heft encrypt --for identification`"
          : "thin probes, encrypted for identification: encrypt for enrolment and verification "
            "without `--for identification`");
}

absl::Status Server::Impl::CheckAverage(const SampleSet& samples) {
  if (samples.encoding() == SampleEncoding::kCompact) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "the server computes means only of samples that it projects itself: for samples that are "
      "encrypted in bulk, projected or fused by the client, the client computes the mean (heft "
      "encrypt --average)");
}

absl::StatusOr<ProbeInputs> Server::Impl::ReadSum(const SampleSet& samples,
                                                  std::span<const SampleRows> rows) const {
  const bool small = samples.params_id() == rings_.matching.params().id();
  const ckks::Context& context = *(small ? rings_.matching : rings_.enrolment).context;
  ProbeInputs out;
  out.modalities.resize(samples.modalities());
  out.samples = rows.size();
  for (const SampleRows& sample : rows) {
    for (size_t m = 0; m < samples.modalities(); ++m) {
      if (sample[m] < 0 || samples.modality(m) == nullptr) continue;
      HEFT_ASSIGN_OR_RETURN(const ckks::Ciphertext c,
                            samples.modality(m)->Sample(static_cast<size_t>(sample[m])));
      HEFT_RETURN_IF_ERROR(AddSample(context, c, &out.modalities[m]));
    }
  }
  return out;
}

absl::StatusOr<ProbeInputs> Server::Impl::ReadProbe(const SampleSet& samples,
                                                    const ProbeOptions& options) const {
  std::vector<SampleRows> rows;
  if (!options.average) {
    rows.emplace_back(samples.modalities(), static_cast<int64_t>(options.row));
    return ReadSum(samples, rows);
  }
  HEFT_RETURN_IF_ERROR(CheckAverage(samples));
  HEFT_ASSIGN_OR_RETURN(const size_t count, CheckOnePerson(samples));
  for (size_t i = 0; i < count; ++i) {
    rows.emplace_back(samples.modalities(), static_cast<int64_t>(i));
  }
  return ReadSum(samples, rows);
}

absl::StatusOr<ckks::Ciphertext> Server::Impl::Project(
    const SampleSet& samples, std::span<const ckks::Ciphertext* const> modalities,
    size_t count) const {
  HEFT_ASSIGN_OR_RETURN(const Fuser* fuser, EnrolmentFuser(count));
  if (samples.encoding() != SampleEncoding::kPartial) return fuser->Project(modalities);
  HEFT_ASSIGN_OR_RETURN(const ckks::Ciphertext sum,
                        SumProjected(rings_.enrolment, SampleUse::kEnrolment, modalities));
  HEFT_ASSIGN_OR_RETURN(ckks::Ciphertext z, fuser->Fold(sum));
  z.scale *= FoldedCopies(rings_.enrolment);
  return z;
}

absl::StatusOr<ckks::Ciphertext> Server::Impl::FuseTemplate(
    const SampleSet& samples, std::span<const ckks::Ciphertext* const> modalities,
    size_t count) const {
  if (samples.fused()) return FoldFused(rings_.matching, *modalities[0], keys());
  HEFT_ASSIGN_OR_RETURN(const ckks::Ciphertext z, Project(samples, modalities, count));
  HEFT_ASSIGN_OR_RETURN(const Fuser* fuser, EnrolmentFuser(count));
  HEFT_ASSIGN_OR_RETURN(const Normalised fused, fuser->Normalise(z));
  return ToMatchingRing(rings_, keys_->ring_switch, fused.z);
}

absl::StatusOr<ProvenProbe> Server::Impl::FuseToIdentify(const SampleSet& samples,
                                                         const ProbeInputs& inputs,
                                                         std::optional<double> sigma) const {
  const auto modalities = Present(inputs.modalities);
  if (!samples.fused() && samples.encoding() != SampleEncoding::kPartial) {
    HEFT_ASSIGN_OR_RETURN(const ProbeFuser* prober, Prober(inputs.samples));
    return prober->Fuse(modalities, sigma);
  }
  HEFT_ASSIGN_OR_RETURN(const ckks::Ciphertext sum,
                        SumProjected(rings_.matching, SampleUse::kIdentification, modalities));
  HEFT_ASSIGN_OR_RETURN(const ckks::Ciphertext z, RealPart(rings_.matching, sum, keys()));
  ProvenProbe out;
  HEFT_ASSIGN_OR_RETURN(out.z, ToProbe(rings_.matching, z));
  HEFT_ASSIGN_OR_RETURN(out.norm, ProveTemplateNorm(rings_.matching, z, keys(), sigma));
  return out;
}

absl::StatusOr<ProvenProbe> Server::Impl::FuseProbe(const SampleSet& samples,
                                                    const ProbeOptions& options,
                                                    std::optional<double> sigma) const {
  HEFT_RETURN_IF_ERROR(CheckUse(samples, SampleUse::kEnrolment));
  HEFT_ASSIGN_OR_RETURN(const ProbeInputs inputs, ReadProbe(samples, options));
  const auto present = Present(inputs.modalities);
  ProvenProbe out;
  if (samples.fused() || !rings_.thin()) {
    HEFT_ASSIGN_OR_RETURN(out.z, FuseTemplate(samples, present, inputs.samples));
  } else {
    // A projection is enough: the key owner normalises.
    HEFT_ASSIGN_OR_RETURN(const ckks::Ciphertext projected,
                          Project(samples, present, inputs.samples));
    HEFT_ASSIGN_OR_RETURN(out.z, ToMatchingRing(rings_, keys_->ring_switch, projected));
  }
  HEFT_ASSIGN_OR_RETURN(out.norm, ProveTemplateNorm(rings_.matching, out.z, keys(), sigma));
  return out;
}

absl::Status Server::Impl::CheckEnrolmentKeys() const {
  if (!rings_.thin() || keys_->ring_switch.limbs() > 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the keys for enrolment and verification are missing: give enrolment.keys of the key set");
}

absl::StatusOr<const Fuser*> Server::Impl::EnrolmentFuser(size_t samples) const {
  HEFT_RETURN_IF_ERROR(CheckEnrolmentKeys());
  const std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<Fuser>& kept = fusers_[samples];
  if (kept == nullptr) {
    HEFT_ASSIGN_OR_RETURN(Fuser fuser,
                          Fuser::Create(rings_.enrolment, model_, &enrolment_keys(), samples));
    kept = std::make_unique<Fuser>(std::move(fuser));
  }
  return kept.get();
}

absl::StatusOr<const ProbeFuser*> Server::Impl::Prober(size_t samples) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<ProbeFuser>& kept = probers_[samples];
  if (kept == nullptr) {
    HEFT_ASSIGN_OR_RETURN(ProbeFuser prober,
                          rings_.thin() ? ProbeFuser::Create(rings_, model_, keys(), samples)
                                        : ProbeFuser::ToMatch(model_, keys()));
    kept = std::make_unique<ProbeFuser>(std::move(prober));
  }
  return kept.get();
}

}  // namespace heft
