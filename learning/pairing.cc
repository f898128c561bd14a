// SPDX-License-Identifier: Apache-2.0
#include "learning/pairing.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "learning/projection.h"

namespace heft {
namespace {

using IdentityMap = std::unordered_map<std::string, int>;

// Rows of `modality` whose label is among `numbers`, or nothing usable if one identity has none.
PoolModality Collect(const FeatureMatrix& features, const std::vector<std::string>& labels,
                     const IdentityMap& numbers) {
  PoolModality pool;
  pool.rows.resize(numbers.size());
  std::vector<int> kept;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto found = numbers.find(labels[i]);
    if (found == numbers.end()) continue;
    pool.rows[found->second].push_back(static_cast<int>(kept.size()));
    kept.push_back(static_cast<int>(i));
  }
  pool.features.resize(kept.size(), features.cols());
  for (std::size_t i = 0; i < kept.size(); ++i) pool.features.row(i) = features.row(kept[i]);
  return pool;
}

// Samples of people without a paired row, two of each at least.
absl::Status CollectFurther(const Dataset& dataset, const std::string& name, PoolModality& pool) {
  const std::set<std::string> paired(dataset.labels.begin(), dataset.labels.end());
  for (const UnpairedModality& unpaired : dataset.unpaired) {
    if (unpaired.modality.name != name) continue;
    std::map<std::string, std::vector<int>> rows;
    for (std::size_t i = 0; i < unpaired.labels.size(); ++i) {
      if (!paired.contains(unpaired.labels[i]))
        rows[unpaired.labels[i]].push_back(static_cast<int>(i));
    }
    std::vector<int> kept;
    int next = 0;
    for (const auto& [label, of] : rows) {
      if (of.size() < 2) {
        ++pool.further_left_out;
        continue;
      }
      kept.insert(kept.end(), of.begin(), of.end());
      pool.further_classes.insert(pool.further_classes.end(), of.size(), next++);
    }
    pool.further = unpaired.modality.features(kept, Eigen::all);
  }
  return NormaliseRows(pool.further, dataset.norm, "unpaired " + name);
}

bool EveryIdentityHasSamples(const PoolModality& pool) {
  return std::none_of(pool.rows.begin(), pool.rows.end(),
                      [](const std::vector<int>& rows) { return rows.empty(); });
}

// Zeroes each modality of a row with probability `drop`, one chosen at random excepted.
void DropModalities(Random& random, double drop, const std::vector<PoolModality>& modalities,
                    Eigen::Ref<Eigen::RowVectorXd> row) {
  const uint64_t kept = random.Below(modalities.size());
  Eigen::Index column = 0;
  for (std::size_t m = 0; m < modalities.size(); ++m) {
    const Eigen::Index width = modalities[m].features.cols();
    if (random.Uniform() < drop && m != kept) row.segment(column, width).setZero();
    column += width;
  }
}

}  // namespace

