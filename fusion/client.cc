// SPDX-License-Identifier: Apache-2.0
#include "heft/client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "fusion/key_files.h"
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
  HEFT_ASSIGN_OR_RETURN(const size_t index, impl_->model.FindModality(samples.modality));
  HEFT_ASSIGN_OR_RETURN(const auto rows, RowsOf(samples, impl_->model.modalities[index]));
  HEFT_ASSIGN_OR_RETURN(const Instance* ring, RingOf(impl_->rings, samples));
  const ckks::PublicKey& key =
      ring == &impl_->rings.matching ? impl_->keys.matching() : impl_->keys.enrolment;
  return EncryptSamples(*ring, impl_->model, index, key, rows, samples.labels, samples.encoding);
}

absl::StatusOr<const Instance*> RingOf(const Rings& rings, const Samples& samples) {
  if (samples.use == SampleUse::kEnrolment) return &rings.enrolment;
  if (samples.encoding == SampleEncoding::kBulk) {
    return absl::InvalidArgumentError("samples in bulk are for enrolment, not for identification");
  }
  return &rings.matching;
}

absl::StatusOr<std::vector<std::vector<double>>> RowsOf(const Samples& samples,
                                                        const ModalitySpec& modality) {
  const size_t dimension = modality.dimension;
  if (samples.values.empty() || samples.values.size() % dimension != 0) {
    return absl::InvalidArgumentError(absl::StrCat(samples.values.size(), " values given for ",
                                                   modality.name, ", whose vectors have ",
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
