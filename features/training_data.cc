// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "features/dataset.h"

namespace heft {

TrainingData::TrainingData(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TrainingData::TrainingData(TrainingData&&) noexcept = default;
TrainingData& TrainingData::operator=(TrainingData&&) noexcept = default;
TrainingData::~TrainingData() = default;

absl::StatusOr<TrainingData> TrainingData::Load(const std::string& folder, uint64_t split_seed) {
  auto impl = std::make_unique<Impl>();
  HEFT_ASSIGN_OR_RETURN(impl->dataset, LoadDataset(folder, split_seed));
  return TrainingData(std::move(impl));
}

absl::StatusOr<TrainingData> TrainingData::Synthesise(const SyntheticOptions& options) {
  auto impl = std::make_unique<Impl>();
  HEFT_ASSIGN_OR_RETURN(impl->dataset, SynthesiseDataset(options));
  return TrainingData(std::move(impl));
}

absl::Status TrainingData::Write(const std::string& folder) const {
  return WriteDataset(folder, impl_->dataset);
}

size_t TrainingData::size() const { return impl_->dataset.labels.size(); }
const std::vector<std::string>& TrainingData::labels() const { return impl_->dataset.labels; }
const std::vector<std::string>& TrainingData::left_out() const { return impl_->dataset.left_out; }
std::vector<int> TrainingData::dimensions() const { return impl_->dataset.Dimensions(); }

std::vector<std::string> TrainingData::modalities() const {
  std::vector<std::string> names;
  for (const Modality& m : impl_->dataset.modalities) names.push_back(m.name);
  return names;
}

std::vector<float> TrainingData::Vector(size_t modality, size_t row) const {
  const auto values = impl_->dataset.modalities[modality].features.row(row);
  return {values.data(), values.data() + values.size()};
}

}  // namespace heft