bool HasGenuinePair(const Batch& batch) {
  std::vector<int> sorted = batch.classes;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

absl::StatusOr<SamplePool> SamplePool::Make(const Dataset& dataset, Split split) {
  const std::vector<int> rows = RowsOf(dataset.split, split);
  IdentityMap numbers;
  SamplePool pool;
  std::vector<std::string> labels;
  for (int row : rows) {
    labels.push_back(dataset.labels[row]);
    pool.paired_.classes.push_back(numbers.emplace(labels.back(), numbers.size()).first->second);
  }
  pool.identities_ = numbers.size();
  if (pool.identities_ < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the ", SplitName(split), " split has ", pool.identities_, " identities, need 2 or more"));
  }
  HEFT_ASSIGN_OR_RETURN(pool.paired_.features, Concatenate(dataset, rows));
  for (const Modality& modality : dataset.modalities) {
    PoolModality samples;
    for (const UnpairedModality& unpaired : dataset.unpaired) {
      if (unpaired.modality.name == modality.name) {
        samples = Collect(unpaired.modality.features, unpaired.labels, numbers);
      }
    }
    if (samples.rows.empty() || !EveryIdentityHasSamples(samples)) {
      samples = Collect(SelectRows(dataset, rows).modalities[pool.modalities_.size()].features,
                        labels, numbers);
    }
    HEFT_RETURN_IF_ERROR(NormaliseRows(samples.features, dataset.norm, modality.name));
    HEFT_RETURN_IF_ERROR(CollectFurther(dataset, modality.name, samples));
    pool.modalities_.push_back(std::move(samples));
    pool.names_.push_back(modality.name);
  }
  return pool;
}

SamplePool SamplePool::Only(std::span<const int> identities) const {
  SamplePool pool;
  pool.names_ = names_;
  pool.identities_ = static_cast<int>(identities.size());
  std::vector<int> numbers(identities_, -1);
  for (std::size_t i = 0; i < identities.size(); ++i) {
    numbers[identities[i]] = static_cast<int>(i);
  }
  std::vector<int> rows;
  for (std::size_t i = 0; i < paired_.classes.size(); ++i) {
    const int number = numbers[paired_.classes[i]];
    if (number < 0) continue;
    rows.push_back(static_cast<int>(i));
    pool.paired_.classes.push_back(number);
  }
  pool.paired_.features = paired_.features(rows, Eigen::all);
  for (const PoolModality& modality : modalities_) {
    PoolModality& own = pool.modalities_.emplace_back();
    rows.clear();
    for (int identity : identities) {
      std::vector<int>& of = own.rows.emplace_back();
      for (int row : modality.rows[identity]) {
        of.push_back(static_cast<int>(rows.size()));
        rows.push_back(row);
      }
    }
    own.features = modality.features(rows, Eigen::all);
    own.further = modality.further;
    own.further_classes = modality.further_classes;
    own.further_left_out = modality.further_left_out;
  }
  return pool;
}

Batch SamplePool::Repair(Random& random, int max_rows, double drop) const {
  std::vector<std::vector<int>> order(modalities_.size(), std::vector<int>(identities_));
  Eigen::Index width = 0;
  for (std::size_t m = 0; m < modalities_.size(); ++m) {
    std::iota(order[m].begin(), order[m].end(), 0);
    random.Shuffle(order[m]);
    width += modalities_[m].features.cols();
  }
  const int classes = std::clamp(max_rows / 4, 2, identities_);
  const int per_class = std::max(2, max_rows / classes);
  Batch batch;
  std::vector<std::vector<int>> drawn(modalities_.size());  // pool row of each batch row
  for (int c = 0; c < classes; ++c) {
    std::size_t size = per_class;
    for (std::size_t m = 0; m < modalities_.size(); ++m) {
      size = std::min(size, modalities_[m].rows[order[m][c]].size());
    }
    for (std::size_t m = 0; m < modalities_.size(); ++m) {
      std::vector<int> samples = modalities_[m].rows[order[m][c]];
      random.Shuffle(samples);
      drawn[m].insert(drawn[m].end(), samples.begin(), samples.begin() + size);
    }
    batch.classes.insert(batch.classes.end(), size, c);
  }
  batch.features.resize(batch.classes.size(), width);
  Eigen::Index column = 0;
  for (std::size_t m = 0; m < modalities_.size(); ++m) {
    const FeatureMatrix& features = modalities_[m].features;
    for (std::size_t i = 0; i < drawn[m].size(); ++i) {
      batch.features.row(i).segment(column, features.cols()) = features.row(drawn[m][i]);
    }
    column += features.cols();
  }
  if (drop > 0) {
    for (Eigen::Index i = 0; i < batch.features.rows(); ++i) {
      DropModalities(random, drop, modalities_, batch.features.row(i));
    }
  }
  return batch;
}

}  // namespace heft
