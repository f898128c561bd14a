// SPDX-License-Identifier: Apache-2.0
#include "heft/client.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "fusion/key_files.h"
#include "fusion/mean.h"
#include "fusion/projected.h"
#include "fusion/rings.h"
#include "fusion/samples.h"

namespace heft {

class Client::Impl {
 public:
  Model model;
  Rings rings;
  PublicKeys keys;
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

const Model& Client::model() const { return impl_->model; }

absl::StatusOr<Client> Client::Create(const Model& model, std::span<const uint8_t> encryption_key,
                                      std::string_view what) {
  auto impl = std::make_unique<Impl>();
  impl->model = model;
  HEFT_ASSIGN_OR_RETURN(impl->rings, MakeRings(model));
  HEFT_ASSIGN_OR_RETURN(impl->keys, ParseEncryptionKeys(impl->rings, encryption_key, what));
  return Client(std::move(impl));
}

absl::StatusOr<std::vector<uint8_t>> Client::Encrypt(std::string_view modality,
                                                     std::span<const float> vector,
                                                     const std::string& label,
                                                     SampleUse use) const {
  Samples samples{modality, vector};
  samples.use = use;
  if (!label.empty()) samples.labels = {&label, 1};
  return Encrypt(samples);
}

absl::StatusOr<std::vector<uint8_t>> Client::Encrypt(const Samples& samples) const {
  HEFT_ASSIGN_OR_RETURN(const EncodableRows rows, RowsToEncrypt(impl_->model, samples));
  HEFT_ASSIGN_OR_RETURN(const Instance* ring, RingOf(impl_->rings, rows.form));
  const ckks::PublicKey& key =
      ring == &impl_->rings.matching ? impl_->keys.matching() : impl_->keys.enrolment;
  return EncryptSamples(*ring, impl_->model, rows.index, key, rows.rows, rows.labels, rows.form);
}

absl::StatusOr<std::vector<uint8_t>> Client::EncryptFused(
    std::span<const Samples> modalities) const {
  HEFT_ASSIGN_OR_RETURN(const EncodableRows rows, RowsToFuse(impl_->model, modalities));
  HEFT_ASSIGN_OR_RETURN(const Instance* ring, RingOf(impl_->rings, rows.form));
  return EncryptSamples(*ring, impl_->model, rows.index, impl_->keys.matching(), rows.rows,
                        rows.labels, rows.form);
}

namespace {

// TakeMeans: the means of the rows of one modality, group by group.
absl::Status TakeMeans(const Model& model, size_t index, std::span<const std::string> labels,
                       std::vector<std::vector<double>>* rows, std::vector<std::string>* means) {
  HEFT_ASSIGN_OR_RETURN(const auto groups, GroupByLabel(labels, rows->size()));
  HEFT_ASSIGN_OR_RETURN(*rows, MeanRows(model, index, *rows, groups));
  means->clear();
  for (const RowsOfLabel& group : groups) {
    if (!group.label.empty()) means->push_back(group.label);
  }
  return absl::OkStatus();
}

// ReadRowsToFuse: the rows of each modality, empty if it is missing, and all of RowsToFuse but its
// rows.
absl::StatusOr<std::vector<std::vector<std::vector<double>>>> ReadRowsToFuse(
    const Model& model, std::span<const Samples> modalities, EncodableRows* out) {
  if (modalities.empty()) return absl::InvalidArgumentError("no modality given");
  out->form = {SampleEncoding::kFused, modalities[0].use};
  std::vector<std::vector<std::vector<double>>> rows(model.modalities.size());
  for (const Samples& samples : modalities) {
    HEFT_ASSIGN_OR_RETURN(const size_t index, model.FindModality(samples.modality));
    if (!rows[index].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("modality ", std::string(samples.modality), " is given twice"));
    }
    out->form.modalities |= uint32_t{1} << index;
    HEFT_ASSIGN_OR_RETURN(rows[index], RowsOf(samples, model.modalities[index]));
    if (samples.average != modalities[0].average) {
      return absl::InvalidArgumentError("take the mean of all modalities, or of none");
    }
    if (!samples.average) continue;
    out->form.length = VectorLength::kMean;
    HEFT_RETURN_IF_ERROR(TakeMeans(model, index, modalities[0].labels, &rows[index], &out->labels));
  }
  if (!modalities[0].average) {
    out->labels.assign(modalities[0].labels.begin(), modalities[0].labels.end());
  }
  return rows;
}

}  // namespace

absl::StatusOr<std::vector<double>> FuseInClear(const Model& model,
                                                std::span<const Samples> modalities,
                                                size_t* outside) {
  EncodableRows read;
  HEFT_ASSIGN_OR_RETURN(const auto rows, ReadRowsToFuse(model, modalities, &read));
  HEFT_ASSIGN_OR_RETURN(const auto sums, SumRows(model, rows, read.form.length));
  std::vector<double> fused;
  fused.reserve(sums.size() * model.gamma);
  size_t beyond = 0;
  for (const std::vector<double>& z : sums) {
    const double s = std::inner_product(z.begin(), z.end(), z.begin(), 0.0);
    if (!model.approximation.interval.Contains(s)) ++beyond;
    const double factor = model.approximation(s);
    for (const double value : z) fused.push_back(value * factor);
  }
  if (outside != nullptr) *outside = beyond;
  return fused;
}

absl::StatusOr<EncodableRows> RowsToEncrypt(const Model& model, const Samples& samples) {
  EncodableRows out;
  out.form = {samples.encoding, samples.use};
  if (samples.encoding == SampleEncoding::kFused) {
    return absl::InvalidArgumentError("fused samples contain all modalities: use EncryptFused");
  }
  HEFT_ASSIGN_OR_RETURN(out.index, model.FindModality(samples.modality));
  HEFT_ASSIGN_OR_RETURN(out.rows, RowsOf(samples, model.modalities[out.index]));
  out.labels.assign(samples.labels.begin(), samples.labels.end());
  if (samples.average) {
    out.form.length = VectorLength::kMean;
    HEFT_RETURN_IF_ERROR(TakeMeans(model, out.index, samples.labels, &out.rows, &out.labels));
  }
  if (samples.encoding == SampleEncoding::kPartial) {
    HEFT_ASSIGN_OR_RETURN(out.rows, ProjectRows(model, out.index, out.rows, out.form.length));
  }
  return out;
}

absl::StatusOr<EncodableRows> RowsToFuse(const Model& model, std::span<const Samples> modalities) {
  EncodableRows out;
  HEFT_ASSIGN_OR_RETURN(const auto rows, ReadRowsToFuse(model, modalities, &out));
  HEFT_ASSIGN_OR_RETURN(out.rows, FuseRows(model, rows, out.form.length));
  return out;
}

absl::StatusOr<const Instance*> RingOf(const Rings& rings, const SampleForm& form) {
  const bool identification = form.use == SampleUse::kIdentification;
  const bool projected =
      form.encoding == SampleEncoding::kPartial || form.encoding == SampleEncoding::kFused;
  if (form.encoding == SampleEncoding::kBulk && identification) {
    return absl::InvalidArgumentError(
        "bulk samples are for enrolment only, not for identification");
  }
  if (projected && !rings.thin()) {
    return absl::InvalidArgumentError(
        "only models of profile standard or flooded accept samples that the client has projected");
  }
  const bool matching = identification || form.encoding == SampleEncoding::kFused;
  return matching ? &rings.matching : &rings.enrolment;
}

absl::StatusOr<std::vector<std::vector<double>>> RowsOf(const Samples& samples,
                                                        const ModalitySpec& modality) {
  const size_t dimension = modality.dimension;
  if (samples.values.empty() || samples.values.size() % dimension != 0) {
    return absl::InvalidArgumentError(absl::StrCat(samples.values.size(), " values given for ",
                                                   modality.name, ", but its vectors have ",
                                                   dimension));
  }
  std::vector<std::vector<double>> rows;
  for (size_t i = 0; i < samples.values.size(); i += dimension) {
    const auto row = samples.values.subspan(i, dimension);
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

}  // namespace heft
