// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/identity.h"
#include "features/dataset.h"

namespace heft {
namespace {

// IsModalityName: by the rule of ModalitySpec (heft/model.h), so that a training does not end with
// a model that cannot be read.
bool IsModalityName(const std::string& name) {
  return !name.empty() && name.size() <= 64 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '_';
         });
}

absl::StatusOr<Modality> CopyRows(const ModalityRows& rows) {
  if (!IsModalityName(rows.name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("modality name \"", rows.name.substr(0, 64),
                     "\" is not usable: give 1 to 64 letters, digits, '-' and '_'"));
  }
  if (rows.dimension == 0 || rows.values.size() % rows.dimension != 0) {
    return absl::InvalidArgumentError(absl::StrCat("modality ", rows.name, ": ", rows.values.size(),
                                                   " values are not rows of ", rows.dimension));
  }
  using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto count = static_cast<Eigen::Index>(rows.values.size() / rows.dimension);
  const Eigen::Map<const Rows> view(rows.values.data(), count,
                                    static_cast<Eigen::Index>(rows.dimension));
  return Modality{rows.name, view.cast<double>()};
}

}  // namespace

TrainingData::TrainingData(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TrainingData::TrainingData(TrainingData&&) noexcept = default;
TrainingData& TrainingData::operator=(TrainingData&&) noexcept = default;
TrainingData::~TrainingData() = default;

absl::StatusOr<TrainingData> TrainingData::Load(const std::string& folder, uint64_t split_seed) {
  auto impl = std::make_unique<Impl>();
  HEFT_ASSIGN_OR_RETURN(impl->dataset, LoadDataset(folder, split_seed));
  return TrainingData(std::move(impl));
}

absl::StatusOr<TrainingData> TrainingData::LoadUnlabelled(const std::string& folder,
                                                          uint64_t split_seed) {
  auto impl = std::make_unique<Impl>();
  HEFT_ASSIGN_OR_RETURN(impl->dataset, heft::LoadUnlabelled(folder, split_seed));
  return TrainingData(std::move(impl));
}

absl::StatusOr<TrainingData> TrainingData::FromRows(std::span<const ModalityRows> modalities,
                                                    std::vector<std::string> labels,
                                                    std::span<const std::string> split,
                                                    uint64_t split_seed) {
  auto impl = std::make_unique<Impl>();
  Dataset& data = impl->dataset;
  if (labels.empty()) {
    if (modalities.empty() || modalities[0].dimension == 0 || modalities[0].values.empty()) {
      return absl::InvalidArgumentError("no rows: give at least one");
    }
    data.labelled = false;
    labels = OwnLabels(modalities[0].values.size() / modalities[0].dimension);
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    HEFT_ASSIGN_OR_RETURN(labels[i], NormalIdentityAt(labels[i], "labels", i));
  }
  data.labels = std::move(labels);
  for (const ModalityRows& rows : modalities) {
    HEFT_ASSIGN_OR_RETURN(Modality modality, CopyRows(rows));
    data.modalities.push_back(std::move(modality));
  }
  for (const std::string& name : split) {
    HEFT_ASSIGN_OR_RETURN(const Split part, ParseSplit(name));
    data.split.push_back(part);
  }
  data.split_was_derived = split.empty() && data.labelled;
  if (!data.labelled) data.split.assign(data.labels.size(), Split::kTrain);
  if (data.split_was_derived) data.split = DeriveIdentitySplit(data.labels, split_seed);
  HEFT_RETURN_IF_ERROR(CheckDataset(data));
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
