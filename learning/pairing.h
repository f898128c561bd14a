// SPDX-License-Identifier: Apache-2.0
// Samples to train on: as they are paired, or re-paired at random.
#ifndef HEFT_LEARNING_PAIRING_H_
#define HEFT_LEARNING_PAIRING_H_

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "features/dataset.h"
#include "features/random.h"

namespace heft {

// Batch: concatenated unit-length features (n x total dimension) and the class of each row.
struct Batch {
  FeatureMatrix features;
  std::vector<int> classes;
};

// HasGenuinePair: whether a class has a second row.
bool HasGenuinePair(const Batch& batch);

// PoolModality: the samples of one modality, each of unit length, by identity.
struct PoolModality {
  FeatureMatrix features;
  std::vector<std::vector<int>> rows;  // rows[identity], none empty
  // Unit-length samples of further people, known by this modality alone, and the class of each from
  // 0. Each class has two samples or more. They serve discriminants and principal components.
  FeatureMatrix further;
  std::vector<int> further_classes;
  int further_left_out = 0;  // further people with one sample, who tell nothing of a class
};

// SamplePool: all samples of the identities of one split. Where the data set has unpaired samples
// of a modality, those of these identities stand in for the paired ones. Unpaired samples of people
// without any paired row are further classes of their modality. Those of people in other splits
// are left out.
class SamplePool {
 public:
  // kInvalidArgument if the split has fewer than two identities, or a sample is zero.
  static absl::StatusOr<SamplePool> Make(const Dataset& dataset, Split split);

  // Only: the samples of the given identities (their numbers here), which are numbered anew in that
  // order, and all further people.
  SamplePool Only(std::span<const int> identities) const;

  int identities() const { return identities_; }
  const std::vector<PoolModality>& modalities() const { return modalities_; }
  const std::vector<std::string>& names() const { return names_; }  // of the modalities
  // The rows as the data set pairs them, class = identity.
  const Batch& Paired() const { return paired_; }

  // Repair: chimeric classes. Every modality's identities are shuffled on their own; class c joins
  // the c-th of each, and its samples are drawn without repetition, as many as the modality with
  // the fewest has. At most `max_rows` rows: fewer samples a class, then fewer classes. Each
  // modality of a row is set to zero with probability `drop`, never all of one row. With one
  // modality the classes are the identities.
  Batch Repair(Random& random, int max_rows, double drop = 0.0) const;

 private:
  int identities_ = 0;
  std::vector<PoolModality> modalities_;
  std::vector<std::string> names_;
  Batch paired_;
};

}  // namespace heft

#endif  // HEFT_LEARNING_PAIRING_H_
